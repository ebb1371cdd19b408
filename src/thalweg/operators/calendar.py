"""Events that wait for their instant.

Kept as a few runs sorted by time, larger ones first, as a log-structured merge
tree keeps its levels: what is due is the head of each run, and what is added is
merged with runs of its own size only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.operators.delta import Times
from thalweg.vector.column import Columns, Index, joined


@dataclass(frozen=True, slots=True)
class Events:
    """Events with their instants, some whole numbers each, and a row each."""

    time: Times
    numbers: tuple[Times, ...]
    columns: Columns

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: Index | slice) -> Events:
        if isinstance(rows, slice):
            rows = np.arange(len(self.time))[rows]
        return Events(
            self.time[rows],
            tuple(number[rows] for number in self.numbers),
            tuple(column.take(rows) for column in self.columns),
        )


def all_events(parts: list[Events]) -> Events:
    first = parts[0]
    if len(parts) == 1:
        return first
    return Events(
        np.concatenate([part.time for part in parts]),
        tuple(
            np.concatenate([part.numbers[i] for part in parts]) for i in range(len(first.numbers))
        ),
        tuple(joined([part.columns[i] for part in parts]) for i in range(len(first.columns))),
    )


class Calendar:
    def __init__(self) -> None:
        self._runs: list[Events] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, events: Events) -> None:
        if not len(events):
            return
        self._runs.append(_sorted(events))
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            self._runs.append(_sorted(all_events([self._runs.pop(), self._runs.pop()])))

    def due(self, before: int) -> Events | None:
        """Take out all events before an instant, in no order; None if there is none."""
        parts, kept = [], []
        for run in self._runs:
            cut = int(np.searchsorted(run.time, before))
            if cut == 0:
                kept.append(run)
                continue
            parts.append(run.take(slice(0, cut)))
            if cut < len(run):
                kept.append(run.take(slice(cut, None)))
        self._runs = kept
        return all_events(parts) if parts else None

    def next_time(self) -> int | None:
        """The instant of the first event."""
        return min((int(run.time[0]) for run in self._runs), default=None)


def _sorted(events: Events) -> Events:
    time = events.time
    if len(time) < 2 or bool((time[1:] >= time[:-1]).all()):
        return events
    return events.take(np.argsort(time, kind="stable"))
