"""The rows of one input of a join that may still meet others, and indexes on them."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from thalweg.kernels.probe import END, KEY, START, link_records, probe_records
from thalweg.kernels.slots import grown
from thalweg.operators.delta import Delta, Times
from thalweg.types import ArrayType, Schema, StructType
from thalweg.values import sort_key
from thalweg.vector.column import FIXED, Columns, Mask, Vector, empty, joined
from thalweg.vector.hashing import hash_column, hash_columns

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ROOM = 64


class Index:
    """Rows by the values of some of their columns."""

    def __init__(self, columns: tuple[int, ...]) -> None:
        self._columns = columns
        self._records = np.zeros((_ROOM, 4), np.int64)
        self._heads = np.full(_ROOM, -1, np.int32)
        self._length = 0

    def add(self, delta: Delta) -> None:
        first, end = self._length, self._length + len(delta)
        if end > len(self._records):
            self._records = grown(self._records, max(2 * len(self._records), end))
        fresh = self._records[first:end]
        keys = tuple(delta.columns[i] for i in self._columns)
        fresh[:, KEY] = hash_columns(keys, len(delta)) if keys else 0
        fresh[:, START] = delta.start
        fresh[:, END] = delta.end
        self._length = end
        if end > len(self._heads):
            self._relink()
        else:
            link_records(self._records, self._buckets(fresh[:, KEY]), self._heads, first)

    def keep(self, rows: Mask) -> None:
        """Forget all other rows."""
        kept = self._records[: self._length][rows]
        self._length = len(kept)
        self._records = grown(kept, max(_ROOM, 2 * len(kept)))
        self._relink()

    def _relink(self) -> None:
        self._heads = np.full(max(_ROOM, 1 << self._length.bit_length()), -1, np.int32)
        buckets = self._buckets(self._records[: self._length, KEY])
        link_records(self._records, buckets, self._heads, 0)

    def _buckets(self, keys: Times) -> Times:
        shift = np.uint64(64 - (len(self._heads).bit_length() - 1))
        return (np.ascontiguousarray(keys).view(np.uint64) * _ODD >> shift).view(np.int64)

    def probe(self, keys: Columns, start: Times, end: Times) -> tuple[Times, Times, Times, Times]:
        """Pairs (probing row, own row) that may be equal, and where they meet in time."""
        hashes = hash_columns(keys, len(start)) if keys else np.zeros(len(start), np.int64)
        buckets = self._buckets(hashes)
        room, row = max(_ROOM, len(start)), 0
        lefts, rights = [], []
        while row < len(start):
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            found, stopped = probe_records(
                hashes, buckets, start, end, self._records, self._heads, row, left, right
            )
            lefts.append(left[:found])
            rights.append(right[:found])
            # A row with more partners than there was room for needs more of it.
            room *= 2
            row = stopped
        mine, theirs = np.concatenate(lefts), np.concatenate(rights)
        return (
            mine,
            theirs,
            np.maximum(start[mine], self._records[theirs, START]),
            np.minimum(end[mine], self._records[theirs, END]),
        )


class GrowingColumn:
    """A column that is appended to."""

    def __init__(self, like: Vector) -> None:
        self._type = like.type
        self._parts = [like]
        self._length = 0
        self._valid: Mask | None = None
        self._data = np.zeros(_ROOM, FIXED[like.type]) if like.is_fixed else None

    def add(self, column: Vector) -> None:
        end = self._length + len(column)
        if self._data is None:
            self._parts.append(column)
        else:
            if end > len(self._data):
                self._data = grown(self._data, max(2 * len(self._data), end))
            self._data[self._length : end] = column.data
            if column.valid is not None or self._valid is not None:
                self._add_valid(column, end)
        self._length = end

    def _add_valid(self, column: Vector, end: int) -> None:
        assert self._data is not None, "only columns of fixed width have a mask"
        if self._valid is None:
            self._valid = np.ones(len(self._data), np.bool_)
        elif len(self._valid) < len(self._data):
            self._valid = grown(self._valid, len(self._data))
        self._valid[self._length : end] = column.present()

    def view(self) -> Vector:
        if self._data is None:
            self._parts = [joined(self._parts)]
            return self._parts[0]
        valid = None if self._valid is None else self._valid[: self._length]
        return Vector(self._type, self._data[: self._length], valid)

    def keep(self, rows: Mask) -> None:
        kept = self.view().where(rows)
        self._length = 0
        self._valid = None
        self._parts = [empty(self._type)]
        if self._data is not None:
            self._data = np.zeros(max(_ROOM, 2 * len(kept)), self._data.dtype)
        self.add(kept)


class Store:
    def __init__(self, schema: Schema) -> None:
        self._columns = [GrowingColumn(empty(field.type)) for field in schema]
        self._ends = GrowingNumbers()
        self._weights = GrowingNumbers()
        self.indexes: dict[tuple[int, ...], Index] = {}

    def add(self, delta: Delta) -> None:
        for column, new in zip(self._columns, delta.columns, strict=True):
            column.add(new)
        self._ends.add(delta.end)
        self._weights.add(delta.weight)
        for index in self.indexes.values():
            index.add(delta)

    @property
    def weights(self) -> Times:
        return self._weights.view()

    def column(self, i: int) -> Vector:
        return self._columns[i].view()

    def purge(self, before: int) -> None:
        """Drop rows that have ended; done when that makes room for half."""
        ends = self._ends.view()
        live = ends > before
        if 2 * int(np.count_nonzero(live)) > len(ends) or not len(ends):
            return
        for column in self._columns:
            column.keep(live)
        for numbers in (self._ends, self._weights):
            numbers.keep(live)
        for index in self.indexes.values():
            index.keep(live)


class GrowingNumbers:
    """64-bit numbers that are appended to."""

    def __init__(self) -> None:
        self._data = np.zeros(_ROOM, np.int64)
        self._length = 0

    def add(self, numbers: Times) -> None:
        end = self._length + len(numbers)
        if end > len(self._data):
            self._data = grown(self._data, max(2 * len(self._data), end))
        self._data[self._length : end] = numbers
        self._length = end

    def view(self) -> Times:
        return self._data[: self._length]

    def keep(self, rows: Mask) -> None:
        kept = self.view()[rows]
        self._data = grown(kept, max(_ROOM, 2 * len(kept)))
        self._length = len(kept)


def equal_values(a: Vector, b: Vector) -> Mask:
    """Where two columns without NULLs have the same value."""
    if isinstance(a.data, np.ndarray):
        alike: Mask = hash_column(a) == hash_column(b)
        return alike
    if isinstance(a.type, ArrayType | StructType):
        pairs = zip(a.values(), b.values(), strict=True)
        return np.array([sort_key(x) == sort_key(y) for x, y in pairs], np.bool_)
    same: Mask = pc.equal(a.data, b.data).fill_null(False).to_numpy(zero_copy_only=False)
    return same
