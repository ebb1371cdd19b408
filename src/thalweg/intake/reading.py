"""A stream's source in slices of columns, from any place on.

The slices, one after the other, have exactly the rows that `accept` gives for the
whole source: the same arrivals at the same positions, the same late rows and
rejects. How a source is cut never shows, and neither does whether one reader read
all of it or another one went on from a cursor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Protocol

from thalweg.catalog import Stream
from thalweg.intake.accept import Accepting
from thalweg.intake.generator_slices import GeneratorSlices
from thalweg.intake.parquet_slices import ParquetSlices
from thalweg.intake.slices import Cursor, Slice, as_delta, files_at
from thalweg.sources import SOURCES, Accepted, Mark, ReadRequest, Reject
from thalweg.sources.base import BEGINNING
from thalweg.units import Unit

__all__ = ["Cursor", "Slice", "StreamReader", "as_delta"]


# A part of a batch with fewer rows costs more to start than to read.
_FEWEST_ROWS_OF_A_PART = 50_000


class _Slices(Protocol):
    def read(self, cursor: Cursor, rows: int) -> Slice: ...


class _CutSlices(_Slices, Protocol):
    """Slices that begin behind rows which nobody has read."""

    def cuts(self, cursor: Cursor, rows: int, parts: int) -> tuple[int, ...]: ...

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor: ...

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]: ...


_CUT_SLICES: dict[str, Callable[[ReadRequest, Stream, Unit, frozenset[int]], _CutSlices]] = {
    "parquet": ParquetSlices,
    "generator": GeneratorSlices,
}


class StreamReader:
    """Reads a stream's source, slice after slice.

    Files stay open from one slice to the next that goes on where it ended; any other
    cursor is found anew. `finest` is the shortest tick that a query may have. `columns`
    are those that somebody reads, or None for all: others are left empty where that
    saves work, but rows are accepted or not as if they were there.
    """

    def __init__(
        self,
        request: ReadRequest,
        stream: Stream,
        finest: Unit,
        columns: frozenset[int] | None = None,
    ) -> None:
        assert stream.time_column is not None, f"{stream.name} gets its times beside the columns"
        self._slices: _Slices
        self._cut_slices: _CutSlices | None = None
        cut = _CUT_SLICES.get(request.connector.name)
        if cut is not None:
            wanted = frozenset(range(len(stream.columns))) if columns is None else columns
            self._slices = self._cut_slices = cut(request, stream, finest, wanted)
        else:
            self._slices = _RowSlices(request, stream, finest)

    def read(self, cursor: Cursor, rows: int) -> Slice:
        """The next `rows` rows, accepted or not; fewer only at the end."""
        assert rows > 0, "a slice has rows"
        return self._slices.read(cursor, rows)

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        """The next `rows` rows in as many slices as are convenient."""
        if self._cut_slices is None:
            yield self.read(cursor, rows)
        else:
            yield from self._cut_slices.slices(cursor, rows)

    def cuts(self, cursor: Cursor, rows: int, parallel: int) -> tuple[int, ...]:
        """The next `rows` rows, about, as parts for several readers: the rows of each."""
        parts = min(parallel, rows // _FEWEST_ROWS_OF_A_PART)
        if self._cut_slices is None or parts <= 1:
            return (rows,)
        return self._cut_slices.cuts(cursor, rows, parts)

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor:
        """The cursor behind the next rows, which are another reader's; see `Reader`."""
        if not rows:
            return cursor
        assert self._cut_slices is not None, "only what can be cut is read in parts"
        return self._cut_slices.ahead(cursor, rows, following)


# A row, and the place behind it: the file's place and name, and the mark in it.
_Placed = tuple[Accepted | Reject, int, str | None, Mark]


class _RowSlices:
    """A source that gives its rows one by one: text, and what has no files."""

    def __init__(self, request: ReadRequest, stream: Stream, finest: Unit) -> None:
        self._request, self._stream, self._finest = request, stream, finest
        self._at: Cursor | None = None
        self._rows: Iterator[_Placed] = iter(())

    def read(self, cursor: Cursor, rows: int) -> Slice:
        if cursor != self._at:
            self._rows = self._rows_from(cursor)
        self._at = None  # until all is well: an iterator that failed is of no use
        state = Accepting(self._stream, self._finest, cursor.largest, cursor.seen)
        reached = cursor
        for row, index, name, mark in islice(self._rows, rows):
            state.judge(row)
            place = index, name, mark.offset, mark.line
        if state.seen > cursor.seen:
            reached = Cursor(*place, state.seen, state.largest, cursor.limit)
        at_end = state.seen - cursor.seen < rows
        if not at_end:
            self._at = reached
        return Slice(
            as_delta(state.arrivals, self._stream.columns),
            state.late,
            state.rejects,
            reached,
            at_end,
        )

    def _rows_from(self, cursor: Cursor) -> Iterator[_Placed]:
        kind = SOURCES[self._request.connector.name]
        if kind.read_on is None:
            every = kind.read(self._request)
            for number, row in enumerate(islice(every, cursor.offset, None), cursor.offset + 1):
                yield row, 0, None, Mark(number)
            return
        files = files_at(self._request, cursor)
        mark = cursor.mark
        for index, path in enumerate(files[cursor.file :], cursor.file):
            for row, behind in kind.read_on(path, self._request, mark):
                yield row, index, path.name, behind
            mark = BEGINNING
