"""The rows of one batch as sums, and added up where many share a group and a stretch of time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.slots import SlotTable, first_of_slots, totals_of_slots
from thalweg.operators.aggregate_sums import Sums
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta, nothing
from thalweg.operators.identity import Identity
from thalweg.plan.nodes import Aggregate
from thalweg.types import BIGINT, Schema
from thalweg.vector.column import Columns, Vector
from thalweg.vector.evaluate import VectorCompiler


class PartialAggregateRun:
    """With `adds_up`, one row for all that have the same group, start and end."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, plan: Aggregate, sums: Sums, schema: Schema, compiler: VectorCompiler, adds_up: bool
    ) -> None:
        self._schema = schema
        self._keys = [compiler(key) for key in plan.keys]
        self._arguments = [
            ([compiler(a) for a in call.arguments], call.where and compiler.is_true(call.where))
            for call in plan.calls
        ]
        self._types = tuple(key.type for key in plan.keys)
        self._sums = sums
        self._adds_up = adds_up

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        length = len(delta)
        if not length:
            return nothing(self._schema)
        keys = tuple(key(delta.columns, length) for key in self._keys)
        arguments: list[Vector] = []
        counted = []
        for compiled, where in self._arguments:
            arguments += [argument(delta.columns, length) for argument in compiled]
            counted.append(where(delta.columns, length) if where else None)
        sums = self._sums.contributions(delta.weight, counted, tuple(arguments))
        if self._adds_up:
            return self._added_up(keys, sums, delta)
        ones = np.ones(length, np.int64)
        return Delta((*keys, *_vectors(sums)), delta.start, delta.end, ones)

    def _added_up(
        self, keys: Columns, sums: np.ndarray[tuple[int, int], np.dtype[np.int64]], delta: Delta
    ) -> Delta:
        identity = Identity(self._types)
        own = identity.words(keys, len(delta))
        words = np.column_stack((own, delta.start, delta.end))
        table = SlotTable(words.shape[1])
        slots = table.assign(words)
        totals = totals_of_slots(slots, sums, len(table))
        rows = first_of_slots(slots, len(table))
        return Delta(
            (*(key.take(rows) for key in keys), *_vectors(totals)),
            delta.start[rows],
            delta.end[rows],
            np.ones(len(rows), np.int64),
        )


def _vectors(sums: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> tuple[Vector, ...]:
    return tuple(Vector(BIGINT, np.ascontiguousarray(sums[:, i])) for i in range(sums.shape[1]))
