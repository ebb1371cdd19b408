"""Aggregates that are no sums: groups as bags of argument rows.

Whenever a row has come or gone, the aggregate is computed by its definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from thalweg.operators.base import Moment
from thalweg.operators.changes import Bag
from thalweg.operators.delta import Delta, Times, nothing
from thalweg.operators.groups import Groups, Shown, Touched
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.nodes import Aggregate
from thalweg.vector.column import Vector, from_values, rows_of
from thalweg.vector.evaluate import VectorCompiler

# The value of an aggregate on the argument rows of a group.
Define = Callable[[AggregateCall, list[tuple[Any, ...]]], Any]


class DefinedAggregateRun:
    STATE: ClassVar[tuple[str, ...]] = ("_groups", "_bags", "_sizes", "_shown")

    def __init__(
        self, plan: Aggregate, compiler: VectorCompiler, define: Define, always_there: bool
    ) -> None:
        self._plan = plan
        self._define = define
        self._keys = [compiler(key) for key in plan.keys]
        self._arguments = [
            ([compiler(a) for a in call.arguments], call.where and compiler.is_true(call.where))
            for call in plan.calls
        ]
        self._groups = Groups(plan, always_there)
        self._bags: dict[int, list[Bag]] = {}
        self._sizes: dict[int, int] = {}
        self._shown: dict[int, tuple[Any, ...]] = {}

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if len(delta):
            self._enter(delta)
        nulls = tuple(
            from_values([None], a.type) for call in self._plan.calls for a in call.arguments
        )
        self._groups.begin(moment, 1 + len(self._plan.calls), nulls)
        touched = self._groups.due(moment.frontier)
        if touched is None:
            return nothing(self._plan.schema)
        before, after = self._around(touched)
        changes = self._groups.changes(touched, before, after)
        empty = np.array([not self._sizes[slot] for slot in touched.groups.tolist()], np.bool_)
        for slot in self._groups.released(touched, empty).tolist():
            del self._bags[slot], self._sizes[slot]
            self._shown.pop(slot, None)
        return changes

    def _enter(self, delta: Delta) -> None:
        length = len(delta)
        keys = tuple(key(delta.columns, length) for key in self._keys)
        arguments: list[Vector] = []
        counted: list[Times] = []
        for compiled, where in self._arguments:
            arguments += [argument(delta.columns, length) for argument in compiled]
            weight = delta.weight
            counted.append(np.where(where(delta.columns, length), weight, 0) if where else weight)
        self._groups.enter(keys, (delta.weight, *counted), tuple(arguments), delta)

    def _around(self, touched: Touched) -> tuple[Shown, Shown]:
        calls = self._plan.calls
        rows = list(rows_of(touched.columns, len(touched.slot)))
        weights, *counted = (number.tolist() for number in touched.numbers)
        instants = set(touched.at.tolist())
        before: list[tuple[Any, ...] | None] = []
        after: list[tuple[Any, ...]] = []
        exists: list[bool] = []
        for i, group in enumerate(touched.slot.tolist()):
            if touched.new[i]:
                before.append(self._shown.get(group))
            bags = self._bags.setdefault(group, [Bag() for _ in calls])
            self._sizes[group] = self._sizes.get(group, 0) + weights[i]
            place = 0
            for number, call in enumerate(calls):
                width = len(call.arguments)
                if counted[number][i]:
                    bags[number].add(rows[i][place : place + width], counted[number][i])
                place += width
            if i in instants:
                after.append(
                    tuple(self._define(c, b.rows()) for c, b in zip(calls, bags, strict=True))
                )
                exists.append(self._sizes[group] > 0 or not self._plan.keys)
                self._shown[group] = after[-1]
                if not exists[-1]:
                    del self._shown[group]
        unknown = (None,) * len(calls)
        was = [unknown if row is None else row for row in before]
        return (
            Shown(np.array([row is not None for row in before], np.bool_), self._vectors(was)),
            Shown(np.array(exists, np.bool_), self._vectors(after)),
        )

    def _vectors(self, rows: list[tuple[Any, ...]]) -> tuple[Vector, ...]:
        return tuple(
            from_values([row[i] for row in rows], call.type)
            for i, call in enumerate(self._plan.calls)
        )
