"""Operators that need only know how often each row is in their inputs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.operators.base import Moment
from thalweg.operators.counts import Combine, CountedRows, as_relation, as_stream
from thalweg.operators.delta import FOREVER, Delta, Times
from thalweg.types import Schema
from thalweg.vector.column import Index, taken, with_plain_zeros


class CountedRun:
    """DISTINCT, EXCEPT, INTERSECT, semi-joins and anti-joins, by their rule of counting.

    The joins show each row in its own form, the others show 0.0 for -0.0.
    """

    STATE: ClassVar[tuple[str, ...]] = ("_rows",)

    def __init__(self, schema: Schema, inputs: int, combine: Combine, by_form: bool) -> None:
        self._schema = schema
        self._rows = CountedRows(schema, inputs, by_form)
        self._combine = combine
        self._by_form = by_form

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        for which, delta in enumerate(inputs):
            self._rows.add(which, delta)
        delta = as_relation(self._rows.steps(moment.frontier, self._combine), self._schema)
        if self._by_form:
            return delta
        return delta.with_columns(tuple(map(with_plain_zeros, delta.columns)))

    def next_time(self) -> int | None:
        return self._rows.next_time()


class StreamOperatorRun:
    """ISTREAM and DSTREAM."""

    STATE: ClassVar[tuple[str, ...]] = ("_rows",)

    def __init__(self, schema: Schema, entering: bool) -> None:
        self._schema = schema
        self._rows = CountedRows(schema, 1, by_form=True)
        self._entering = entering

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        self._rows.add(0, inputs[0])
        steps = self._rows.steps(moment.frontier, lambda count: count)
        return as_stream(steps, self._schema, self._entering)

    def next_time(self) -> int | None:
        return self._rows.next_time()


class NetStreamRun:
    """ISTREAM and DSTREAM of a relation whose changes are net as they come."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, schema: Schema, entering: bool) -> None:
        self._entering = entering

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if self._entering:
            return _elements(delta, np.flatnonzero(delta.weight > 0), delta.start)
        # What leaves has an end, or is taken back.
        ending = np.flatnonzero((delta.weight > 0) & (delta.end < FOREVER))
        undone = np.flatnonzero(delta.weight < 0)
        times = np.where(delta.weight < 0, delta.start, delta.end)
        return _elements(delta, np.r_[ending, undone], times)


def _elements(delta: Delta, rows: Index, times: Times) -> Delta:
    own = times[rows]
    return Delta(taken(delta.columns, rows), own, own, np.ones(len(rows), np.int64))


class EnteringRun:
    """ISTREAM of rows that say themselves when they enter."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        return Delta(delta.columns, delta.start, delta.start, delta.weight)
