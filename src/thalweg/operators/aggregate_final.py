"""GROUP BY: groups as the sums, extremes and members of their parts.

Parts come in, of one row or of many that share a group and a stretch of time. Each
is an event when it begins to count and another when it ends. Up to the frontier all
events are known; they are taken in the order of time, and each instant at which one
happens in a group is an entry in its course: a row that is there from then on, until
the group's next entry.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from thalweg.kernels.timeline import WEIGHT, Course, Events, link_changes
from thalweg.operators.aggregate_calls import Plan as Measures
from thalweg.operators.aggregate_layout import Layout
from thalweg.operators.base import Moment, earlier
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, nothing
from thalweg.operators.folds import Around, ExactFold, TotalsFold
from thalweg.operators.groups import Groups
from thalweg.operators.measure_doubles import DoubleSum, SquareSum
from thalweg.operators.measures import Bag, Distinct, Extreme, Measure, Numbers, States, Totals
from thalweg.operators.member_folds import BagFold, DistinctFold, ExtremeFold
from thalweg.operators.repeated import Entries, Repeater
from thalweg.operators.same_rows import same_rows
from thalweg.plan.nodes import Aggregate
from thalweg.plan.placed import SteppedRstream
from thalweg.vector.column import Columns, Index, joined, taken

# The value of an aggregate from what was measured of the rows of a group.
Define = Callable[[Bag | States, Columns, Index], Any]


class FinalAggregateRun:
    """`always_there`: without keys and without a stream below, the row exists from ever on."""

    STATE: ClassVar[tuple[str, ...]] = (
        "_groups",
        "_totals",
        "_exact",
        "_members",
        "_begun",
        "_shown",
    )

    def __init__(
        self, plan: Aggregate, measures: Measures, define: Define, always_there: bool
    ) -> None:
        self._plan = plan
        self._measures = measures
        self._define = define
        self._always_there = always_there
        # Without keys there is one group, which exists from its beginning on, or from its
        # first row if that is earlier.
        self._begun = bool(plan.keys)
        self._shown = False
        self._layout = Layout(measures.measures)
        self._groups = Groups(tuple(key.type for key in plan.keys), len(self._layout.all))
        self._totals = [TotalsFold(columns) for columns in self._layout.totals.values()]
        self._exact: dict[int, ExactFold] = {}
        self._members: dict[int, DistinctFold | ExtremeFold | BagFold] = {}
        for i, measure in enumerate(measures.measures):
            columns = self._layout.columns[i]
            if isinstance(measure, DoubleSum | SquareSum):
                self._exact[i] = ExactFold(columns, measure.meant)
            elif isinstance(measure, Distinct):
                self._members[i] = DistinctFold(measure, *columns)
            elif isinstance(measure, Extreme):
                self._members[i] = ExtremeFold(measure, *columns)
            elif isinstance(measure, Bag | States):
                self._members[i] = BagFold(measure, *columns)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        due = self._due(inputs[0], moment)
        if due is None:
            return nothing(self._plan.schema)
        events, course = due
        changes = self._changes(course, self._around(events, course))
        self._shown = True
        self._forget(course)
        return changes

    def _due(self, delta: Delta, moment: Moment) -> tuple[Events, Course] | None:
        """Take in parts; the events that are certain now, and their course."""
        if len(delta):
            self._enter(delta)
        if not self._begun:
            self._begin(moment)
        return self._groups.due(moment.frontier)

    def _forget(self, course: Course) -> None:
        """Let go of groups that are empty, and of members that left."""
        for fold in self._members.values():
            fold.forget()
        if self._plan.keys:
            slots = course.slot[course.first]
            self._groups.release(slots, self._totals[0].totals[slots, 0] == 0)

    def next_time(self) -> int | None:
        return self._groups.next_time()

    def _enter(self, delta: Delta) -> None:
        width = len(self._plan.keys)
        slots = self._groups.slots(delta.columns[:width], len(delta))
        numbers: list[Index] = []
        for i, measure in enumerate(self._measures.measures):
            own = delta.columns[width : width + len(measure.types)]
            width += len(measure.types)
            if i in self._members:
                numbers.append(self._members[i].enter(slots, own, delta.end < FOREVER))
            else:
                numbers += [column.data.view(np.int64) for column in own]
        self._groups.enter(slots, numbers, delta)
        self._make_room()

    def _begin(self, moment: Moment) -> None:
        """The beginning of the only group: an event that adds nothing."""
        begin = BEFORE_TIME if self._always_there else moment.begin
        if begin is None or begin >= moment.frontier:
            return
        self._begun = True
        none = np.full(1, -1, np.int64)
        zero = np.zeros(1, np.int64)
        slots = self._groups.slots((), 1)
        numbers = [none if column in self._layout.members else zero for column in self._layout.all]
        at, forever = np.array([begin]), np.array([FOREVER])
        self._groups.enter(slots, numbers, Delta((), at, forever, zero))
        self._make_room()

    def _make_room(self) -> None:
        capacity = self._groups.capacity
        for fold in (*self._totals, *self._exact.values(), *self._members.values()):
            fold.make_room(capacity)

    def _around(self, events: Events, course: Course) -> list[Around]:
        """What each measure was and becomes."""
        weights: dict[Distinct | None, Totals] = {None: np.ascontiguousarray(events[:, WEIGHT])}
        for i, fold in self._members.items():
            measure = self._measures.measures[i]
            if isinstance(fold, DistinctFold) and isinstance(measure, Distinct):
                weights[measure] = fold.weights(events)
        totals = {
            distinct: fold.fold(events, weights[distinct], course)
            for distinct, fold in zip(self._layout.totals, self._totals, strict=True)
        }
        return [
            self._measured(i, measure, events, course, weights, totals)
            for i, measure in enumerate(self._measures.measures)
        ]

    def _measured(
        self,
        i: int,
        measure: Measure,
        events: Events,
        course: Course,
        weights: dict[Distinct | None, Totals],
        totals: dict[Distinct | None, Around],
    ) -> Around:
        if isinstance(measure, Numbers):
            if i in self._exact:
                return self._exact[i].fold(events, weights[measure.distinct], course)
            whole, own = totals[measure.distinct], self._layout.places[i]
            return Around(whole.before[:, own], whole.after[:, own])
        fold = self._members[i]
        if isinstance(fold, ExtremeFold):
            return fold.fold(events, course)
        if isinstance(fold, BagFold) and isinstance(measure, Bag | States):
            return fold.fold(events, course, partial(self._define, measure))
        return Around(None, None)

    def _changes(self, course: Course, around: list[Around]) -> Delta:
        """Rows of the groups: as each is from each change on, and as it was before.

        An entry that changes nothing is left out, so no row ends as it begins again.
        """
        rows, first = around[0], course.first
        if self._plan.keys:
            there = np.r_[rows.after[:, 0], rows.before[:, 0]] > 0
        else:
            there = np.r_[np.ones(len(course), np.bool_), np.full(len(rows.before), self._shown)]
        # Entries, and behind them what groups were before their first one.
        values = self._values(around)
        earlier = course.previous.copy()
        earlier[first] = np.arange(len(course), len(there))
        entries = np.arange(len(course))
        same = (there[entries] == there[earlier]) & (
            ~there[entries] | same_rows(values, entries, earlier)
        )
        changed = np.flatnonzero(~same)
        linked = link_changes(course.previous, ~same, len(changed))
        ends = np.full(len(changed), FOREVER)
        ends[linked[linked >= 0]] = course.time[changed[linked >= 0]]
        now = np.flatnonzero(there[changed])
        undone = np.flatnonzero((linked < 0) & there[earlier[changed]])
        at = changed[np.r_[now, undone]]
        return Delta(
            (
                *self._groups.keys(course.slot[at]),
                *taken(values, np.r_[changed[now], earlier[changed[undone]]]),
            ),
            course.time[at],
            np.r_[ends[now], np.full(len(undone), FOREVER)],
            np.r_[np.ones(len(now), np.int64), np.full(len(undone), -1)],
        )

    def _values(self, around: list[Around]) -> Columns:
        """The aggregates after each entry, then before the first of each group."""
        found = dict(zip(self._measures.measures, around, strict=True))
        values = []
        for shown in self._measures.shown:
            needed = [found[measure] for measure in shown.measures]
            after = shown.values(*(measure.after for measure in needed))
            before = shown.values(*(measure.before for measure in needed))
            values.append(joined([after, before]))
        return tuple(values)


class RepeatedAggregateRun(FinalAggregateRun):
    """RSTREAM by steps of GROUP BY: each group at every multiple while it is there."""

    STATE: ClassVar[tuple[str, ...]] = (*FinalAggregateRun.STATE, "_repeater")

    def __init__(
        self,
        plan: Aggregate,
        measures: Measures,
        define: Define,
        always_there: bool,
        rstream: SteppedRstream,
    ) -> None:
        super().__init__(plan, measures, define, always_there)
        self._repeater = Repeater(rstream)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        due = self._due(inputs[0], moment)
        if due is None:
            return self._repeater.step(None, moment)
        events, course = due
        entries = self._entries(course, self._around(events, course))
        self._forget(course)
        return self._repeater.step(entries, moment)

    def certain(self, frontier: int) -> int:
        return self._repeater.certain(frontier)

    def next_time(self) -> int | None:
        return earlier(super().next_time(), self._repeater.next_time())

    def _entries(self, course: Course, around: list[Around]) -> Entries:
        found = dict(zip(self._measures.measures, around, strict=True))
        values = [
            shown.values(*(found[measure].after for measure in shown.measures))
            for shown in self._measures.shown
        ]
        there = np.ones(len(course), np.int64)
        if self._plan.keys:
            there = (around[0].after[:, 0] > 0).astype(np.int64)
        columns = (*self._groups.keys(course.slot), *values)
        return Entries(columns, course.slot, course.time, course.previous, there)
