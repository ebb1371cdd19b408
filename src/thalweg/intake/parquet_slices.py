"""Parquet files in slices, column by column.

Rows that do not fit are found by comparing whole columns with limits, late ones by
comparing each time with the running maximum. A late row is below the maximum, so it
does not raise it, and the maximum is that of all rows that fit. Only the rows that
do not enter are ever looked at one by one, by the same code that judges rows of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.catalog import Stream
from thalweg.intake.accept import Accepting
from thalweg.intake.file_columns import ConvertColumn, column_converter, outside
from thalweg.intake.slices import Cursor, Slice, files_at
from thalweg.operators.delta import Delta, Times
from thalweg.sources import Accepted, ReadRequest, Reject
from thalweg.sources.parquet import ParquetRows
from thalweg.types import Schema
from thalweg.units import LAST_INSTANT, Unit
from thalweg.vector.column import Columns, Index, Mask, Vector, empty, joined

# How many rows are decoded at once, whatever the slices. (m) A slice of one large
# piece is not copied: 19-23 M rows/s of three columns on one core, against 14-16 M
# in pieces of 65,536 rows that are put together.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 1 << 16, 1 << 20

_LEAST = -(2**63)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows of one file, the first of them number `first`; `index` is the file's."""

    index: int
    file: ParquetRows
    converts: list[ConvertColumn]
    first: int
    batch: pa.RecordBatch

    def head(self, rows: int) -> _Piece:
        return replace(self, batch=self.batch.slice(0, rows))

    def tail(self, rows: int) -> _Piece:
        return replace(self, first=self.first + rows, batch=self.batch.slice(rows))

    def rows(self, which: Index) -> list[Accepted | Reject]:
        """Some of the rows, one by one."""
        numbers = (which + self.first).tolist()
        try:
            some = self.batch.take(pa.array(which))
        except pa.ArrowNotImplementedError:  # views of texts cannot be taken
            some = pa.concat_batches([self.batch.slice(row, 1) for row in which.tolist()])
        return list(self.file.rows(some, numbers))


@dataclass(frozen=True, slots=True)
class _Judged:
    """The rows of a piece that enter, and those that do not."""

    columns: Columns
    time: Times
    position: Times
    late: list[Accepted]
    rejects: list[Reject]


