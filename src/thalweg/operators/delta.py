"""Changes of a relation, as rows with the stretch of time in which they count.

A relation that changes over time is the sum of its rows: each counts `weight`
times at every instant from `start` up to, not including, `end`. A row whose end
is not known yet has the end FOREVER; when it leaves at t, the same row follows
with the negative weight from t on. Rows may come in any order: operators that
are linear (filters, projections, unions, inner joins) need none, the others wait
until the promises of their inputs have passed an instant.

Streams are written in the same way; there `start` is the instant of an element
and `end` means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thalweg.types import Schema
from thalweg.vector.column import Columns, Index, Mask, Vector, empty, joined

Times = npt.NDArray[np.int64]

FOREVER = 2**63 - 1
BEFORE_TIME = -(2**63)


@dataclass(frozen=True, slots=True)
class Delta:
    """`position` is the place in the source of rows that come straight from one."""

    columns: Columns
    start: Times
    end: Times
    weight: Times
    position: Times | None = None

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: Index, needed: frozenset[int] | None = None) -> Delta:
        """Some rows; columns that are not needed, if that is known, stand empty."""
        start = self.start.take(rows)

        def column(i: int, own: Vector) -> Vector:
            if needed is not None and i not in needed:
                return empty(own.type)
            if own.data is self.start and own.valid is None:
                return Vector(own.type, start)
            return own.take(rows)

        return Delta(
            tuple(column(i, own) for i, own in enumerate(self.columns)),
            start,
            start if self.end is self.start else self.end.take(rows),
            self.weight.take(rows),
            None if self.position is None else self.position.take(rows),
        )

    def part(self, rows: slice) -> Delta:
        """Consecutive rows, not copied."""
        return Delta(
            tuple(column.part(rows) for column in self.columns),
            self.start[rows],
            self.end[rows],
            self.weight[rows],
            None if self.position is None else self.position[rows],
        )

    def where(self, keep: Mask) -> Delta:
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def with_columns(self, columns: Columns) -> Delta:
        return replace(self, columns=columns)


def nothing(schema: Schema) -> Delta:
    none = np.empty(0, np.int64)
    return Delta(tuple(empty(field.type) for field in schema), none, none, none)


def combined(parts: Sequence[Delta], schema: Schema) -> Delta:
    """Several changes of one relation as one."""
    some = [part for part in parts if len(part)]
    if not some:
        return nothing(schema)
    if len(some) == 1:
        return some[0]
    positions = [part.position for part in some]
    start = np.concatenate([part.start for part in some])
    is_start = [
        all(p.columns[i].data is p.start and p.columns[i].valid is None for p in some)
        for i in range(len(schema))
    ]
    return Delta(
        tuple(
            Vector(field.type, start) if is_start[i] else joined([part.columns[i] for part in some])
            for i, field in enumerate(schema)
        ),
        start,
        start
        if all(part.end is part.start for part in some)
        else np.concatenate([part.end for part in some]),
        np.concatenate([part.weight for part in some]),
        np.concatenate([p for p in positions if p is not None])
        if all(p is not None for p in positions)
        else None,
    )


def one_by_one(elements: Delta) -> Delta:
    """Equal elements of one instant as several."""
    if (elements.weight == 1).all():
        return elements
    repeated = elements.take(np.repeat(np.arange(len(elements)), elements.weight))
    return replace(repeated, weight=np.ones(len(repeated), np.int64))


def later(times: Times, ticks: int | Times) -> Times:
    """Instants moved by a number of ticks, FOREVER where that is beyond time."""
    moved = times + ticks
    return np.where(moved < times, FOREVER, moved)


def scaled(times: Times, scale: int) -> Times:
    """Instants in a finer tick, FOREVER or BEFORE_TIME where that is beyond time."""
    if scale == 1:
        return times
    limit = FOREVER // scale
    later_or_inside = np.where(times > limit, FOREVER, times * scale)
    return np.where(times < -limit, BEFORE_TIME, later_or_inside)
