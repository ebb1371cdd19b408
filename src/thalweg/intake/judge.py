"""Which rows of some columns enter a stream.

Rows that do not fit are known from whole columns, late ones from the running maximum
of the times. A late row is below the maximum, so it does not raise it, and the maximum
is that of all rows that fit. Only the rows that do not enter are ever looked at one by
one, by the same code that judges rows of text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from thalweg.catalog import Stream
from thalweg.intake.accept import Accepting
from thalweg.intake.file_columns import outside
from thalweg.intake.lateness import late_of
from thalweg.operators.delta import Delta, Times
from thalweg.sources import Accepted, Reject
from thalweg.units import LAST_INSTANT, Unit
from thalweg.vector.column import Index, Mask, Vector, empty

# Some of a stream's columns, by their places.
SomeColumns = Mapping[int, Vector]
# Some rows of a source, whole and one by one.
RowsAt = Callable[[Index], list[Accepted | Reject]]


@dataclass(frozen=True, slots=True)
class Judged:
    """The rows that enter, those that do not, and the largest time so far."""

    rows: Delta
    late: list[Accepted]
    rejects: list[Reject]
    largest: int | None


class Judge:
    """`required` are columns without NULLs; `finest` is the shortest tick of a query."""

    def __init__(self, stream: Stream, required: frozenset[int], finest: Unit) -> None:
        assert stream.time_column is not None, f"{stream.name} gets its times beside the columns"
        self._stream, self._finest = stream, finest
        self.time_column = stream.time_column
        self._full = required | {stream.time_column}
        self.last_time = LAST_INSTANT // Accepting(stream, finest).ticks

    def unfit(self, columns: SomeColumns, wrong: Mask | None = None) -> Mask | None:
        """The rows that have something where it must not be; `wrong` are known already."""
        for i, column in columns.items():
            if i in self._full and column.has_nulls:
                wrong = either(wrong, ~column.present())
        times = self.times(columns)
        return either(wrong, outside(times, -self.last_time, self.last_time))

    def times(self, columns: SomeColumns) -> Times:
        data = columns[self.time_column].data
        assert isinstance(data, np.ndarray), "times are numbers"
        return data.astype(np.int64, copy=False)

    def largest(self, columns: SomeColumns, unfit: Mask | None) -> int | None:
        """The largest time of the rows that fit."""
        times = self.times(columns)
        if unfit is not None:
            times = times[~unfit]
        return int(times.max()) if len(times) else None

    def judge(
        self,
        columns: SomeColumns,
        wanted: frozenset[int],
        unfit: Mask | None,
        seen: int,
        largest: int | None,
        rows_at: RowsAt,
    ) -> Judged:
        """Rows that follow `seen` others, of which `largest` is the largest time."""
        times = self.times(columns)
        position = np.arange(seen + 1, seen + 1 + len(times), dtype=np.int64)
        rows = Delta(
            tuple(
                columns[i] if i in wanted else empty(field.type)
                for i, field in enumerate(self._stream.columns)
            ),
            times,
            times,
            np.ones(len(times), np.int64),
            position,
        )
        if unfit is not None:
            rows = _taken(rows, wanted, np.flatnonzero(~unfit))
        late, largest = late_of(rows.start, largest, self._stream.slack)
        late_rows: list[Accepted] = []
        if late is not None:
            assert rows.position is not None, "rows of a source have positions"
            late_rows = _accepted(rows_at(rows.position[late] - seen - 1))
            rows = _taken(rows, wanted, np.flatnonzero(~late))
        rejects = [] if unfit is None else self._rejects(rows_at(np.flatnonzero(unfit)))
        return Judged(rows, late_rows, rejects, largest)

    def _rejects(self, rows: list[Accepted | Reject]) -> list[Reject]:
        state = Accepting(self._stream, self._finest)
        for row in rows:
            state.judge(row)
        assert not state.arrivals, "a row whose columns do not fit is rejected"
        assert not state.late, "a row whose columns do not fit is rejected"
        return state.rejects


def _accepted(rows: list[Accepted | Reject]) -> list[Accepted]:
    accepted = [row for row in rows if isinstance(row, Accepted)]
    assert len(accepted) == len(rows), "a row whose columns fit is not rejected"
    return accepted


def _taken(rows: Delta, wanted: frozenset[int], which: Index) -> Delta:
    """Some rows; columns that are not wanted stay empty."""
    known = rows.with_columns(tuple(rows.columns[i] for i in sorted(wanted))).take(which)
    columns = dict(zip(sorted(wanted), known.columns, strict=True))
    return known.with_columns(tuple(columns.get(i, c) for i, c in enumerate(rows.columns)))


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return one if other is None else other
    return one | other
