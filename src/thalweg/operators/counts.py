"""How often each row is in several relations, and what follows from that alone.

DISTINCT, the set operations, semi-joins and anti-joins, and the stream operators
are one computation: keep, for every row, how often it is in each input, and at
each instant at which a count changes compute how often it is in the output. The
events of a row are worked through in the order of time, up to the instant that
all inputs have promised; several at one instant count together, so that what
enters and leaves at once leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels.slots import SlotTable, grown
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.delta import FOREVER, Delta, Times, nothing
from thalweg.operators.identity import Identity
from thalweg.types import Schema
from thalweg.vector.column import Columns, taken

# From the counts in each input (one array per input) to the count in the output.
Combine = Callable[..., npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Steps:
    """Counts of rows over time: one entry per row and instant at which it may change.

    `slot` and `time` ascend together. `before` and `after` are the output counts
    around the instant.
    """

    columns: Columns
    slot: Times
    time: Times
    before: Times
    after: Times


class CountedRows:
    """The counts of every row in each input, up to the instant reached."""

    def __init__(self, schema: Schema, inputs: int, by_form: bool = False) -> None:
        self.schema = schema
        self._inputs = inputs
        self._identity = Identity(tuple(field.type for field in schema), by_form)
        self._slots = SlotTable(self._identity.width)
        self._counts = np.zeros((self._slots.capacity, inputs), np.int64)
        # How many events of a slot are still to come.
        self._waiting = np.zeros(self._slots.capacity, np.int64)
        self._calendar = Calendar()

    def add(self, which: int, delta: Delta) -> None:
        """Changes of one input."""
        if not len(delta):
            return
        slots = self._slots.assign(self._identity.words(delta.columns, len(delta)))
        if self._slots.capacity > len(self._counts):
            self._counts = grown(self._counts, self._slots.capacity)
            self._waiting = grown(self._waiting, self._slots.capacity)
        inputs = np.full(len(delta), which, np.int64)
        ending = np.flatnonzero(delta.end < FOREVER)
        for times, weights, rows in (
            (delta.start, delta.weight, np.arange(len(delta))),
            (delta.end, -delta.weight, ending),
        ):
            np.add.at(self._waiting, slots[rows], 1)
            self._calendar.add(
                Events(
                    times[rows],
                    (slots[rows], weights[rows], inputs[rows]),
                    taken(delta.columns, rows),
                )
            )

    def steps(self, before: int, combine: Combine) -> Steps | None:
        """Work through all instants before the given one."""
        events = self._calendar.due(before)
        if events is None:
            return None
        slot, weight, which = events.numbers
        order = np.lexsort((events.time, slot))
        slot, weight, which, time = slot[order], weight[order], which[order], events.time[order]
        new_slot = np.r_[True, slot[1:] != slot[:-1]]
        last = np.r_[new_slot[1:] | (time[1:] != time[:-1]), True]
        added = np.zeros((len(slot), self._inputs), np.int64)
        added[np.arange(len(slot)), which] = weight
        counts = self._counts[slot] + _running(added, new_slot)
        at = np.flatnonzero(last)
        after = combine(*counts[at].T)
        first = np.r_[True, slot[at][1:] != slot[at][:-1]]
        earlier = combine(*self._counts[slot[at]].T)
        before_each = np.where(first, earlier, np.r_[0, after[:-1]])
        ends = np.flatnonzero(np.r_[new_slot[1:], True])
        self._counts[slot[ends]] = counts[ends]
        np.subtract.at(self._waiting, slot, 1)
        self._release(slot[ends])
        return Steps(taken(events.columns, order[at]), slot[at], time[at], before_each, after)

    def _release(self, slots: Times) -> None:
        idle = (self._waiting[slots] == 0) & (self._counts[slots] == 0).all(axis=1)
        if idle.any():
            self._slots.release(slots[idle])

    def next_time(self) -> int | None:
        return self._calendar.next_time()


def _running(added: npt.NDArray[np.int64], new_slot: npt.NDArray[np.bool_]) -> Any:
    """Sums from the first entry of each slot on."""
    total = np.cumsum(added, axis=0)
    starts = np.flatnonzero(new_slot)
    base = np.zeros((len(starts), added.shape[1]), np.int64)
    base[1:] = total[starts[1:] - 1]
    return total - base[np.cumsum(new_slot) - 1]


def as_relation(steps: Steps | None, schema: Schema) -> Delta:
    """The output as rows with their stretches of time."""
    if steps is None:
        return nothing(schema)
    changed = np.flatnonzero(steps.after != steps.before)
    slot, time = steps.slot[changed], steps.time[changed]
    before, after = steps.before[changed], steps.after[changed]
    last = np.r_[slot[1:] != slot[:-1], True]
    first = np.r_[True, last[:-1]]
    ends = np.where(last, FOREVER, np.r_[time[1:], 0])
    there = np.flatnonzero(after)
    # What was there before the first entry of a slot was said to stay forever.
    undone = np.flatnonzero(first & (before != 0))
    index = np.r_[there, undone]
    return Delta(
        taken(steps.columns, changed[index]),
        time[index],
        np.r_[ends[there], np.full(len(undone), FOREVER)],
        np.r_[after[there], -before[undone]],
    )


def as_stream(steps: Steps | None, schema: Schema, entering: bool) -> Delta:
    """What entered the output at each instant, or what left it."""
    if steps is None:
        return nothing(schema)
    change = steps.after - steps.before if entering else steps.before - steps.after
    rows = np.flatnonzero(change > 0)
    times = steps.time[rows]
    return Delta(taken(steps.columns, rows), times, times, change[rows])
