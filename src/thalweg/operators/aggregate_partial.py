"""The rows of a batch as parts of groups: each row for itself, or added up by pane.

Where many rows share a group and a stretch of time, as under a window that moves in
steps, they become one part: with the group, the stretch, and the columns of all
measures. Parts of parts are parts of the whole, so it does no harm that a group and
pane may have several, from several batches or runs of rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thalweg.kernels import read_only
from thalweg.kernels.parts import BASE, PARTS, assign_parts, enter_parts, find_runs
from thalweg.operators.aggregate_calls import Plan as Measures
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta, Times, nothing, one_by_one
from thalweg.operators.group_words import group_words
from thalweg.operators.measures import Added, Begin, Given, LeftOver, Parts
from thalweg.operators.windows import lifetimes
from thalweg.plan.expressions import Expression
from thalweg.plan.nodes import Aggregate, SlideWindow
from thalweg.types import Schema
from thalweg.vector.column import Columns, Vector, joined, taken
from thalweg.vector.evaluate import VectorCompiler

# A table of this size serves groups that stay in the nearest cache.
_TABLE = 1 << 12
# Rows that change panes more often than once in so many are sorted by pane first.
_SHORT_RUN = 64


class PartialAggregateRun:
    """Rows of a relation as parts, one for each."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        plan: Aggregate,
        measures: Measures,
        schema: Schema,
        compiler: VectorCompiler,
        begin: Begin,
    ) -> None:
        self._begin = begin
        self._schema = schema
        self._keys = plan.keys
        self._measures = measures
        self._compiler = compiler
        for expression in (*plan.keys, *measures.expressions):
            compiler(expression)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return nothing(self._schema)
        given = self._given(delta)
        columns = [given[key] for key in self._keys]
        for measure in self._measures.measures:
            columns += measure.columns(given)
        return Delta(tuple(columns), delta.start, delta.end, delta.weight)

    def _given(self, delta: Delta) -> Given:
        def evaluate(expression: Expression) -> Vector:
            return self._compiler(expression)(delta.columns, len(delta))

        return Given(evaluate, len(delta), self._begin)


class AddingAggregateRun(PartialAggregateRun):
    """Rows added up by group and pane.

    With a window, what comes in are the elements of its stream; without one, rows that
    have their stretch of time already.
    """

    def __init__(
        self,
        plan: Aggregate,
        measures: Measures,
        schema: Schema,
        compiler: VectorCompiler,
        begin: Begin,
        window: SlideWindow | None,
    ) -> None:
        super().__init__(plan, measures, schema, compiler, begin)
        self._window = window
        self._table = np.empty(_TABLE, np.int32)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        delta = one_by_one(inputs[0])
        if not len(delta):
            return nothing(self._schema)
        delta, firsts, start, end = self._runs(delta)
        if not len(delta):
            return nothing(self._schema)
        given = self._given(delta)
        keys = tuple(given[key] for key in self._keys)
        parts, of_run = self._parts(keys, firsts, len(delta))
        every = [measure.added(given, parts) for measure in self._measures.measures]
        columns = [*taken(keys, parts.rows)]
        for added in every:
            columns += added.columns
        ones = np.ones(len(parts), np.int64)
        whole = Delta(tuple(columns), start[of_run], end[of_run], ones)
        return self._with_left_over(whole, every)

    def _runs(self, delta: Delta) -> tuple[Delta, Times, Times, Times]:
        """The rows, sorted by pane where need be, the first of each run, and its stretch."""
        firsts, start, end = self._found(delta)
        if len(firsts) > 1 + len(delta) // _SHORT_RUN:
            delta = delta.take(self._order(delta))
            firsts, start, end = self._found(delta)
        alive = start < end
        if not alive.all():
            delta = delta.where(np.repeat(alive, np.diff(np.r_[firsts, len(delta)])))
            firsts, start, end = self._found(delta)
        return delta, firsts, start, end

    def _found(self, delta: Delta) -> tuple[Times, Times, Times]:
        if self._window is None:
            start, end = delta.start, delta.end
            new = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
            firsts = np.r_[0, np.flatnonzero(new) + 1] if len(delta) else np.empty(0, np.int64)
            return firsts, start[firsts], end[firsts]
        firsts = np.empty(len(delta), np.int64)
        times = read_only(delta.start)
        firsts = firsts[: find_runs(times, self._window.span, self._window.step, firsts)]
        return firsts, *lifetimes(self._window, delta.start[firsts])

    def _order(self, delta: Delta) -> Times:
        if self._window is None:
            return np.lexsort((delta.end, delta.start))
        times = delta.start
        pane = np.gcd(self._window.span, self._window.step)
        first, last = int(times.min()) // pane, int(times.max()) // pane
        if last - first < 1 << 16:
            return np.argsort((times // pane - first).astype(np.uint16), kind="stable")
        return np.argsort(times, kind="stable")

    def _parts(self, keys: Columns, firsts: Times, length: int) -> tuple[Parts, Times]:
        """The parts of rows, and the run that each is of."""
        words = group_words(keys, length)
        ends = np.r_[firsts[1:], length]
        rows = np.empty(length, np.int64)
        sizes = np.empty(length, np.int64)
        slots = np.empty(length, np.int32)
        at = np.zeros(4, np.int64)
        table = self._table
        table[:] = -1
        while not assign_parts(words, ends, table, _shift(table), rows, sizes, slots, at):
            table = np.full(4 * len(table), -1, np.int32)
            enter_parts(words, rows, at[BASE], at[PARTS], table, _shift(table))
            self._table = table
        count = int(at[PARTS])
        parts = Parts(read_only(slots), rows[:count], sizes[:count])
        return parts, np.searchsorted(firsts, parts.rows, "right") - 1

    def _with_left_over(self, whole: Delta, every: list[Added]) -> Delta:
        """One more part for each number that was left over."""
        places = np.cumsum([len(self._keys), *(len(m.types) for m in self._measures.measures)])
        deltas = [
            whole,
            *(
                self._left_over(whole, left, place)
                for place, added in zip(places.tolist(), every, strict=False)
                for left in added.left_over
            ),
        ]
        if len(deltas) == 1:
            return whole
        return Delta(
            tuple(joined([d.columns[i] for d in deltas]) for i in range(len(whole.columns))),
            *(np.concatenate(some) for some in zip(*(_times(d) for d in deltas), strict=True)),
        )

    def _left_over(self, whole: Delta, left: LeftOver, place: int) -> Delta:
        own = whole.take(left.parts)
        columns = [*own.columns[: len(self._keys)]]
        for measure in self._measures.measures:
            columns += measure.nothing(len(own))
        columns[place + left.column] = replace(columns[place + left.column], data=left.numbers)
        return own.with_columns(tuple(columns))


def _times(delta: Delta) -> tuple[Times, Times, Times]:
    return delta.start, delta.end, delta.weight


def _shift(table: npt.NDArray[np.int32]) -> np.uint64:
    return np.uint64(65 - len(table).bit_length())
