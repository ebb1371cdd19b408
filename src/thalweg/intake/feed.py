"""Rows that a program hands over: judged as the rows of a file are, and kept in a spool.

Tables are judged by whole columns, rows one by one; both give the same. A stream that
was declared without a time column gets its times beside the rows. They are judged as a
further column, which ends there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.catalog import Stream, Table
from thalweg.errors import QueryError, did_you_mean
from thalweg.functions.registry import Failure
from thalweg.intake.accept import Accepting
from thalweg.intake.file_columns import column_converter
from thalweg.intake.judge import Judge, either
from thalweg.intake.slices import as_delta
from thalweg.intake.spooled import Handed, Spool
from thalweg.operators.delta import Delta
from thalweg.python_values import from_python
from thalweg.sources import Accepted, ReadRequest, Reject
from thalweg.sources.base import not_null
from thalweg.sources.parquet import arrow_row, cells_of, from_arrow
from thalweg.types import BIGINT, DOUBLE, FLOAT, Field, to_arrow
from thalweg.units import FIRST_INSTANT, LAST_INSTANT, Unit
from thalweg.vector.column import Index, Mask, Vector

Row = Mapping[str, Any] | Sequence[Any]
Instant = int | dt.datetime

# No column of a script is called so.
_AT = "(at)"
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True, slots=True)
class Fed:
    """How many of some rows entered the stream, and how many did not."""

    accepted: int
    late: int
    rejected: int


class Feed:
    """The feed of one stream; `finest` is the shortest tick that a query may have."""

    def __init__(self, stream: Stream, spool: Spool, finest: Unit) -> None:
        self._stream, self._spool, self._finest = stream, spool, finest
        self._timed = _timed(stream)
        self._judge = Judge(self._timed, self._timed.required, finest)

    @property
    def handed(self) -> Handed:
        return self._spool.handed

    def _before(self) -> Handed:
        """What rows that come now follow."""
        if self._spool.is_closed:
            raise QueryError(f'stream "{self._stream.name}" was closed')
        return self.handed

    def rows(self, rows: Iterable[Row], at: Instant | Sequence[Instant] | None) -> Fed:
        """Take rows as Python has them."""
        before = self._before()
        listed = list(rows)
        state = Accepting(self._timed, self._finest, before.largest, before.seen)
        times = self._times(at, len(listed))
        for i, row in enumerate(python_rows(self._stream, listed, before.seen)):
            if times is not None and isinstance(row, Accepted):
                row = Accepted((*row.values, times[i]), row.place)
            state.judge(row)
        taken = as_delta(state.arrivals, self._timed.columns)
        return self._keep(taken, state.late, state.rejects, Handed(state.seen, state.largest))

    def table(self, table: pa.Table, at: Instant | Sequence[Instant] | None) -> Fed:
        """Take the rows of a table, column by column."""
        before = self._before()
        times = self._times(at, len(table))
        if times is not None:
            table = table.append_column(_AT, pa.array(times, pa.int64()))
        columns = _Columns(self._timed, table, before.seen)
        unfit = self._judge.unfit(columns.vectors, columns.wrong)
        every = frozenset(range(len(self._timed.columns)))
        judged = self._judge.judge(
            columns.vectors, every, unfit, before.seen, before.largest, columns.rows
        )
        after = Handed(before.seen + len(table), judged.largest)
        return self._keep(judged.rows, judged.late, judged.rejects, after)

    def advance(self, instant: Instant) -> None:
        """Promise that no row before an instant will come any more."""
        before = self._before()
        largest = min(_ticks(instant, self._stream) + self._stream.slack, LAST_INSTANT)
        if before.largest is None or largest > before.largest:
            nothing = as_delta([], self._stream.columns)
            self._spool.add(nothing, [], [], replace(before, largest=largest))

    def close(self) -> None:
        self._spool.close(self._stream.columns)

    def _keep(
        self, taken: Delta, late: list[Accepted], rejects: list[Reject], after: Handed
    ) -> Fed:
        width = len(self._stream.columns)
        shown = [Accepted(row.values[:width], row.place) for row in late]
        self._spool.add(taken.with_columns(taken.columns[:width]), shown, rejects, after)
        return Fed(len(taken), len(late), len(rejects))

    def _times(self, at: Instant | Sequence[Instant] | None, rows: int) -> list[int] | None:
        """The times beside so many rows; None where they are a column."""
        if self._stream.time_column is not None:
            if at is not None:
                time = self._stream.columns[self._stream.time_column].name
                raise QueryError(f'stream "{self._stream.name}" has its times in column "{time}"')
            return None
        if at is None:
            raise QueryError(
                f'stream "{self._stream.name}" has no column for the event time',
                hint=f'say when its rows are, as in engine.feed("{self._stream.name}", …, at=…)',
            )
        instants = list(at) if isinstance(at, Iterable) else [at] * rows
        if len(instants) != rows:
            raise QueryError(f"{len(instants)} times for {rows} rows")
        return [_ticks(instant, self._stream) for instant in instants]


def python_rows(
    entry: Stream | Table, rows: Iterable[Row], before: int = 0
) -> Iterator[Accepted | Reject]:
    """Rows as Python has them in the declared columns; they follow `before` others."""
    names = {column.name.lower(): i for i, column in enumerate(entry.columns)}
    for number, row in enumerate(rows, before + 1):
        place = f"{entry.name}:{number}"
        cells = _cells(row, entry, names)
        try:
            values = tuple(_value(cell, i, entry) for i, cell in enumerate(cells))
        except Failure as failure:
            yield Reject.of(place, str(failure), row)
        else:
            yield Accepted(values, place)


def _cells(row: Row, entry: Stream | Table, names: dict[str, int]) -> list[Any]:
    width = len(entry.columns)
    if not isinstance(row, Mapping):
        if isinstance(row, str) or not isinstance(row, Sequence):
            raise QueryError(
                f"a row is a tuple, a list or a dictionary, not {type(row).__name__}",
                hint=f"feed {entry.name} a list of rows, or a table of Arrow or pandas",
            )
        if len(row) != width:
            raise QueryError(
                f"{len(row)} values for {width} columns",
                detail=f"{entry.name} has: {', '.join(c.name for c in entry.columns)}.",
            )
        return list(row)
    cells: list[Any] = [None] * width
    for name, value in row.items():
        if str(name).lower() not in names:
            raise _no_column(str(name), entry)
        cells[names[str(name).lower()]] = value
    return cells


def _value(cell: Any, i: int, entry: Stream | Table) -> Any:
    plain = cell.item() if isinstance(cell, np.generic) else cell
    try:
        value = from_python(plain, entry.columns[i].type)
    except Failure as failure:
        raise Failure(f"column {entry.columns[i].name}: {failure}") from None
    return not_null(value, i, entry.columns, entry.required)


class _Columns:
    """A table's columns as declared ones, and which rows do not fit."""

    def __init__(self, stream: Stream, table: pa.Table, before: int) -> None:
        assert stream.connector is not None, "a declared stream has a connector"
        self._request = ReadRequest(
            stream.connector, stream.columns, stream.required, stream.zone, ()
        )
        self._stream, self._before = stream, before
        self._arrays: list[pa.Array] = []
        self._forms: list[pa.DataType] = []
        self._converts: list[Any] = []
        self.vectors: dict[int, Vector] = {}
        self.wrong: Mask | None = None
        for i, column in enumerate(stream.columns):
            array = _column_of(table, column, stream)
            try:
                form, convert = from_arrow(array.type, column.type, stream.zone)
            except Failure:
                raise QueryError(
                    f'column "{column.name}" is {array.type}, declared {column.type}'
                ) from None
            self._arrays.append(array)
            self._forms.append(form)
            self._converts.append(convert)
            convert_column = column_converter(array.type, column.type, stream.zone, form, convert)
            self.vectors[i], unfit = convert_column(array)
            self.wrong = either(self.wrong, unfit)

    def rows(self, which: Index) -> list[Accepted | Reject]:
        """Some rows, whole and one by one."""
        some = pa.array(which)
        cells = [
            cells_of(array.take(some), form)
            for array, form in zip(self._arrays, self._forms, strict=True)
        ]
        places = [f"{self._stream.name}:{self._before + row + 1}" for row in which.tolist()]
        return [
            arrow_row(row, place, self._converts, self._request)
            for row, place in zip(zip(*cells, strict=True), places, strict=True)
        ]


