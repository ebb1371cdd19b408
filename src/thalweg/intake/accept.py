"""Which rows of a source enter a stream, and at which instant.

A row without an event time is rejected, and so is one whose instant would not fit
into 64 bits in the ticks of some query: those are at least as long as the finest
unit of all streams, so this is known before any query is. A row is late if its
time is below the largest time of the rows before it in its source, minus the
slack; late rows do not enter, are counted, and go to a side output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from thalweg.catalog import Stream
from thalweg.functions.cast import to_text
from thalweg.sources.base import Accepted, Reject
from thalweg.units import FIRST_INSTANT, LAST_INSTANT, Unit


@dataclass(frozen=True, slots=True)
class Arrival:
    """An accepted row: its event time in the stream's unit, its place in the source."""

    time: int
    position: int
    values: tuple[Any, ...]


@dataclass
class Accepting:
    """The state of one stream's acceptance: the running maximum, and what was refused.

    `finest` is the shortest tick that a query may have.
    """

    stream: Stream
    finest: Unit = Unit.MICROSECOND
    largest: int | None = None
    seen: int = 0
    arrivals: list[Arrival] = field(default_factory=list)
    late: list[Accepted] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tick = min(self.finest, self.stream.tick, key=lambda unit: unit.value)
        self.ticks = self._tick.ticks_per(self.stream.tick)

    def judge(self, row: Accepted | Reject) -> None:
        """Take the next row of a source whose event time is one of the stream's columns."""
        assert self.stream.time_column is not None, "no time comes beside the columns"
        if isinstance(row, Reject):
            self.refuse(row)
        else:
            self.take(row, row.values[self.stream.time_column])

    def take(self, row: Accepted, time: int | None) -> None:
        """Accept the row, or put it aside."""
        self.seen += 1
        if time is None:
            self._reject(row, "the event time is NULL")
            return
        if not FIRST_INSTANT <= time * self.ticks <= LAST_INSTANT:
            self._reject(row, self._beyond(time))
            return
        if self.largest is not None and time < self.largest - self.stream.slack:
            self.late.append(row)
            return
        self.largest = time if self.largest is None else max(self.largest, time)
        self.arrivals.append(Arrival(time, self.seen, row.values))

    def refuse(self, reject: Reject) -> None:
        self.seen += 1
        self.rejects.append(reject)

    def _reject(self, row: Accepted, reason: str) -> None:
        self.rejects.append(Reject.of(row.place, reason, _text(row.values, self.stream)))

    def _beyond(self, time: int) -> str:
        guess = "" if self.stream.unit_declared else " (read as seconds: no UNIT is declared)"
        return f"the event time {time}{guess} does not fit into 64 bits of {self._tick}s"


def _text(values: tuple[Any, ...], stream: Stream) -> str:
    cells = (
        f"{column.name}={'NULL' if value is None else to_text(value, column.type, stream.zone)}"
        for column, value in zip(stream.columns, values, strict=True)
    )
    return ", ".join(cells)


def accept(
    stream: Stream, rows: Iterable[Accepted | Reject], finest: Unit = Unit.MICROSECOND
) -> Accepting:
    """All rows of a source whose event time is one of the stream's columns."""
    assert stream.time_column is not None, f"{stream.name} gets its times beside the columns"
    state = Accepting(stream, finest)
    for row in rows:
        state.judge(row)
    return state
