"""The last operator of a query: its records, in the order of time."""

from __future__ import annotations

import numpy as np

from thalweg.answers import Change
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.counts import CountedRows
from thalweg.operators.delta import Delta, Times, nothing
from thalweg.types import Schema
from thalweg.vector.column import Columns, rows_of, taken


class RelationAnswerRun:
    """The net changes of a relation."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows = CountedRows(schema, 1)
        self._changes: list[Change] = []

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        self._rows.add(0, inputs[0])
        steps = self._rows.steps(moment.frontier, lambda count: count)
        self._changes = []
        if steps is not None:
            change = steps.after - steps.before
            self._changes = records(steps.columns, steps.time, change)
        return nothing(self._schema)

    def changes(self) -> list[Change]:
        return self._changes


class StreamAnswerRun:
    """The elements of a stream."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._waiting = Calendar()
        self._changes: list[Change] = []

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        self._waiting.add(Events(delta.start, (delta.weight,), delta.columns))
        due = self._waiting.due(moment.frontier)
        self._changes = [] if due is None else records(due.columns, due.time, due.numbers[0])
        return nothing(self._schema)

    def changes(self) -> list[Change]:
        return self._changes


def records(columns: Columns, time: Times, weight: Times) -> list[Change]:
    """Changes one by one: what leaves before what enters."""
    order = np.lexsort((weight, time))
    order = np.repeat(order, np.abs(weight[order]))
    signs = np.where(weight[order] > 0, "+", "-").tolist()
    rows = rows_of(taken(columns, order), len(order))
    return [
        Change(at, sign, row)
        for at, sign, row in zip(time[order].tolist(), signs, rows, strict=True)
    ]
