"""What every GROUP BY does: events of groups, in the order of time, become rows of groups.

Rows enter and leave groups as events. When the frontier has passed them, the
events are taken group by group and instant by instant; how a group's aggregates
follow from its events is the business of the two operators that use this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg.kernels.slots import SlotTable, grown
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, Times
from thalweg.operators.identity import Identity
from thalweg.plan.nodes import Aggregate
from thalweg.vector.column import Columns, Vector, joined, taken, with_plain_zeros


@dataclass(frozen=True, slots=True)
class Touched:
    """Events sorted by group and time.

    `new` marks the first event of each group, `at` are the last events of each
    instant of a group, and `first` marks the first of these in each group.
    `numbers` and `columns` are what the events carry beside the key.
    """

    slot: Times
    new: npt.NDArray[np.bool_]
    at: Times
    first: npt.NDArray[np.bool_]
    time: Times
    keys: Columns
    numbers: tuple[Times, ...]
    columns: Columns

    @property
    def groups(self) -> Times:
        """The groups, each once."""
        return self.slot[self.new]

    @property
    def last(self) -> Times:
        """The last of the entries `at` of each group."""
        return np.flatnonzero(np.r_[self.first[1:], True])


@dataclass(frozen=True, slots=True)
class Shown:
    """Whether groups have a row, and its aggregates."""

    exists: npt.NDArray[np.bool_]
    values: tuple[Vector, ...]


class Groups:
    """`always_there`: without keys and without a stream below, the row exists from ever on."""

    def __init__(self, plan: Aggregate, always_there: bool) -> None:
        self._plan = plan
        self._identity = Identity(tuple(key.type for key in plan.keys))
        self._slots = SlotTable(self._identity.width)
        self._calendar = Calendar()
        self._waiting = np.zeros(self._slots.capacity, np.int64)
        self._always_there = always_there
        self._started = bool(plan.keys)

    @property
    def capacity(self) -> int:
        return self._slots.capacity

    def enter(
        self, keys: Columns, numbers: tuple[Times, ...], columns: Columns, delta: Delta
    ) -> None:
        """Rows come into their groups, and will leave them.

        The numbers of an event that takes a row out are negative.
        """
        slots = self._slots.assign(self._identity.words(keys, len(delta)))
        ending = np.flatnonzero(delta.end < FOREVER)
        for times, sign, rows in (
            (delta.start, 1, np.arange(len(delta))),
            (delta.end, -1, ending),
        ):
            self._note(slots[rows])
            signed = tuple(sign * number[rows] for number in numbers)
            self._calendar.add(
                Events(times[rows], (slots[rows], *signed), taken((*keys, *columns), rows))
            )

    def begin(self, moment: Moment, numbers: int, columns: Columns) -> None:
        """Without keys, the group exists from the first row on: an event that adds nothing."""
        begin = BEFORE_TIME if self._always_there else moment.begin
        if self._started or begin is None or begin >= moment.frontier:
            return
        self._started = True
        slots = self._slots.assign(np.zeros((1, self._identity.width), np.int64))
        self._note(slots)
        nothing_added = (np.zeros(1, np.int64),) * numbers
        self._calendar.add(Events(np.array([begin]), (slots, *nothing_added), columns))

    def _note(self, slots: Times) -> None:
        if self._slots.capacity > len(self._waiting):
            self._waiting = grown(self._waiting, self._slots.capacity)
        np.add.at(self._waiting, slots, 1)

    def due(self, frontier: int) -> Touched | None:
        events = self._calendar.due(frontier)
        if events is None:
            return None
        order = np.lexsort((events.time, events.numbers[0]))
        slot, time = events.numbers[0][order], events.time[order]
        new = np.r_[True, slot[1:] != slot[:-1]]
        at = np.flatnonzero(np.r_[new[1:] | (time[1:] != time[:-1]), True])
        np.subtract.at(self._waiting, slot, 1)
        width = len(self._plan.keys)
        return Touched(
            slot,
            new,
            at,
            np.r_[True, slot[at][1:] != slot[at][:-1]],
            time[at],
            tuple(map(with_plain_zeros, taken(events.columns[:width], order[at]))),
            tuple(number[order] for number in events.numbers[1:]),
            taken(events.columns[width:], order),
        )

    def changes(self, touched: Touched, before: Shown, after: Shown) -> Delta:
        """Rows of the groups: as each was before, and as it is from each instant on."""
        leaves = np.where(np.r_[touched.first[1:], True], FOREVER, np.r_[touched.time[1:], 0])
        there = np.flatnonzero(after.exists)
        undone = np.flatnonzero(before.exists)
        starts = np.flatnonzero(touched.first)[undone]
        columns = [joined([key.take(there), key.take(starts)]) for key in touched.keys]
        columns += [
            joined([now.take(there), was.take(undone)])
            for now, was in zip(after.values, before.values, strict=True)
        ]
        return Delta(
            tuple(columns),
            np.r_[touched.time[there], touched.time[starts]],
            np.r_[leaves[there], np.full(len(undone), FOREVER)],
            np.r_[np.ones(len(there), np.int64), np.full(len(undone), -1)],
        )

    def released(self, touched: Touched, empty: npt.NDArray[np.bool_]) -> Times:
        """Groups that are empty and expect nothing; their slots are free again."""
        if not self._plan.keys:
            return np.empty(0, np.int64)
        gone: Times = touched.groups[empty & (self._waiting[touched.groups] == 0)]
        self._slots.release(gone)
        return gone
