"""Which rows of a source enter a stream, and at which instant.

A row without an event time is rejected. A row is late if its time is below the
largest time of the rows before it in its source, minus the slack; late rows do
not enter, are counted, and go to a side output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from thalweg.catalog import Stream
from thalweg.sources.base import Accepted, Reject


@dataclass(frozen=True, slots=True)
class Arrival:
    """An accepted row: its event time in the stream's unit, its place in the source."""

    time: int
    position: int
    values: tuple[Any, ...]


@dataclass
class Accepting:
    """The state of one stream's acceptance: the running maximum, and what was refused."""

    stream: Stream
    largest: int | None = None
    seen: int = 0
    arrivals: list[Arrival] = field(default_factory=list)
    late: list[Accepted] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)

    def take(self, row: Accepted, time: int | None) -> None:
        """Accept the row, or put it aside."""
        self.seen += 1
        if time is None:
            self.rejects.append(Reject.of(row.place, "the event time is NULL", row.values))
            return
        if self.largest is not None and time < self.largest - self.stream.slack:
            self.late.append(row)
            return
        self.largest = time if self.largest is None else max(self.largest, time)
        self.arrivals.append(Arrival(time, self.seen, row.values))

    def refuse(self, reject: Reject) -> None:
        self.seen += 1
        self.rejects.append(reject)


def accept(stream: Stream, rows: Iterable[Accepted | Reject]) -> Accepting:
    """All rows of a source whose event time is one of the stream's columns."""
    assert stream.time_column is not None, f"{stream.name} gets its times beside the columns"
    state = Accepting(stream)
    for row in rows:
        if isinstance(row, Reject):
            state.refuse(row)
        else:
            state.take(row, row.values[stream.time_column])
    return state
