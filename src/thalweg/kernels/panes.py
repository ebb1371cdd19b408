"""Groups under windows that move in steps: what they add up to at every multiple of a step.

A pane is a stretch of time in which parts of groups count, all from its start up to its
end; its parts are rows that follow each other. An instant is reached by adding the panes
that have begun and taking away those that have ended, so each part is met twice, however
often its group is shown.
"""

from __future__ import annotations

from typing import Any

from thalweg.kernels import kernel
from thalweg.kernels.repeats import FOREVER, next_multiple

# Of a pane: its stretch, its first part and how many it has.
START, END, FIRST, COUNT = range(4)
# How far `show_groups` has come: panes begun and ended, the next instant, groups that were
# shown, and groups that are there.
BEGUN, ENDED, NOW, SHOWN, THERE = range(5)


@kernel
def expect_parts(slots: Any, ends: Any, waiting: Any) -> None:
    """Parts will begin, and end if they do; a slot that has -1 is new."""
    for row in range(len(slots)):
        slot = slots[row]
        events = 1 if ends[row] == FOREVER else 2
        waiting[slot] = max(waiting[slot], 0) + events


@kernel
def add_pane(
    pane: Any, sign: int, parts: Any, totals: Any, waiting: Any, live: Any, place: Any, there: int
) -> int:
    """Add the parts of a pane to their groups, or take them away; how many groups are there.

    A group is there while its first total, the number of its rows, is positive: `live` has
    the slots of these, and `place` where each is among them.
    """
    for row in range(pane[2], pane[2] + pane[3]):
        slot = parts[row, 0]
        was = totals[slot, 0]
        for j in range(totals.shape[1]):
            totals[slot, j] += sign * parts[row, 1 + j]
        waiting[slot] -= 1
        if was <= 0 and totals[slot, 0] > 0:
            live[there] = slot
            place[slot] = there
            there += 1
        elif was > 0 and totals[slot, 0] <= 0:
            there -= 1
            live[place[slot]] = live[there]
            place[live[there]] = place[slot]
    return there


@kernel
def show_groups(
    beginning: Any,
    ending: Any,
    parts: Any,
    steps: Any,
    end: int,
    totals: Any,
    waiting: Any,
    live: Any,
    place: Any,
    at: Any,
    slots: Any,
    times: Any,
    numbers: Any,
) -> bool:
    """Show every group that is there, at each multiple of a step before an instant.

    `beginning` and `ending` are the panes that do so, in that order; all of them are worked
    through in the end. False if there is no room to go on; `at` says how far it came.
    """
    there = at[4]
    now = at[2]
    while True:
        while at[0] < len(beginning) and (now >= end or beginning[at[0], 0] <= now):
            there = add_pane(beginning[at[0]], 1, parts, totals, waiting, live, place, there)
            at[0] += 1
        while at[1] < len(ending) and (now >= end or ending[at[1], 1] <= now):
            there = add_pane(ending[at[1]], -1, parts, totals, waiting, live, place, there)
            at[1] += 1
        at[2] = now
        at[4] = there
        if now >= end:
            return True
        if there == 0:
            following = FOREVER
            if at[0] < len(beginning):
                following = beginning[at[0], 0]
            now = next_multiple(steps, following)
            continue
        shown = at[3]
        if shown + there > len(slots):
            return False
        for i in range(there):
            slot = live[i]
            slots[shown + i] = slot
            times[shown + i] = now
            for j in range(totals.shape[1]):
                numbers[j, shown + i] = totals[slot, j]
        at[3] = shown + there
        now = next_multiple(steps, now + 1)


@kernel
def find_idle(panes: Any, parts: Any, totals: Any, waiting: Any, idle: Any) -> int:
    """The slots of groups that have become empty and expect nothing, each once."""
    found = 0
    for i in range(len(panes)):
        for row in range(panes[i, 2], panes[i, 2] + panes[i, 3]):
            slot = parts[row, 0]
            if waiting[slot] == 0 and totals[slot, 0] == 0:
                waiting[slot] = -1
                idle[found] = slot
                found += 1
    return found
