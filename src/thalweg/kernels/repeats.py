"""Rows that are there for a stretch of time, at every instant that counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

FOREVER = 2**63 - 1


@kernel
def next_multiple(steps: Any, time: int) -> int:
    """The first multiple of any step that is not before an instant; FOREVER if there is none."""
    nearest = FOREVER
    for i in range(len(steps)):
        rest = (-time) % steps[i]
        if time <= FOREVER - rest:
            nearest = min(nearest, time + rest)
    return nearest


@kernel
def repeat_rows(
    starts: Any, replaced: Any, there: Any, steps: Any, first: int, end: int, rows: Any, times: Any
) -> int:
    """The rows that are there at each multiple of a step in first ≤ now < end, in the order
    of time; how many that is. With no room they are counted only.

    Rows are in the order of their starts. Each stays until a later one replaces it, which
    may itself be nothing (`there` is false).
    """
    live = np.empty(len(starts), np.int64)
    place = np.empty(len(starts), np.int64)
    alive = 0
    count = 0
    i = 0
    now = next_multiple(steps, first)
    while now < end:
        while i < len(starts) and starts[i] <= now:
            gone = replaced[i]
            if gone >= 0 and there[gone]:
                alive -= 1
                live[place[gone]] = live[alive]
                place[live[alive]] = place[gone]
            if there[i]:
                live[alive] = i
                place[i] = alive
                alive += 1
            i += 1
        if alive == 0:
            if i == len(starts):
                break
            now = next_multiple(steps, starts[i])
            continue
        if len(rows) > 0:
            for at in range(alive):
                rows[count + at] = live[at]
                times[count + at] = now
        count += alive
        now = next_multiple(steps, now + 1)
    return count


def repeat_rows_reference(
    starts: Any, replaced: Any, there: Any, steps: Any, first: int, end: int
) -> list[tuple[int, int]]:
    """The definition, instant by instant: (time, row)."""
    until = {gone: start for start, gone in zip(starts, replaced, strict=True) if gone >= 0}
    return [
        (now, row)
        for now in range(first, end)
        if any(now % step == 0 for step in steps)
        for row, start in enumerate(starts)
        if there[row] and start <= now < until.get(row, end)
    ]
