"""What a case is, and the instants at which windows change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# Lengths of time in microseconds, the tick of SQL timestamps.
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Case:
    """A continuous query, and what it must answer at some instants.

    `script` is CQL that ends with a query called q. `sql` is for DuckDB and gives
    the answer at instant `$tau`: a relation's rows, or the elements of a stream at
    that instant. In both, `{data}` stands for the data folder. `instants` are in
    ticks of the query.
    """

    name: str
    script: str
    sql: str
    instants: tuple[int, ...]


def at(text: str) -> int:
    """The instant of a wall-clock time in UTC, in microseconds."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def edges(time: int, span: int) -> tuple[int, ...]:
    """Where a row of `time` enters and leaves a RANGE window, with the ticks beside."""
    return (time - 1, time, time + span, time + span + 1)


def steps(multiple: int) -> tuple[int, ...]:
    """Around a multiple of a slide: the last instant before it, the multiple, the one after."""
    return (multiple - 1, multiple, multiple + 1)
