"""GROUP BY and aggregates.

Rows enter and leave groups as events, worked through in the order of time up to
the frontier. Where every aggregate of a node is a sum at heart (`count`, `sum`,
`avg` of whole numbers), a group is a few running sums and its values over time
are differences of one cumulative sum. Any other aggregate is computed by its
definition from the rows of the group, whenever one came or went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.evaluate import Failures
from thalweg.kernels.slots import SlotTable, grown
from thalweg.operators.aggregate_sums import Sums, sums_of
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.changes import Bag
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, Times, nothing
from thalweg.operators.identity import Identity
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.nodes import Aggregate
from thalweg.values import normal_zeros
from thalweg.vector.column import (
    Columns,
    Vector,
    from_values,
    joined,
    rows_of,
    taken,
)
from thalweg.vector.evaluate import VectorCompiler, Vectorized

# The value of an aggregate on the argument rows of a group.
Define = Callable[[AggregateCall, list[tuple[Any, ...]]], Any]


class AggregateRun:
    """`always_there`: without keys and without a stream below, the row exists from ever on."""

    def __init__(
        self,
        plan: Aggregate,
        compiler: VectorCompiler,
        failures: Failures,
        define: Define,
        always_there: bool,
    ) -> None:
        self._plan = plan
        self._keys = [compiler(key) for key in plan.keys]
        self._arguments = [_arguments(call, compiler) for call in plan.calls]
        self._identity = Identity(tuple(key.type for key in plan.keys))
        self._slots = SlotTable(self._identity.width)
        self._calendar = Calendar()
        sums = sums_of(plan, failures)
        self._groups: _Groups = _DefinedGroups(plan, define) if sums is None else _SumGroups(sums)
        self._waiting = np.zeros(self._slots.capacity, np.int64)
        self._begin: int | None = BEFORE_TIME if always_there else None
        self._started = bool(plan.keys)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if len(delta):
            self._enter(delta)
        if not self._started:
            begin = moment.begin if self._begin is None else self._begin
            if begin is not None and begin < moment.frontier:
                self._start(begin)
        events = self._calendar.due(moment.frontier)
        return nothing(self._plan.schema) if events is None else self._changes(events)

    def _start(self, begin: int) -> None:
        """The row of an aggregate without keys: an event that adds nothing."""
        self._started = True
        slots = self._slots.assign(np.zeros((1, self._identity.width), np.int64))
        self._note(slots)
        columns = tuple(
            from_values([None], argument.type)
            for call in self._plan.calls
            for argument in (*call.arguments,)
        )
        flags = tuple(np.zeros(1, np.int64) for _ in self._plan.calls)
        self._calendar.add(
            Events(np.array([begin]), (slots, np.zeros(1, np.int64), *flags), columns)
        )

    def _enter(self, delta: Delta) -> None:
        length = len(delta)
        keys = tuple(key(delta.columns, length) for key in self._keys)
        slots = self._slots.assign(self._identity.words(keys, length))
        arguments: list[Vector] = []
        flags: list[Times] = []
        for compiled, where in self._arguments:
            arguments += [argument(delta.columns, length) for argument in compiled]
            counted = np.ones(length, np.int64)
            if where is not None:
                counted = where(delta.columns, length).astype(np.int64)
            flags.append(counted)
        columns = (*keys, *arguments)
        ending = np.flatnonzero(delta.end < FOREVER)
        for times, weights, rows in (
            (delta.start, delta.weight, np.arange(length)),
            (delta.end, -delta.weight, ending),
        ):
            self._note(slots[rows])
            self._calendar.add(
                Events(
                    times[rows],
                    (slots[rows], weights[rows], *(flag[rows] for flag in flags)),
                    taken(columns, rows),
                )
            )

    def _note(self, slots: Times) -> None:
        if self._slots.capacity > len(self._waiting):
            self._waiting = grown(self._waiting, self._slots.capacity)
            self._groups.make_room(self._slots.capacity)
        np.add.at(self._waiting, slots, 1)

    def _changes(self, events: Events) -> Delta:
        order = np.lexsort((events.time, events.numbers[0]))
        slot, time = events.numbers[0][order], events.time[order]
        new_slot = np.r_[True, slot[1:] != slot[:-1]]
        last = np.r_[new_slot[1:] | (time[1:] != time[:-1]), True]
        at = np.flatnonzero(last)
        first = np.r_[True, slot[at][1:] != slot[at][:-1]]
        width = len(self._plan.keys)
        keyless = not width
        before, after = self._groups.around(
            slot,
            new_slot,
            at,
            first,
            tuple(number[order] for number in events.numbers[1:]),
            taken(events.columns[width:], order),
        )
        ends = np.flatnonzero(np.r_[new_slot[1:], True])
        np.subtract.at(self._waiting, slot, 1)
        keys = tuple(
            Vector(v.type, v.data + 0.0, v.valid) if _is_float(v) else v
            for v in taken(events.columns[:width], order[at])
        )
        leaves = np.where(np.r_[first[1:], True], FOREVER, np.r_[time[at][1:], 0])
        there = np.flatnonzero(after.exists | keyless)
        undone = np.flatnonzero(before.exists)
        starts = np.flatnonzero(first)[undone]
        columns = [
            joined([key.take(there), key.take(starts)]) for key in (_plain(k) for k in keys)
        ] + [
            joined([a.take(there), b.take(undone)])
            for a, b in zip(after.values, before.values, strict=True)
        ]
        result = Delta(
            tuple(columns),
            np.r_[time[at][there], time[at][starts]],
            np.r_[leaves[there], np.full(len(undone), FOREVER)],
            np.r_[np.ones(len(there), np.int64), np.full(len(undone), -1)],
        )
        if not keyless:
            gone = slot[ends][(self._waiting[slot[ends]] == 0) & ~self._groups.exist(slot[ends])]
            self._groups.forget(gone)
            self._slots.release(gone)
        return result


def _arguments(
    call: AggregateCall, compiler: VectorCompiler
) -> tuple[list[Vectorized], Callable[[Columns, int], npt.NDArray[np.bool_]] | None]:
    compiled = [compiler(argument) for argument in call.arguments]
    return compiled, None if call.where is None else compiler.is_true(call.where)


def _is_float(vector: Vector) -> bool:
    return isinstance(vector.data, np.ndarray) and vector.data.dtype.kind == "f"


def _plain(vector: Vector) -> Vector:
    """Keys show 0.0 for -0.0, also inside arrays and structs."""
    if isinstance(vector.data, np.ndarray):
        return vector
    return from_values(list(normal_zeros(tuple(vector.values()))), vector.type)


class Shown:
    """Whether groups have a row, and its aggregates."""

    def __init__(self, exists: npt.NDArray[np.bool_], values: tuple[Vector, ...]) -> None:
        self.exists = exists
        self.values = values


class _Groups:
    """What is kept of each group."""

    def make_room(self, slots: int) -> None:
        raise NotImplementedError

    def around(
        self,
        slot: Times,
        new_slot: npt.NDArray[np.bool_],
        at: Times,
        first: npt.NDArray[np.bool_],
        numbers: tuple[Times, ...],
        columns: Columns,
    ) -> tuple[Shown, Shown]:
        """Each group that is touched as it was before, and as it is after each instant.

        Events are sorted by slot and time; `at` are the last events of each instant,
        `first` marks the first of these of each slot.
        """
        raise NotImplementedError

    def exist(self, slots: Times) -> npt.NDArray[np.bool_]:
        raise NotImplementedError

    def forget(self, slots: Times) -> None:
        raise NotImplementedError


class _SumGroups(_Groups):
    """Groups as running sums; the first two are events seen and rows inside."""

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._totals = np.zeros((64, sums.width + 2), np.int64)

    def make_room(self, slots: int) -> None:
        if slots > len(self._totals):
            self._totals = grown(self._totals, slots)

    def around(
        self,
        slot: Times,
        new_slot: npt.NDArray[np.bool_],
        at: Times,
        first: npt.NDArray[np.bool_],
        numbers: tuple[Times, ...],
        columns: Columns,
    ) -> tuple[Shown, Shown]:
        weight, flags = numbers[0], numbers[1:]
        added = np.empty((len(slot), self._sums.width + 2), np.int64)
        added[:, 0] = 1
        added[:, 1] = weight
        added[:, 2:] = self._sums.contributions(weight, flags, columns)
        total = np.cumsum(added, axis=0)
        starts = np.flatnonzero(new_slot)
        base = np.zeros((len(starts), added.shape[1]), np.int64)
        base[1:] = total[starts[1:] - 1]
        which = np.cumsum(new_slot)[at] - 1
        was = self._totals[slot[starts]]
        now = total[at] - base[which] + was[which]
        last = np.flatnonzero(np.r_[first[1:], True])
        self._totals[slot[starts]] = now[last]
        # Without keys the row also exists while it is empty, once it has begun.
        keyless = self._sums.keyless
        before = Shown((was[:, 1] > 0) | (keyless & (was[:, 0] > 0)), self._sums.values(was[:, 2:]))
        return before, Shown(now[:, 1] > 0, self._sums.values(now[:, 2:]))

    def exist(self, slots: Times) -> npt.NDArray[np.bool_]:
        return self._totals[slots, 1] > 0  # type: ignore[no-any-return]

    def forget(self, slots: Times) -> None:
        self._totals[slots] = 0


class _DefinedGroups(_Groups):
    """Groups as bags of argument rows."""

    def __init__(self, plan: Aggregate, define: Define) -> None:
        self._plan = plan
        self._define = define
        self._bags: dict[int, list[Bag]] = {}
        self._sizes: Counter[int] = Counter()
        self._shown: dict[int, tuple[Any, ...]] = {}

    def make_room(self, slots: int) -> None:
        """Bags make their own."""

    def around(
        self,
        slot: Times,
        new_slot: npt.NDArray[np.bool_],
        at: Times,
        first: npt.NDArray[np.bool_],
        numbers: tuple[Times, ...],
        columns: Columns,
    ) -> tuple[Shown, Shown]:
        calls = self._plan.calls
        keyless = not self._plan.keys
        rows = list(rows_of(columns, len(slot)))
        weights = numbers[0].tolist()
        flags = [number.tolist() for number in numbers[1:]]
        instants = set(at.tolist())
        before: list[tuple[Any, ...] | None] = []
        after: list[tuple[Any, ...]] = []
        exists: list[bool] = []
        for i, group in enumerate(slot.tolist()):
            if new_slot[i]:
                before.append(self._shown.get(group))
            bags = self._bags.setdefault(group, [Bag() for _ in calls])
            self._sizes[group] += weights[i]
            place = 0
            for number, call in enumerate(calls):
                width = len(call.arguments)
                if flags[number][i]:
                    bags[number].add(rows[i][place : place + width], weights[i])
                place += width
            if i in instants:
                after.append(tuple(map(self._value, calls, bags)))
                exists.append(self._sizes[group] > 0)
                if exists[-1] or keyless:
                    self._shown[group] = after[-1]
                else:
                    self._shown.pop(group, None)
        empty = (None,) * len(calls)
        was = [row or empty for row in before]
        return (
            Shown(np.array([row is not None for row in before], np.bool_), self._vectors(was)),
            Shown(np.array(exists, np.bool_), self._vectors(after)),
        )

    def _value(self, call: AggregateCall, bag: Bag) -> Any:
        return self._define(call, bag.rows())

    def _vectors(self, rows: list[tuple[Any, ...]]) -> tuple[Vector, ...]:
        return tuple(
            from_values([row[i] for row in rows], call.type)
            for i, call in enumerate(self._plan.calls)
        )

    def exist(self, slots: Times) -> npt.NDArray[np.bool_]:
        return np.array([self._sizes[slot] > 0 for slot in slots.tolist()], np.bool_)

    def forget(self, slots: Times) -> None:
        for slot in slots.tolist():
            self._bags.pop(slot, None)
            self._sizes.pop(slot, None)
            self._shown.pop(slot, None)
