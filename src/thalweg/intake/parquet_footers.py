"""What the footer of a Parquet file says about its rows, before any of them is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.intake.file_columns import always_fits
from thalweg.sources import ReadRequest
from thalweg.sources.parquet import ParquetRows
from thalweg.types import INTEGER_BITS, TIMESTAMP, Type, is_integral


@dataclass(frozen=True, slots=True)
class Footer:
    """A file: how many rows each group has, and which columns judge a row.

    These are the event time and every column that may hold a value or a NULL that
    does not fit. `times` has, by group, the least and the largest time, where the footer
    shows them.
    """

    path: Path
    groups: tuple[int, ...]
    judging: tuple[int, ...]
    times: tuple[tuple[int, int] | None, ...]

    def largest(self, group: int) -> int | None:
        """The largest time of the rows that enter, where the footer alone shows it."""
        times = self.times[group]
        return None if times is None or len(self.judging) > 1 else times[1]

    @property
    def rows(self) -> int:
        return sum(self.groups)

    def group_of(self, row: int) -> int:
        """The group of a row, counted from 0; behind the last one, their number."""
        for number, rows in enumerate(self.groups):
            if row < rows:
                return number
            row -= rows
        return len(self.groups)


def footer_of(file: ParquetRows, request: ReadRequest, time: int, last: int) -> Footer:
    """`time` is the column of event times, and `last` the last one that can be."""
    columns = _Columns(file, request)
    judging = [
        i
        for i in range(len(request.columns))
        if i == time or not columns.fits(i) or (i in request.required and not columns.is_full(i))
    ]
    groups = tuple(
        file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)
    )
    shown = columns.shows_times(time)
    return Footer(
        file.path,
        groups,
        tuple(judging),
        tuple(columns.times(time, group, last) if shown else None for group in range(len(groups))),
    )


class _Columns:
    """The declared columns of a file, as its footer describes them."""

    def __init__(self, file: ParquetRows, request: ReadRequest) -> None:
        self._file, self._request, self._metadata = file, request, file.metadata
        schema = self._metadata.schema
        paths = [schema.column(leaf).path for leaf in range(len(schema))]
        # A column "a.b" and a field b of a column a are written alike.
        self._leaves = {p: leaf for leaf, p in enumerate(paths) if paths.count(p) == 1}

    def fits(self, i: int) -> bool:
        """Whether every value of a column is one of the declared type."""
        given, declared = self._types(i)
        if always_fits(given, declared, self._request.zone):
            return True
        if not (is_integral(declared) and pa.types.is_signed_integer(given)):
            return False
        limit = 1 << (INTEGER_BITS[declared] - 1)
        return all(
            statistics is not None
            and statistics.has_min_max
            and -limit <= statistics.min_raw
            and statistics.max_raw < limit
            for statistics in self._statistics(i)
        )

    def is_full(self, i: int) -> bool:
        """Whether the footer shows that no value of a column is NULL."""
        return self._file.types[i] != pa.null() and all(
            statistics is not None and statistics.has_null_count and not statistics.null_count
            for statistics in self._statistics(i)
        )

    def shows_times(self, i: int) -> bool:
        """Whether numbers in the footer are event times as they stand."""
        leaf = self._leaves.get(self._file.names[i])
        if leaf is None:
            return False
        given, declared = self._types(i)
        column = self._metadata.schema.column(leaf)
        if declared != TIMESTAMP:
            return bool(pa.types.is_signed_integer(given))
        stored = json.loads(column.logical_type.to_json())
        return bool(
            column.physical_type == "INT64"
            and stored.get("timeUnit") == "microseconds"
            and given == pa.timestamp("us", given.tz)
            and always_fits(given, declared, self._request.zone)
        )

    def times(self, i: int, group: int, last: int) -> tuple[int, int] | None:
        statistics = self._of(i, group)
        if statistics is None or not statistics.has_min_max:
            return None
        least, most = int(statistics.min_raw), int(statistics.max_raw)
        return (least, most) if -last <= least and most <= last else None

    def _types(self, i: int) -> tuple[pa.DataType, Type]:
        return self._file.types[i], self._request.columns[i].type

    def _statistics(self, i: int) -> list[pq.Statistics | None]:
        return [self._of(i, group) for group in range(self._metadata.num_row_groups)]

    def _of(self, i: int, group: int) -> pq.Statistics | None:
        leaf = self._leaves.get(self._file.names[i])
        if leaf is None:
            return None
        chunk = self._metadata.row_group(group).column(leaf)
        return chunk.statistics if chunk.is_stats_set else None
