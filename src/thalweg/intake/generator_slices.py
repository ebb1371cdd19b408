"""Rows of a generator in slices, made column by column from any row on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from thalweg.catalog import Stream
from thalweg.intake.judge import Judge, SomeColumns
from thalweg.intake.slices import Cursor, Slice
from thalweg.sources import Accepted, ReadRequest, Reject
from thalweg.sources.generator import Generated
from thalweg.sources.made.rows import Column
from thalweg.types import Type
from thalweg.units import Unit
from thalweg.vector.column import FIXED, Index, Mask, Vector, from_stored

# How many rows are made at once: their columns stay in the cache of a core.
_ROWS_AT_ONCE = 1 << 15
# How many rows back to look at once for the last one that was accepted.
_LOOK_BACK = 64


class GeneratorSlices:
    """`columns` are those that are wanted. Others are made only where they judge rows."""

    def __init__(
        self, request: ReadRequest, stream: Stream, finest: Unit, columns: frozenset[int]
    ) -> None:
        self._stream, self._wanted = stream, columns
        self._judge = Judge(stream, request.required, finest)
        self._judging = request.required | {self._judge.time_column}
        self._made = Generated(request)

    def read(self, cursor: Cursor, rows: int) -> Slice:
        seen, wanted = cursor.seen, self._wanted
        count = max(0, min(rows, self._end(cursor) - seen))

        def rows_at(which: Index) -> list[Accepted | Reject]:
            return list(self._made.rows((which + seen).tolist()))

        columns = self._columns(seen, count, wanted | self._judging)
        unfit = self._judge.unfit(columns)
        judged = self._judge.judge(columns, wanted, unfit, seen, cursor.largest, rows_at)
        return Slice(
            judged.rows,
            judged.late,
            judged.rejects,
            _at(seen + count, judged.largest, cursor) if count else cursor,
            at_end=count < rows,
        )

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        """The same rows in slices that are quickly made."""
        while rows:
            size = min(rows, _ROWS_AT_ONCE)
            part = self.read(cursor, size)
            yield part
            rows -= size
            if part.at_end:
                return
            cursor = part.cursor

    def cuts(self, cursor: Cursor, rows: int, parts: int) -> tuple[int, ...]:
        """So many rows in parts of the same size."""
        left = self._end(cursor) - cursor.seen
        if left <= rows:  # all that is left: one row more finds the end
            rows = left + 1
        ends = [rows * part // parts for part in range(parts + 1)]
        return tuple(end - start for start, end in pairwise(ends) if end > start)

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor:
        """Where a slice of so many rows would end."""
        behind = min(cursor.seen + rows, self._end(cursor))
        if behind <= cursor.seen:
            return cursor
        end = behind
        while end > cursor.seen:
            start = max(cursor.seen, end - _LOOK_BACK)
            columns = self._columns(start, end - start, self._judging)
            largest = self._judge.largest(columns, self._judge.unfit(columns))
            if largest is not None:  # times never fall
                known = cursor.largest
                return _at(behind, largest if known is None else max(known, largest), cursor)
            end = start
        return _at(behind, cursor.largest, cursor)

    def _end(self, cursor: Cursor) -> int:
        """How many rows there are, or have come so far."""
        length = self._made.length
        return length if cursor.limit is None else min(length, cursor.limit)

    def _columns(self, first: int, count: int, which: frozenset[int]) -> SomeColumns:
        places = sorted(which)
        made = self._made.columns(first, count, places)
        declared = self._stream.columns
        pairs = zip(places, made, strict=True)
        return {i: _vector(column, declared[i].type) for i, column in pairs}


def _at(seen: int, largest: int | None, before: Cursor) -> Cursor:
    return Cursor(offset=seen, seen=seen, largest=largest, limit=before.limit)


def _vector(column: Column, type_: Type) -> Vector:
    valid: Mask | None = None if column.missing is None else ~column.missing
    if column.words is not None:
        places = pa.array(column.data, mask=column.missing)
        return from_stored(pa.array(column.words).take(places), type_)
    data = column.data.astype(FIXED[type_], copy=False)
    return Vector(type_, data if valid is None else np.where(valid, data, 0), valid)