def _column_of(table: pa.Table, column: Field, stream: Stream) -> pa.Array:
    found = [i for i, name in enumerate(table.column_names) if name.lower() == column.name.lower()]
    if len(found) != 1:
        problem = f"several columns {column.name!r}" if found else f"no column {column.name!r}"
        raise QueryError(
            f"the table has {problem}, which stream {stream.name!r} needs",
            detail=f"It has: {', '.join(table.column_names)}.",
            hint=None if found else did_you_mean(column.name, table.column_names),
        )
    array = table.column(found[0]).combine_chunks()
    # As for rows of Python: an integer is a float, and one of 64 bits is rounded to 32.
    if column.type in (FLOAT, DOUBLE) and (
        pa.types.is_integer(array.type) or pa.types.is_float64(array.type)
    ):
        return array.cast(to_arrow(column.type), safe=False)
    return array


def _no_column(name: str, entry: Stream | Table) -> QueryError:
    names = [column.name for column in entry.columns]
    return QueryError(
        f'"{entry.name}" has no column "{name}"',
        detail=f"{entry.name} has: {', '.join(names)}.",
        hint=did_you_mean(name, names),
    )


def _timed(stream: Stream) -> Stream:
    """The stream with a column for times that come beside the others."""
    if stream.time_column is not None:
        return stream
    columns = (*stream.columns, Field(_AT, BIGINT))
    return replace(stream, columns=columns, time_column=len(stream.columns))


def _ticks(instant: Instant, stream: Stream) -> int:
    """An instant in the stream's unit of time."""
    if isinstance(instant, dt.datetime):
        moment = instant if instant.tzinfo else instant.replace(tzinfo=dt.UTC)
        micros = (moment - _EPOCH) // dt.timedelta(microseconds=1)
        return micros * Unit.MICROSECOND.value // stream.tick.value
    if isinstance(instant, bool) or not isinstance(instant, int | np.integer):
        raise QueryError(f"{instant!r} is not an instant", hint="give an integer or a datetime")
    if not FIRST_INSTANT <= instant <= LAST_INSTANT:
        raise QueryError(f"{instant} is beyond the end of time", detail=f"That is {LAST_INSTANT}.")
    if stream.unit is None:
        raise QueryError(
            f'stream "{stream.name}" has timestamps, so an instant of it is a datetime'
        )
    return int(instant)
