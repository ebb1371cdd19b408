"""RSTREAM by steps of GROUP BY, where all that is needed are sums of whole numbers.

Parts that share their stretch of time are a pane. Panes are added when they begin and
taken away when they end, which is exact for whole numbers, and at every multiple of a
step the groups that are there are shown as they stand.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thalweg.kernels.growing import grown
from thalweg.kernels.panes import (
    COUNT,
    END,
    FIRST,
    NOW,
    SHOWN,
    START,
    THERE,
    expect_parts,
    find_idle,
    show_groups,
)
from thalweg.operators.aggregate_calls import Plan as Measures
from thalweg.operators.aggregate_layout import Layout
from thalweg.operators.base import Moment, earlier
from thalweg.operators.delta import FOREVER, Delta, Times, nothing
from thalweg.operators.keys import KeyTable
from thalweg.operators.repeated import Multiples
from thalweg.plan.nodes import Aggregate
from thalweg.plan.placed import SteppedRstream

Numbers = npt.NDArray[np.int64]

_ROOM = 1024
# For how many instants a group is expected to stay; room that is not used costs nothing.
_FEW = 8
# Parts that change panes more often than once in so many are sorted by pane first.
_SHORT_RUN = 8


class PaneStore:
    """Parts by pane: rows of a slot and numbers.

    Panes are `coming` until they begin, and `counting` until they end. Room is used again.
    """

    def __init__(self, width: int) -> None:
        self.parts = np.empty((_ROOM, width), np.int64)
        self.coming = np.empty((0, 4), np.int64)
        self.counting = np.empty((0, 4), np.int64)
        self._end = 0

    def add(self, parts: Numbers, panes: Numbers) -> None:
        """More parts, in panes that say where each is among them."""
        if self._end + len(parts) > len(self.parts):
            self._make_room(len(parts))
        self.parts[self._end : self._end + len(parts)] = parts
        panes[:, FIRST] += self._end
        self._end += len(parts)
        self.coming = np.concatenate([self.coming, panes])

    def due(self, frontier: int) -> tuple[Numbers, Numbers]:
        """The panes that begin before an instant, and those that end, each in their order."""
        begins = self.coming[:, START] < frontier
        beginning = self.coming[begins]
        self.coming = self.coming[~begins]
        counting = np.concatenate([self.counting, beginning])
        ends = counting[:, END] < frontier
        ending = counting[ends]
        self.counting = counting[~ends & (counting[:, END] < FOREVER)]
        return _by(beginning, START), _by(ending, END)

    def next_time(self) -> int | None:
        """When a pane begins or ends next."""
        starts, ends = self.coming[:, START], self.counting[:, END]
        first = min(int(starts.min(initial=FOREVER)), int(ends.min(initial=FOREVER)))
        return first if first < FOREVER else None

    def _make_room(self, more: int) -> None:
        """Move what is still needed to the front, of a larger array if need be."""
        tables = (self.coming, self.counting)
        first = min(int(panes[:, FIRST].min(initial=self._end)) for panes in tables)
        live = self.parts[first : self._end]
        if 2 * (len(live) + more) > len(self.parts):
            self.parts = np.empty((4 * (len(live) + more), self.parts.shape[1]), np.int64)
        self.parts[: len(live)] = live
        for panes in tables:
            panes[:, FIRST] -= first
        self._end = len(live)


def _by(panes: Numbers, column: int) -> Numbers:
    return panes.take(np.argsort(panes[:, column], kind="stable"), axis=0)


class PaneAggregateRun:
    STATE: ClassVar[tuple[str, ...]] = (
        "_keys",
        "_totals",
        "_waiting",
        "_live",
        "_place",
        "_there",
        "_store",
        "_multiples",
    )

    def __init__(self, plan: Aggregate, measures: Measures, rstream: SteppedRstream) -> None:
        self._plan = plan
        self._measures = measures
        layout = Layout(measures.measures)
        self._places = layout.places
        self._keys = KeyTable(tuple(key.type for key in plan.keys))
        capacity = self._keys.capacity
        self._totals = np.zeros((capacity, len(layout.all)), np.int64)
        # How often parts of a slot are still to begin or end, the slots of groups that are
        # there, and where each is among them.
        self._waiting = np.zeros(capacity, np.int32)
        self._live = np.zeros(capacity, np.int32)
        self._place = np.zeros(capacity, np.int32)
        self._there = 0
        self._store = PaneStore(1 + len(layout.all))
        self._multiples = Multiples(rstream)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if len(delta):
            self._enter(delta)
        beginning, ending = self._store.due(moment.frontier)
        first, end = self._multiples.stretch(moment)
        if first >= end and not len(beginning) and not len(ending):
            return nothing(self._plan.schema)
        slots, times, numbers = self._shown(beginning, ending, first, end)
        found = {
            measure: numbers[self._places[i]].T for i, measure in enumerate(self._measures.measures)
        }
        values = (
            shown.values(*(found[measure] for measure in shown.measures))
            for shown in self._measures.shown
        )
        rows = Delta((*self._keys.take(slots), *values), times, times, np.ones_like(times))
        self._forget(np.concatenate([ending, beginning[beginning[:, END] == FOREVER]]))
        return rows

    def certain(self, frontier: int) -> int:
        return self._multiples.certain(frontier) if self._there else frontier

    def next_time(self) -> int | None:
        shown = self._multiples.next_time() if self._there else None
        return earlier(self._store.next_time(), shown)

    def _enter(self, delta: Delta) -> None:
        width = len(self._plan.keys)
        slots = self._keys.assign(delta.columns[:width], len(delta))
        self._make_room()
        expect_parts(slots, delta.end, self._waiting)
        parts = np.empty((len(delta), self._store.parts.shape[1]), np.int64)
        parts[:, 0] = slots
        for i, column in enumerate(delta.columns[width:]):
            np.multiply(column.data, delta.weight, out=parts[:, 1 + i])
        start, end = delta.start, delta.end
        new = _changes(start, end)
        if len(new) > 1 + len(delta) // _SHORT_RUN:
            order = np.lexsort((end, start))
            parts, start, end = parts.take(order, axis=0), start[order], end[order]
            new = _changes(start, end)
        panes = np.empty((len(new), 4), np.int64)
        panes[:, START], panes[:, END], panes[:, FIRST] = start[new], end[new], new
        panes[:, COUNT] = np.diff(new, append=len(delta))
        self._store.add(parts, panes)

    def _make_room(self) -> None:
        capacity = self._keys.capacity
        if capacity > len(self._totals):
            self._totals = grown(self._totals, capacity)
            self._waiting = grown(self._waiting, capacity)
            self._live = grown(self._live, capacity)
            self._place = grown(self._place, capacity)

    def _shown(
        self, beginning: Numbers, ending: Numbers, first: int, end: int
    ) -> tuple[Numbers, Numbers, Numbers]:
        """Slots, instants and totals of the groups at every multiple in first ≤ now < end."""
        at = np.zeros(5, np.int64)
        at[NOW] = self._multiples.next(first) if first < end else end
        at[THERE] = self._there
        room = self._there + self._expected(beginning, first, end)
        slots, times = np.empty(room, np.int64), np.empty(room, np.int64)
        # By column: each will be one of the answer.
        numbers = np.empty((self._totals.shape[1], room), np.int64)
        state = (self._totals, self._waiting, self._live, self._place, at)
        given = (beginning, ending, self._store.parts, self._multiples.steps, end, *state)
        while not show_groups(*given, slots, times, numbers):
            room = 2 * (room + int(at[THERE]))
            slots, times = grown(slots, room), grown(times, room)
            numbers = np.ascontiguousarray(grown(numbers.T, room).T)
        self._there = int(at[THERE])
        count = int(at[SHOWN])
        return slots[:count], times[:count], numbers[:, :count]

    def _expected(self, beginning: Numbers, first: int, end: int) -> int:
        """About how many groups will be shown: as if each part were a group that stays for
        a few instants."""
        step = int(self._multiples.steps.min())
        lengths = np.minimum(beginning[:, END], end) - np.maximum(beginning[:, START], first)
        times = np.clip(lengths // step, 1, _FEW)
        return int((beginning[:, COUNT] * times).sum()) + _FEW * self._there

    def _forget(self, panes: Numbers) -> None:
        """Let go of groups that are empty and expect nothing."""
        idle = np.empty(int(panes[:, COUNT].sum()), np.int64)
        found = find_idle(panes, self._store.parts, self._totals, self._waiting, idle)
        self._keys.release(idle[:found])


def _changes(start: Times, end: Times) -> Numbers:
    """Where the stretch is another than before."""
    return np.flatnonzero(np.r_[True, (start[1:] != start[:-1]) | (end[1:] != end[:-1])])
