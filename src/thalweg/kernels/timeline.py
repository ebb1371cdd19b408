"""Events in the order of time, and what they make of numbers that slots have.

An event is a row of whole numbers: its time, its slot, its weight, and more. All
events of a slot at one instant are one entry of its course: they count together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels import kernel

Events = npt.NDArray[np.int64]

# The first columns of an event.
TIME, SLOT, WEIGHT = range(3)


@dataclass(frozen=True, slots=True)
class Course:
    """The instants at which slots may change, in the order of time.

    `entry` has for each event the entry it belongs to, and `previous` for each entry
    the one before of the same slot, or -1.
    """

    entry: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]
    time: npt.NDArray[np.int64]
    previous: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def first(self) -> npt.NDArray[np.bool_]:
        """The first entry of each slot."""
        return self.previous < 0


def course_of(events: Events, last: npt.NDArray[np.int32]) -> Course:
    """The course of events; `last` is -1 for every slot, and is so again afterwards."""
    entry = np.empty(len(events), np.int64)
    slot, time, previous = (np.empty(len(events), np.int64) for _ in range(3))
    count = find_entries(events, last, entry, slot, time, previous)
    return Course(entry, slot[:count], time[:count], previous[:count])


@kernel
def merge_events(a: Any, b: Any) -> Any:
    """Two lists of events in the order of time as one."""
    merged = np.empty((len(a) + len(b), a.shape[1]), np.int64)
    i = 0
    j = 0
    for at in range(len(merged)):
        if j == len(b) or (i < len(a) and a[i, 0] <= b[j, 0]):
            for column in range(a.shape[1]):
                merged[at, column] = a[i, column]
            i += 1
        else:
            for column in range(a.shape[1]):
                merged[at, column] = b[j, column]
            j += 1
    return merged


@kernel
def find_entries(events: Any, last: Any, entry: Any, slots: Any, times: Any, previous: Any) -> int:
    count = 0
    for i in range(len(events)):
        time = events[i, 0]
        slot = events[i, 1]
        at = last[slot]
        if at < 0 or times[at] != time:
            slots[count] = slot
            times[count] = time
            previous[count] = at
            last[slot] = count
            at = count
            count += 1
        entry[i] = at
    for i in range(count):
        last[slots[i]] = -1
    return count


@kernel
def count_events(numbers: Any, events: Any, change: int) -> None:
    """Change the number of each slot by so much for each of its events."""
    for i in range(len(events)):
        numbers[events[i, 1]] += change


@kernel
def add_numbers(events: Any, weights: Any, columns: Any, entry: Any, totals: Any, now: Any) -> None:
    """Add columns of events to the totals of their slots, which become known at each entry."""
    for i in range(len(events)):
        slot = events[i, 1]
        weight = weights[i]
        at = entry[i]
        for j in range(len(columns)):
            total = totals[slot, j] + weight * events[i, columns[j]]
            totals[slot, j] = total
            now[at, j] = total


@kernel
def add_counts(events: Any, entry: Any, counts: Any, now: Any) -> None:
    """Add the weight of events to the count that their last column names."""
    for i in range(len(events)):
        slot = events[i, 1]
        counts[slot, events[i, 3]] += events[i, 2]
        for j in range(counts.shape[1]):
            now[entry[i], j] = counts[slot, j]


@kernel
def link_changes(previous: Any, changed: Any, count: int) -> Any:
    """Of the entries that changed something, the one before of the same slot, or -1.

    Both are numbered among those that did.
    """
    latest = np.empty(len(previous), np.int64)
    linked = np.empty(count, np.int64)
    found = 0
    for i in range(len(previous)):
        before = -1 if previous[i] < 0 else latest[previous[i]]
        if changed[i]:
            linked[found] = before
            latest[i] = found
            found += 1
        else:
            latest[i] = before
    return linked
