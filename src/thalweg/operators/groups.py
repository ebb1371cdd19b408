"""What every GROUP BY does: parts of groups come and go as events, in the order of time."""

from __future__ import annotations

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.kernels.timeline import SLOT, TIME, WEIGHT, Course, Events, count_events, course_of
from thalweg.operators.agenda import Agenda
from thalweg.operators.delta import FOREVER, Delta
from thalweg.operators.keys import KeyTable
from thalweg.types import Type
from thalweg.vector.column import Columns, Index, Mask


class Groups:
    """Groups by their keys, and the events that wait for their instant.

    An event carries `numbers` beside its time, its group's slot and its weight.
    """

    def __init__(self, types: tuple[Type, ...], numbers: int) -> None:
        self._keys = KeyTable(types)
        self._agenda = Agenda(3 + numbers)
        # How many events of a slot are still to come, and room for `course_of`.
        self._waiting = np.zeros(self._keys.capacity, np.int64)
        self._last = np.full(self._keys.capacity, -1, np.int32)

    @property
    def capacity(self) -> int:
        return self._keys.capacity

    def slots(self, keys: Columns, length: int) -> Index:
        slots = self._keys.assign(keys, length)
        known = len(self._waiting)
        if self._keys.capacity > known:
            self._waiting = grown(self._waiting, self._keys.capacity)
            self._last = grown(self._last, self._keys.capacity, -1)
        return slots

    def enter(self, slots: Index, numbers: list[Index], delta: Delta) -> None:
        """Parts come into their groups, and will leave them."""
        entering = np.empty((len(delta), 3 + len(numbers)), np.int64)
        entering[:, TIME] = delta.start
        entering[:, SLOT] = slots
        entering[:, WEIGHT] = delta.weight
        for i, number in enumerate(numbers):
            entering[:, 3 + i] = number
        ending = np.flatnonzero(delta.end < FOREVER)
        leaving = entering.take(ending, axis=0)
        leaving[:, TIME] = delta.end[ending]
        leaving[:, WEIGHT] *= -1
        for events in (entering, leaving):
            count_events(self._waiting, events, 1)
            self._agenda.add(events)

    def due(self, frontier: int) -> tuple[Events, Course] | None:
        """The events before an instant, and their course."""
        events = self._agenda.due(frontier)
        if events is None:
            return None
        count_events(self._waiting, events, -1)
        return events, course_of(events, self._last)

    def next_time(self) -> int | None:
        return self._agenda.next_time()

    def keys(self, slots: Index) -> Columns:
        return self._keys.take(slots)

    def release(self, slots: Index, empty: Mask) -> None:
        """Forget groups that are empty and expect nothing."""
        self._keys.release(slots[empty & (self._waiting[slots] == 0)])
