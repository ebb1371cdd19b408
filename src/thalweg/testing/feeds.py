"""What goes into a script under test: rows in the order in which they arrive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.catalog import Stream
from thalweg.functions.registry import Failure
from thalweg.intake.accept import Accepting
from thalweg.program import Program
from thalweg.reference import Inputs
from thalweg.sources.base import Accepted, Reject, not_null
from thalweg.units import Unit

Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FeedRow:
    """A row of a stream; `time` is its event time where that is no column of the row."""

    values: Values
    time: int | None = None


@dataclass(frozen=True)
class Feeds:
    """The rows of all streams and tables of a script, by name."""

    streams: Mapping[str, Sequence[FeedRow]] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Values]] = field(default_factory=dict)


def accepted(stream: Stream, rows: Sequence[FeedRow], finest: Unit = Unit.MICROSECOND) -> Accepting:
    """What the stream takes of its feed, and what it refuses."""
    state = Accepting(stream, finest)
    for number, row in enumerate(rows, 1):
        place = f"{stream.name}:{number}"
        time = row.time if stream.time_column is None else row.values[stream.time_column]
        try:
            for i, value in enumerate(row.values):
                not_null(value, i, stream.columns, stream.required)
        except Failure as failure:
            state.refuse(Reject.of(place, str(failure), row.values))
            continue
        state.take(Accepted(row.values, place), time)
    return state


def inputs_of(program: Program, feeds: Feeds) -> Inputs:
    """The feeds as the reference reads them."""
    streams = {}
    finest = program.catalog.finest_tick()
    for stream in program.catalog.streams():
        rows = feeds.streams.get(stream.name, ())
        streams[stream.name] = accepted(stream, rows, finest).arrivals
    tables = {table.name: feeds.tables.get(table.name, ()) for table in program.catalog.tables()}
    ranks = {stream.name: stream.rank for stream in program.catalog.streams()}
    return Inputs(streams, tables, ranks)