class ParquetSlices:
    def __init__(self, request: ReadRequest, stream: Stream, finest: Unit) -> None:
        assert stream.time_column is not None, f"{stream.name} gets its times beside the columns"
        self._request, self._stream, self._finest = request, stream, finest
        self._time_column = stream.time_column
        self._last_time = LAST_INSTANT // Accepting(stream, finest).ticks
        self._at: Cursor | None = None
        self._pieces: Iterator[_Piece] = iter(())
        self._left: _Piece | None = None

    def read(self, cursor: Cursor, rows: int) -> Slice:
        if cursor != self._at:
            at_once = min(max(rows, _FEWEST_AT_ONCE), _MOST_AT_ONCE)
            self._pieces, self._left = self._pieces_from(cursor, at_once), None
        self._at = None  # until all is well: an iterator that failed is of no use
        parts: list[_Judged] = []
        reached = cursor
        wanted = rows
        while wanted and (piece := self._next(wanted)) is not None:
            part, largest = self._judge(piece, reached.seen, reached.largest)
            parts.append(part)
            wanted -= len(piece.batch)
            reached = Cursor(
                piece.index,
                piece.file.path.name,
                piece.first + len(piece.batch) - 1,
                seen=reached.seen + len(piece.batch),
                largest=largest,
            )
        if not wanted:
            self._at = reached
        return Slice(
            _delta(parts, self._stream.columns),
            [row for part in parts for row in part.late],
            [row for part in parts for row in part.rejects],
            reached,
            at_end=wanted > 0,
        )

    def _pieces_from(self, cursor: Cursor, at_once: int) -> Iterator[_Piece]:
        files = files_at(self._request, cursor)
        before = cursor.offset
        for index, path in enumerate(files[cursor.file :], cursor.file):
            with ParquetRows(path, self._request) as file:
                converts = [
                    column_converter(given, column.type, self._request.zone, form, convert)
                    for column, given, form, convert in zip(
                        self._stream.columns, file.types, file.forms, file.converts, strict=True
                    )
                ]
                for first, batch in file.batches(before, at_once):
                    yield _Piece(index, file, converts, first, batch)
            before = 0

    def _next(self, most: int) -> _Piece | None:
        piece = self._left or next(self._pieces, None)
        self._left = None
        if piece is not None and len(piece.batch) > most:
            self._left = piece.tail(most)
            return piece.head(most)
        return piece

    def _judge(self, piece: _Piece, seen: int, largest: int | None) -> tuple[_Judged, int | None]:
        columns, unfit = self._columns(piece)
        times: Times = np.asarray(columns[self._time_column].data).astype(np.int64, copy=False)
        unfit = _either(unfit, outside(times, -self._last_time, self._last_time))
        position = np.arange(seen + 1, seen + 1 + len(times), dtype=np.int64)
        which = None if unfit is None else np.flatnonzero(~unfit)
        if which is not None:
            columns, times, position = _taken(columns, times, position, which)
        running = _running_maximum(times, largest)
        late = _below(times, running, self._stream.slack)
        late_rows = None
        if late is not None:
            late_rows = np.flatnonzero(late)
            late_rows = late_rows if which is None else which[late_rows]
            columns, times, position = _taken(columns, times, position, np.flatnonzero(~late))
        judged = _Judged(
            columns, times, position, _late(piece, late_rows), self._rejects(piece, unfit)
        )
        return judged, int(running[-1]) if len(running) else largest

    def _columns(self, piece: _Piece) -> tuple[Columns, Mask | None]:
        """The columns, and the rows that have a value or a NULL where it must not be."""
        columns: list[Vector] = []
        unfit: Mask | None = None
        for i, convert in enumerate(piece.converts):
            column, wrong = convert(piece.batch.column(i))
            columns.append(column)
            unfit = _either(unfit, wrong)
            if (i in self._request.required or i == self._time_column) and column.has_nulls:
                unfit = _either(unfit, ~column.present())
        return tuple(columns), unfit

    def _rejects(self, piece: _Piece, unfit: Mask | None) -> list[Reject]:
        if unfit is None:
            return []
        state = Accepting(self._stream, self._finest)
        for row in piece.rows(np.flatnonzero(unfit)):
            state.judge(row)
        assert not state.arrivals, "a row whose columns do not fit is rejected"
        assert not state.late, "a row whose columns do not fit is rejected"
        return state.rejects


def _late(piece: _Piece, which: Index | None) -> list[Accepted]:
    if which is None:
        return []
    late = [row for row in piece.rows(which) if isinstance(row, Accepted)]
    assert len(late) == len(which), "a row whose columns fit is not rejected"
    return late


def _either(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return one if other is None else other
    return one | other


def _taken(
    columns: Columns, times: Times, position: Times, rows: Index
) -> tuple[Columns, Times, Times]:
    return tuple(column.take(rows) for column in columns), times[rows], position[rows]


def _running_maximum(times: Times, largest: int | None) -> Times:
    """The largest time up to each row, itself included."""
    running: npt.NDArray[Any] = np.maximum.accumulate(times)
    if largest is not None and len(running) and running[0] < largest:
        np.maximum(running, largest, out=running)
    return running


def _below(times: Times, running: Times, slack: int) -> Mask | None:
    """Which times are below the running maximum minus the slack; None if none is."""
    if not len(times):
        return None
    lowest = int(running[0])  # it never falls
    if lowest - slack < _LEAST:
        if int(running[-1]) - slack < _LEAST:
            return None
        running = np.maximum(running, _LEAST + slack)
    late: Mask = times < running - slack
    return late if late.any() else None


def _delta(parts: Sequence[_Judged], schema: Schema) -> Delta:
    some = [part for part in parts if len(part.time)]
    if not some:
        none = np.empty(0, np.int64)
        return Delta(tuple(empty(field.type) for field in schema), none, none, none, none)
    time = _in_one([part.time for part in some])
    return Delta(
        tuple(joined([part.columns[i] for part in some]) for i in range(len(schema))),
        time,
        time,
        np.ones(len(time), np.int64),
        _in_one([part.position for part in some]),
    )


def _in_one(parts: list[Times]) -> Times:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
