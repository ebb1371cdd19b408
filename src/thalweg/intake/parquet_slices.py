"""Parquet files in slices, column by column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from thalweg.catalog import Stream
from thalweg.intake.file_columns import ConvertColumn, column_converter
from thalweg.intake.judge import Judge, Judged, SomeColumns, either
from thalweg.intake.parquet_footers import Footer, footer_of
from thalweg.intake.slices import Cursor, Slice, files_at, together
from thalweg.sources import Accepted, ReadRequest, Reject
from thalweg.sources.parquet import ParquetRows
from thalweg.units import Unit
from thalweg.vector.column import Index, Mask, Vector

# How many rows are decoded at once, whatever the slices. (m) A slice of one large
# piece is not copied: 19-23 M rows/s of three columns on one core, against 14-16 M
# in pieces of 65,536 rows that are put together.
_FEWEST_AT_ONCE, _MOST_AT_ONCE = 1 << 16, 1 << 20
# Pieces with fewer rows are put together: a slice costs some 0.2 ms whatever it holds.
_WORTH_A_SLICE = 1 << 14


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some rows of one file, the first of them number `first`; `index` is the file's.

    `converts` are how the columns of the batch become declared ones, by their place there.
    """

    index: int
    file: ParquetRows
    converts: dict[int, ConvertColumn]
    first: int
    batch: pa.RecordBatch

    def head(self, rows: int) -> _Piece:
        return replace(self, batch=self.batch.slice(0, rows))

    def tail(self, rows: int) -> _Piece:
        return replace(self, first=self.first + rows, batch=self.batch.slice(rows))

    def rows(self, which: Index) -> list[Accepted | Reject]:
        """Some of the rows, whole and one by one; columns that were left out are read now."""
        numbers = which + self.first
        if len(self.converts) == len(self.file.names):
            return list(self.file.rows(_some(self.batch, which), numbers.tolist()))
        found: list[Accepted | Reject] = []
        for first, batch in self.file.batches(int(numbers[0]) - 1):
            own = numbers[(numbers >= first) & (numbers < first + len(batch))]
            if len(own):
                found += self.file.rows(_some(batch, own - first), own.tolist())
            if len(found) == len(numbers):
                break
        return found


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows of one group that follow `before` others of their file.

    `largest` is the largest time of those that fit, where it is known; `times` are the least
    and the largest of the whole group.
    """

    index: int
    footer: Footer
    before: int
    rows: int
    largest: int | None
    times: tuple[int, int] | None

    def behind(self, cursor: Cursor, largest: int | None) -> Cursor:
        """The cursor behind these rows, after which time has come to `largest`."""
        offset = self.before + self.rows
        return _behind(cursor, self.index, self.footer.path, offset, self.rows, largest)


class ParquetSlices:
    """`columns` are those that are wanted. Others are decoded only where they judge rows."""

    def __init__(
        self, request: ReadRequest, stream: Stream, finest: Unit, columns: frozenset[int]
    ) -> None:
        self._request, self._stream = request, stream
        self._columns = columns
        self._judge = Judge(stream, request.required, finest)
        self._footers: dict[Path, Footer] = {}
        self._at: Cursor | None = None
        self._pieces: Iterator[_Piece] = iter(())
        self._left: _Piece | None = None

    def read(self, cursor: Cursor, rows: int) -> Slice:
        return self._read(cursor, rows, rows)

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        """The same rows in slices as they are decoded, so that large ones need not be joined."""
        while rows:
            part = self._read(cursor, rows, _WORTH_A_SLICE)
            yield part
            rows -= part.cursor.seen - cursor.seen
            if part.at_end:
                return
            cursor = part.cursor

    def _read(self, cursor: Cursor, rows: int, enough: int) -> Slice:
        self._go_to(cursor, rows)
        self._at = None  # until all is well: an iterator that failed is of no use
        parts: list[Judged] = []
        reached, at_end = cursor, False
        while not at_end and reached.seen - cursor.seen < min(rows, enough):
            piece = self._next(rows - (reached.seen - cursor.seen))
            if piece is None:
                at_end = True
                continue
            columns, unfit = self._columns_of(piece)
            seen, largest = reached.seen, reached.largest
            part = self._judge.judge(columns, self._columns, unfit, seen, largest, piece.rows)
            parts.append(part)
            rows_read = len(piece.batch)
            last_row = piece.first + rows_read - 1
            reached = _behind(
                reached, piece.index, piece.file.path, last_row, rows_read, part.largest
            )
        if not at_end:
            self._at = reached
        return Slice(
            together([part.rows for part in parts], self._stream.columns),
            [row for part in parts for row in part.late],
            [row for part in parts for row in part.rejects],
            reached,
            at_end,
        )

    # Without reading rows

    def cuts(self, cursor: Cursor, rows: int, parts: int) -> tuple[int, ...]:
        """About so many rows in parts of about the same size, cut between groups of rows
        where these end nearby: a group is decoded from its beginning."""
        near = rows // parts // 4
        ends, left = [0], 0
        for stretch in self._stretches(cursor, rows + near + 1):
            left += stretch.rows
            ends.append(left)
        if left <= rows + near:  # all that is left: one row more finds the end
            return _part_sizes([*_near(ends, left, parts, near)[:-1], left + 1])
        return _part_sizes(_near(ends[:-1], rows, parts, near))

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor:
        """Where a slice of so many rows would end, seen from the columns that judge rows.

        If no row that is `following` is before any of these, they cannot make it late, and
        need not be looked at; how far time has come is left as it was then.
        """
        stretches = list(self._stretches(cursor, rows))
        behind = cursor
        for stretch in stretches:
            behind = stretch.behind(behind, cursor.largest)
        if _are_later(self._stretches(behind, following), stretches):
            return behind
        for stretch in stretches:
            largest = stretch.largest
            if largest is None:
                largest = self._largest(stretch)
            if cursor.largest is not None and (largest is None or largest < cursor.largest):
                largest = cursor.largest
            cursor = stretch.behind(cursor, largest)
        return cursor

    def _stretches(self, cursor: Cursor, rows: int) -> Iterator[_Stretch]:
        """The next rows, group by group."""
        files = files_at(self._request, cursor)
        before = cursor.offset
        for index, path in enumerate(files[cursor.file :], cursor.file):
            footer = self._footer(path)
            first = 0
            for group, size in enumerate(footer.groups):
                start, end = max(first, before), min(first + size, max(first, before) + rows)
                if start < end:
                    largest = footer.largest(group) if end - start == size else None
                    yield _Stretch(index, footer, start, end - start, largest, footer.times[group])
                    rows -= end - start
                first += size
                if not rows:
                    return
            before = 0

    def _footer(self, path: Path) -> Footer:
        if path not in self._footers:
            with ParquetRows(path, self._request) as file:
                return self._footer_of(file)
        return self._footers[path]

    def _footer_of(self, file: ParquetRows) -> Footer:
        known = self._footers.get(file.path)
        if known is None:
            judge = self._judge
            known = footer_of(file, self._request, judge.time_column, judge.last_time)
            self._footers[file.path] = known
        return known

    def _largest(self, stretch: _Stretch) -> int | None:
        """The largest time of the rows that fit."""
        largest: int | None = None
        left = stretch.rows
        with ParquetRows(stretch.footer.path, self._request) as file:
            judging = self._converts(file, stretch.footer.judging)
            at_once = min(left, _MOST_AT_ONCE)
            for first, batch in file.batches(stretch.before, at_once, stretch.footer.judging):
                piece = _Piece(stretch.index, file, judging, first, batch.slice(0, left))
                highest = self._judge.largest(*self._columns_of(piece))
                if highest is not None:
                    largest = highest if largest is None else max(largest, highest)
                left -= len(piece.batch)
                if not left:
                    break
        return largest

    # Reading rows

    def _go_to(self, cursor: Cursor, rows: int) -> None:
        """Be at a cursor: by going on in what is open where that is no detour, else anew."""
        skipped = None if self._at is None else self._between(self._at, cursor)
        if skipped is None:
            at_once = min(max(rows, _FEWEST_AT_ONCE), _MOST_AT_ONCE)
            self._pieces, self._left = self._pieces_from(cursor, at_once), None
            return
        while skipped:
            piece = self._next(skipped)
            assert piece is not None, "a group of rows has the rows that its file says"
            skipped -= len(piece.batch)

    def _between(self, here: Cursor, there: Cursor) -> int | None:
        """How many rows to skip in one group of rows; None if it is not one."""
        if here.file != there.file or here.name != there.name or here.offset > there.offset:
            return None
        if here.limit != there.limit:  # what is open knows of fewer files
            return None
        if here.offset < there.offset:
            footer = self._footer(files_at(self._request, there)[there.file])
            if footer.group_of(here.offset) != footer.group_of(there.offset):
                return None
        return there.offset - here.offset

    def _pieces_from(self, cursor: Cursor, at_once: int) -> Iterator[_Piece]:
        files = files_at(self._request, cursor)
        before = cursor.offset
        for index, path in enumerate(files[cursor.file :], cursor.file):
            with ParquetRows(path, self._request) as file:
                needed = sorted(self._columns.union(self._footer_of(file).judging))
                converts = self._converts(file, needed)
                for first, batch in file.batches(before, at_once, needed):
                    yield _Piece(index, file, converts, first, batch)
            before = 0

    def _converts(self, file: ParquetRows, columns: Iterable[int]) -> dict[int, ConvertColumn]:
        zone, declared = self._request.zone, self._stream.columns
        return {
            i: column_converter(
                file.types[i], declared[i].type, zone, file.forms[i], file.converts[i]
            )
            for i in columns
        }

    def _next(self, most: int) -> _Piece | None:
        piece = self._left or next(self._pieces, None)
        self._left = None
        if piece is not None and len(piece.batch) > most:
            self._left = piece.tail(most)
            return piece.head(most)
        return piece

    def _columns_of(self, piece: _Piece) -> tuple[SomeColumns, Mask | None]:
        """The columns of a piece, and the rows that do not fit."""
        columns: dict[int, Vector] = {}
        wrong: Mask | None = None
        for at, (i, convert) in enumerate(piece.converts.items()):
            columns[i], unfit = convert(piece.batch.column(at))
            wrong = either(wrong, unfit)
        return columns, self._judge.unfit(columns, wrong)


def _are_later(following: Iterable[_Stretch], stretches: Iterable[_Stretch]) -> bool:
    """Whether footers show that no row of the ones is before any row of the others."""
    theirs = [stretch.times for stretch in following]
    ours = [stretch.times for stretch in stretches]
    firsts = [times[0] for times in theirs if times is not None]
    lasts = [times[1] for times in ours if times is not None]
    known = len(firsts) == len(theirs) > 0 and len(lasts) == len(ours) > 0
    return known and min(firsts) >= max(lasts)


def _behind(
    cursor: Cursor, index: int, path: Path, offset: int, rows: int, largest: int | None
) -> Cursor:
    """The cursor some rows further on, behind a row of a file."""
    seen = cursor.seen + rows
    return Cursor(index, path.name, offset, seen=seen, largest=largest, limit=cursor.limit)


def _near(ends: list[int], rows: int, parts: int, near: int) -> list[int]:
    """Where the parts of some rows end: at one of `ends` if it is near, else where they must."""
    found = [0]
    for part in range(1, parts + 1):
        wanted = rows * part // parts
        closest = min(ends, key=lambda end: abs(end - wanted))
        found.append(closest if abs(closest - wanted) <= near else wanted)
    return found


def _part_sizes(ends: list[int]) -> tuple[int, ...]:
    return tuple(end - start for start, end in pairwise(ends) if end > start)


def _some(batch: pa.RecordBatch, rows: Index) -> pa.RecordBatch:
    try:
        return batch.take(pa.array(rows))
    except pa.ArrowNotImplementedError:  # views of texts cannot be taken
        return pa.concat_batches([batch.slice(row, 1) for row in rows.tolist()])
