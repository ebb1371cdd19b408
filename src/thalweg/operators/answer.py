"""The last operator of a query: its records, in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg.answers import Change
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events, all_events
from thalweg.operators.counts import CountedRows
from thalweg.operators.delta import FOREVER, Delta, Times, nothing
from thalweg.types import Schema
from thalweg.vector.column import Columns, joined, rows_of, taken


@dataclass(frozen=True, slots=True)
class Records:
    """Rows with the instant and the number of copies that came, or with a negative number went."""

    columns: Columns
    time: Times
    weight: Times

    def __len__(self) -> int:
        return len(self.time)

    @property
    def count(self) -> int:
        """How many records they are, copy by copy."""
        return int(np.abs(self.weight).sum())

    def in_order(self) -> Records:
        """One record per copy, by time; what goes before what comes."""
        time, weight = self.time, self.weight
        ones = bool((weight == 1).all())
        if ones and (len(time) < 2 or bool((time[1:] >= time[:-1]).all())):
            return self
        order = np.argsort(time, kind="stable") if ones else np.lexsort((weight, time))
        copies = np.abs(weight[order])
        if int(copies.max(initial=1)) > 1 or not copies.all():
            order = np.repeat(order, copies)
        return Records(taken(self.columns, order), time[order], np.sign(weight[order]))

    def changes(self) -> list[Change]:
        ordered = self.in_order()
        rows = rows_of(ordered.columns, len(ordered))
        signs = np.where(ordered.weight > 0, "+", "-").tolist()
        return [
            Change(at, sign, row)
            for at, sign, row in zip(ordered.time.tolist(), signs, rows, strict=True)
        ]


def no_records(schema: Schema) -> Records:
    empty = nothing(schema)
    return Records(empty.columns, empty.start, empty.weight)


def joined_records(parts: Sequence[Records], schema: Schema) -> Records:
    """The records of one query from several places."""
    if not parts:
        return no_records(schema)
    if len(parts) == 1:
        return parts[0]
    return Records(
        tuple(joined([part.columns[i] for part in parts]) for i in range(len(schema))),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )


class RelationAnswerRun:
    """The net changes of a relation."""

    STATE: ClassVar[tuple[str, ...]] = ("_rows",)

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._rows = CountedRows(schema, 1, by_form=True)
        self.records = no_records(schema)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        self._rows.add(0, inputs[0])
        steps = self._rows.steps(moment.frontier, lambda count: count)
        if steps is None:
            self.records = no_records(self._schema)
        else:
            self.records = Records(steps.columns, steps.time, steps.after - steps.before)
        return inputs[0]

    def next_time(self) -> int | None:
        return self._rows.next_time()


class NetAnswerRun:
    """The changes of a relation that are net as they come."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, schema: Schema) -> None:
        self.records = no_records(schema)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        ending = np.flatnonzero(delta.end < FOREVER)
        self.records = Records(
            taken(delta.columns, np.r_[np.arange(len(delta)), ending]),
            np.r_[delta.start, delta.end[ending]],
            np.r_[delta.weight, -delta.weight[ending]],
        )
        return delta


class StreamAnswerRun:
    """The elements of a stream."""

    STATE: ClassVar[tuple[str, ...]] = ("_waiting",)

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._waiting = Calendar()
        self.records = no_records(schema)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        ready = delta.start < moment.frontier
        early = delta.where(~ready)
        now = delta.where(ready)
        due = self._waiting.due(moment.frontier)
        self._waiting.add(Events(early.start, (early.weight,), early.columns))
        if due is None:
            self.records = Records(now.columns, now.start, now.weight)
        else:
            parts = [due, Events(now.start, (now.weight,), now.columns)]
            events = all_events([part for part in parts if len(part)])
            self.records = Records(events.columns, events.time, events.numbers[0])
        return delta

    def next_time(self) -> int | None:
        return self._waiting.next_time()
