"""ORDER BY … LIMIT: the first rows of a relation at every instant."""

from __future__ import annotations

from itertools import groupby
from typing import ClassVar

import numpy as np

from thalweg.bags import top_order
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.changes import Bag, changes_between
from thalweg.operators.delta import FOREVER, Delta, combined
from thalweg.plan.nodes import Top
from thalweg.vector.column import rows_of, taken


class TopRun:
    STATE: ClassVar[tuple[str, ...]] = ("_calendar", "_rows", "_shown")

    def __init__(self, plan: Top) -> None:
        self._plan = plan
        self._calendar = Calendar()
        self._rows = Bag()
        self._shown = Bag()

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        ending = np.flatnonzero(delta.end < FOREVER)
        for times, weights, rows in (
            (delta.start, delta.weight, np.arange(len(delta))),
            (delta.end, -delta.weight, ending),
        ):
            self._calendar.add(Events(times[rows], (weights[rows],), taken(delta.columns, rows)))
        events = self._calendar.due(moment.frontier)
        if events is None:
            return combined([], self._plan.schema)
        order = np.argsort(events.time, kind="stable")
        rows_in_order = rows_of(taken(events.columns, order), len(order))
        entries = zip(
            events.time[order].tolist(),
            events.numbers[0][order].tolist(),
            rows_in_order,
            strict=True,
        )
        parts = []
        for time, together in groupby(entries, key=lambda entry: entry[0]):
            for _, weight, row in together:
                self._rows.add(row, weight)
            shown = self._first_rows()
            parts.append(changes_between(self._shown, shown, time, self._plan.schema))
            self._shown = shown
        return combined(parts, self._plan.schema)

    def next_time(self) -> int | None:
        return self._calendar.next_time()

    def _first_rows(self) -> Bag:
        ordered = sorted(self._rows.items(), key=lambda item: top_order(item[0], self._plan.keys))
        shown = Bag()
        skip, left = self._plan.offset, self._plan.limit
        for row, copies in ordered:
            skipped = min(skip, copies)
            skip -= skipped
            chosen = min(left, copies - skipped)
            left -= chosen
            shown.add(row, chosen)
            if not left:
                break
        return shown
