"""How often each row is in several relations, and what follows from that alone.

DISTINCT, the set operations, semi-joins and anti-joins, and the stream operators
are one computation: keep, for every row, how often it is in each input, and at
each instant at which a count changes compute how often it is in the output. The
events of all rows are worked through in the order of time, up to the instant that
all inputs have promised; several of a row at one instant count together, so that
what enters and leaves at once leaves no trace.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg.kernels.growing import grown
from thalweg.kernels.timeline import add_counts, count_events, course_of, link_changes
from thalweg.operators.agenda import Agenda
from thalweg.operators.delta import FOREVER, Delta, Times, nothing
from thalweg.operators.keys import KeyTable
from thalweg.types import Schema
from thalweg.vector.column import Columns, taken

# From the counts in each input (one array per input) to the count in the output.
Combine = Callable[..., npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class Steps:
    """Changes of output counts in the order of time: of a row, which has a slot, at an instant.

    `previous` is the change before of the same row, or -1; `before` and `after` are
    the counts around the instant.
    """

    columns: Columns
    slot: Times
    time: Times
    previous: Times
    before: Times
    after: Times


class CountedRows:
    """The counts of every row in each input, up to the instant reached."""

    def __init__(self, schema: Schema, inputs: int, by_form: bool = False) -> None:
        self._keys = KeyTable(tuple(field.type for field in schema), by_form)
        self._counts = np.zeros((self._keys.capacity, inputs), np.int64)
        # How many events of a slot are still to come, and room for `course_of`.
        self._waiting = np.zeros(self._keys.capacity, np.int64)
        self._last = np.full(self._keys.capacity, -1, np.int32)
        self._agenda = Agenda(4)

    def add(self, which: int, delta: Delta) -> None:
        """Changes of one input."""
        if not len(delta):
            return
        slots = self._keys.assign(delta.columns, len(delta))
        self._make_room()
        entering = np.empty((len(delta), 4), np.int64)
        entering[:, 0] = delta.start
        entering[:, 1] = slots
        entering[:, 2] = delta.weight
        entering[:, 3] = which
        ending = np.flatnonzero(delta.end < FOREVER)
        leaving = entering.take(ending, axis=0)
        leaving[:, 0] = delta.end[ending]
        leaving[:, 2] *= -1
        for events in (entering, leaving):
            count_events(self._waiting, events, 1)
            self._agenda.add(events)

    def _make_room(self) -> None:
        known = len(self._counts)
        if self._keys.capacity > known:
            self._counts = grown(self._counts, self._keys.capacity)
            self._waiting = grown(self._waiting, self._keys.capacity)
            self._last = grown(self._last, self._keys.capacity, -1)

    def steps(self, before: int, combine: Combine) -> Steps | None:
        """Work through all instants before the given one."""
        events = self._agenda.due(before)
        if events is None:
            return None
        course = course_of(events, self._last)
        first = course.first
        was = combine(*self._counts.take(course.slot[first], axis=0).T)
        now = np.empty((len(course), self._counts.shape[1]), np.int64)
        add_counts(events, course.entry, self._counts, now)
        after = combine(*now.T)
        earlier = after[course.previous]
        earlier[first] = was
        changed = after != earlier
        rows = np.flatnonzero(changed)
        slots = course.slot[rows]
        steps = Steps(
            self._keys.take(slots),
            slots,
            course.time[rows],
            link_changes(course.previous, changed, len(rows)),
            earlier[rows],
            after[rows],
        )
        count_events(self._waiting, events, -1)
        self._release(course.slot[first])
        return steps

    def next_time(self) -> int | None:
        return self._agenda.next_time()

    def _release(self, slots: Times) -> None:
        idle = (self._waiting[slots] == 0) & (self._counts.take(slots, axis=0) == 0).all(axis=1)
        if idle.any():
            self._keys.release(slots[idle])


def as_relation(steps: Steps | None, schema: Schema) -> Delta:
    """The output as rows with their stretches of time."""
    if steps is None:
        return nothing(schema)
    ends = np.full(len(steps.time), FOREVER)
    later = np.flatnonzero(steps.previous >= 0)
    ends[steps.previous[later]] = steps.time[later]
    there = np.flatnonzero(steps.after)
    # What was there before the first change of a row was said to stay forever.
    undone = np.flatnonzero((steps.previous < 0) & (steps.before != 0))
    index = np.r_[there, undone]
    return Delta(
        taken(steps.columns, index),
        steps.time[index],
        np.r_[ends[there], np.full(len(undone), FOREVER)],
        np.r_[steps.after[there], -steps.before[undone]],
    )


def as_stream(steps: Steps | None, schema: Schema, entering: bool) -> Delta:
    """What entered the output at each instant, or what left it."""
    if steps is None:
        return nothing(schema)
    change = steps.after - steps.before if entering else steps.before - steps.after
    rows = np.flatnonzero(change > 0)
    times = steps.time[rows]
    return Delta(taken(steps.columns, rows), times, times, change[rows])
