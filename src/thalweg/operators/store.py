"""The rows of one input of a join that may still meet others, and indexes on them.

Rows lie in a ring, in the order in which they came. Most end in that order too, and
are forgotten by moving the head of the ring: nothing is copied, and no index is told.
What the columns say twice is stored once: a key lies in its index, and an event time
is mostly the row's start.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.kernels.probe import (
    END,
    KEY,
    NUMBERS,
    START,
    first_above,
    first_matches,
    link_records,
    probe_records,
)
from thalweg.operators.delta import FOREVER, Delta, Times, later
from thalweg.types import ArrayType, Schema, StructType, Type
from thalweg.values import sort_key
from thalweg.vector.column import FIXED, Columns, Mask, Vector, empty
from thalweg.vector.hashing import hash_column, hash_columns

_ROOM = 64
# How much larger a ring becomes when it is full.
_GROWTH = 1.25
_ANYWHERE = np.empty(0, np.int64)


class Ring:
    """Which slots are in use: `count` of them from `head` on."""

    def __init__(self) -> None:
        self.room = _ROOM
        self.head = 0
        self.count = 0
        # How many rows there have been before the one at the head.
        self.gone = 0

    @property
    def tail(self) -> int:
        return (self.head + self.count) % self.room

    def slots(self) -> Times:
        """All slots in use, the oldest first."""
        return (self.head + np.arange(self.count)) % self.room

    def some(self, count: int) -> Times:
        """About so many slots in use, from all over."""
        return (self.head + np.arange(0, self.count, max(1, self.count // count))) % self.room

    def order(self, slots: Times) -> Times:
        """The numbers of the rows in slots, counted from the first row ever."""
        ages = slots - self.head
        return np.where(ages < 0, ages + self.room, ages) + self.gone

    def write(self, array: npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        """Put the values of rows that come into the slots behind the last."""
        first = self.tail
        here = min(len(values), self.room - first)
        array[first : first + here] = values[:here]
        array[: len(values) - here] = values[here:]

    def forget(self, rows: int) -> None:
        self.head = (self.head + rows) % self.room
        self.count -= rows
        self.gone += rows


class Index:
    """Rows by the values of some of their columns; with `has_ends` each has an end of its own."""

    def __init__(self, columns: tuple[int, ...], has_ends: bool) -> None:
        self.columns = columns
        self._has_ends = has_ends
        self.records = np.zeros((_ROOM, 4 if has_ends else 3), np.int64)
        self._make_heads(_ROOM - 1, 0)
        # The number of the row, counted from the first ever, behind which all are over in order.
        self._in_order_from = 0

    def add(self, ring: Ring, delta: Delta) -> None:
        keys = tuple(delta.columns[i] for i in self.columns)
        fresh = np.empty((len(delta), self.records.shape[1]), np.int64)
        fresh[:, KEY] = hash_columns(keys, len(delta)) if keys else 0
        fresh[:, START] = delta.start
        if self._has_ends:
            fresh[:, END] = delta.end
        ring.write(self.records, fresh)
        if ring.count + len(delta) > len(self._heads):
            self._make_heads(ring.count + len(delta), ring.gone)
            self._link(ring.head, ring.gone, ring.count)
        in_order = self._link(ring.tail, ring.gone + ring.count, len(delta))
        if ring.count and len(delta):
            newest = self.records[ring.tail - 1, self._last]
            in_order &= newest <= self.records[ring.tail, self._last]
        if not in_order:
            self._in_order_from = ring.gone + ring.count + len(delta) - 1

    @property
    def size(self) -> int:
        return self.records.nbytes + self._heads.nbytes

    def last(self, slots: Times) -> Times:
        """By what rows are forgotten: their ends, or where they have none their starts."""
        last: Times = self.records[slots, self._last]
        return last

    @property
    def _last(self) -> int:
        return END if self._has_ends else START

    def first_above(self, ring: Ring, bound: int) -> int:
        return first_above(self.records, self._last, ring.head, ring.count, bound)

    def move(self, slots: Times, room: int) -> None:
        """Lay rows out anew in a ring of another size."""
        larger = np.zeros((room, self.records.shape[1]), np.int64)
        larger[: len(slots)] = self.records[slots]
        self.records = larger
        self._make_heads(len(slots), 0)
        in_order = self._link(0, 0, len(slots))
        self._in_order_from = 0 if in_order or not len(slots) else len(slots) - 1

    def _link(self, first: int, number: int, added: int) -> bool:
        given = (first, number & NUMBERS, added)
        return bool(link_records(self.records, self._heads, self._shift, *given))

    def _make_heads(self, rows: int, first: int) -> None:
        """Buckets for so many rows, all empty: they have the number before the first."""
        empty = np.uint32((first - 1) & NUMBERS)
        self._heads = np.full(max(_ROOM, 1 << rows.bit_length()), empty, np.uint32)

    def _lies(self, ring: Ring) -> tuple[int, int, int]:
        """Where the newest row is, its number, and how many there are."""
        newest = (ring.gone + ring.count - 1) & NUMBERS
        return (ring.tail or ring.room) - 1, newest, ring.count

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(64 - (len(self._heads).bit_length() - 1))

    def first(
        self, ring: Ring, keys: Columns, start: Times, end: Times, old: int, span: int | None
    ) -> Times:
        """The first slot of each probing row that `probe` would find, -1 if there is none."""
        hashes = hash_columns(keys, len(start)) if keys else np.zeros(len(start), np.int64)
        found = np.empty(len(start), np.int64)
        first_matches(
            hashes,
            start,
            end,
            self.records,
            self._heads,
            self._shift,
            *self._lies(ring),
            old,
            -1 if span is None else span,
            ring.gone >= self._in_order_from,
            found,
        )
        return found

    def probe(
        self,
        ring: Ring,
        keys: Columns,
        start: Times,
        end: Times,
        old: int,
        span: int | None,
        begin: Times = _ANYWHERE,
    ) -> tuple[Times, Times, Times, Times]:
        """Pairs (probing row, own slot) that may be equal, and where they meet in time.

        Sees the `old` oldest rows; each lasts for `span`, or to its own end. If the first
        slot of each probing row is known, it need not be looked for.
        """
        hashes = hash_columns(keys, len(start)) if keys else np.zeros(len(start), np.int64)
        room, row = max(_ROOM, len(start)), 0
        lefts: list[Times] = []
        rights: list[Times] = []
        while row < len(start) or not lefts:
            left, right = np.empty(room, np.int64), np.empty(room, np.int64)
            found, stopped, _ = probe_records(
                hashes,
                start,
                end,
                self.records,
                self._heads,
                self._shift,
                *self._lies(ring),
                old,
                -1 if span is None else span,
                ring.gone >= self._in_order_from,
                begin,
                row,
                left,
                right,
            )
            lefts.append(left[:found])
            rights.append(right[:found])
            # A row with more partners than there was room for needs more of it.
            room *= 2
            row = stopped
        mine = lefts[0] if len(lefts) == 1 else np.concatenate(lefts)
        theirs = rights[0] if len(rights) == 1 else np.concatenate(rights)
        starts = self.records[theirs, START]
        ends = self.records[theirs, END] if span is None else later(starts, span)
        return mine, theirs, np.maximum(start[mine], starts), np.minimum(end[mine], ends)


class NumberColumn:
    """A column of a fixed width; as long as it is the row's start, it takes no room."""

    def __init__(self, type_: Type, room: int) -> None:
        self._type = type_
        self._is_start = FIXED[type_] == np.int64
        self._data = np.zeros(0 if self._is_start else room, FIXED[type_])
        self._valid: Mask | None = None

    def add(self, ring: Ring, column: Vector, delta: Delta, starts: Times) -> None:
        if self._is_start:
            if column.valid is None and np.array_equal(column.data, delta.start):
                return
            self._is_start, self._data = False, np.ascontiguousarray(starts)
        ring.write(self._data, column.data)
        if column.valid is not None and self._valid is None:
            self._valid = np.ones(ring.room, np.bool_)
        if self._valid is not None:
            ring.write(self._valid, column.present())

    def take(self, ring: Ring, slots: Times, starts: Times) -> Vector:
        if self._is_start:
            return Vector(self._type, starts[slots])
        valid = None if self._valid is None else self._valid[slots]
        return Vector(self._type, self._data[slots], valid)

    @property
    def size(self) -> int:
        return self._data.nbytes + (0 if self._valid is None else self._valid.nbytes)

    def move(self, ring: Ring, slots: Times, room: int) -> None:
        if not self._is_start:
            self._data = _moved(self._data, slots, room)
        if self._valid is not None:
            self._valid = _moved(self._valid, slots, room)


class KeyColumn:
    """A whole number that is the only key of an index: it is read from there."""

    def __init__(self, type_: Type, index: Index) -> None:
        self._type = type_
        self._index = index

    def add(self, ring: Ring, column: Vector, delta: Delta, starts: Times) -> None:
        """The index has it."""

    def take(self, ring: Ring, slots: Times, starts: Times) -> Vector:
        return Vector(self._type, self._index.records[slots, KEY].astype(FIXED[self._type]))

    @property
    def size(self) -> int:
        return 0

    def move(self, ring: Ring, slots: Times, room: int) -> None:
        """The index does."""


class ArrowColumn:
    """A column of any other type: parts in the order of rows, larger ones first."""

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._parts: list[pa.Array] = []
        # The number of the first row that is here.
        self._first = 0

    def add(self, ring: Ring, column: Vector, delta: Delta, starts: Times) -> None:
        self._forget(ring)
        self._parts.append(column.data)
        while len(self._parts) > 1 and len(self._parts[-2]) < 2 * len(self._parts[-1]):
            last = self._parts.pop()
            self._parts[-1] = pa.concat_arrays([self._parts[-1], last])

    def _forget(self, ring: Ring) -> None:
        """Drop the rows that are gone, where they are a whole part or most of one."""
        while self._parts:
            gone = ring.gone - self._first
            if gone < len(self._parts[0]) // 2 or not gone:
                return
            kept = self._parts[0][gone:]
            self._first += min(gone, len(self._parts[0]))
            if len(kept):
                # A copy: a slice would keep the whole.
                self._parts[0] = pa.concat_arrays([kept, kept[:0]])
                return
            del self._parts[0]

    def take(self, ring: Ring, slots: Times, starts: Times) -> Vector:
        rows = pa.array(ring.order(slots) - self._first)
        if len(self._parts) == 1:
            return Vector(self._type, self._parts[0].take(rows))
        if not self._parts:
            return empty(self._type)
        found = pa.chunked_array(self._parts).take(rows).combine_chunks()
        whole = found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)
        return Vector(self._type, whole)

    @property
    def size(self) -> int:
        return sum(part.nbytes for part in self._parts)

    def move(self, ring: Ring, slots: Times, room: int) -> None:
        kept = self.take(ring, slots, np.empty(0, np.int64)).data
        self._parts = [kept] if len(kept) else []
        self._first = 0


StoredColumn = NumberColumn | KeyColumn | ArrowColumn


class Store:
    """Rows by the columns `key`.

    Without ends, a row is one of a stream, and each reader knows for how long it lasts.
    """

    def __init__(self, schema: Schema, key: tuple[int, ...], has_ends: bool) -> None:
        self.ring = Ring()
        self.index = Index(key, has_ends)
        self._columns = [self._column(i, field.type) for i, field in enumerate(schema)]
        self._weights: Times | None = None
        # How many of the rows came with the last batch.
        self.added = 0
        # By reader: up to where rows need not stay.
        self._bounds: list[int] = []

    def _column(self, i: int, type_: Type) -> StoredColumn:
        if type_ not in FIXED:
            return ArrowColumn(type_)
        if self.index.columns == (i,) and FIXED[type_].kind == "i":
            return KeyColumn(type_, self.index)
        return NumberColumn(type_, self.ring.room)

    @property
    def _starts(self) -> Times:
        return self.index.records[:, START]

    def new_reader(self) -> int:
        self._bounds.append(-FOREVER)
        return len(self._bounds) - 1

    def release(self, reader: int, bound: int) -> None:
        """A reader has no need of rows that end, or begin if they have no end, by then."""
        self._bounds[reader] = bound

    def add(self, delta: Delta) -> None:
        """Forget what no reader needs, and keep more."""
        bound = min(self._bounds)
        self.ring.forget(self.index.first_above(self.ring, bound))
        self.added = len(delta)
        self._make_room(len(delta), bound)
        if not len(delta):
            return
        for column, new in zip(self._columns, delta.columns, strict=True):
            column.add(self.ring, new, delta, self._starts)
        if self._weights is None and not bool((delta.weight == 1).all()):
            self._weights = np.ones(self.ring.room, np.int64)
        if self._weights is not None:
            self.ring.write(self._weights, delta.weight)
        self.index.add(self.ring, delta)
        self.ring.count += len(delta)

    @property
    def size(self) -> int:
        """Bytes in use."""
        own = sum(column.size for column in self._columns) + self.index.size
        return own + (0 if self._weights is None else self._weights.nbytes)

    def weights(self, slots: Times) -> Times | int:
        return 1 if self._weights is None else self._weights[slots]

    def take(self, i: int, slots: Times) -> Vector:
        """The values of a column in some slots."""
        return self._columns[i].take(self.ring, slots, self._starts)

    def _make_room(self, rows: int, bound: int) -> None:
        """Have room for more rows; those that nobody needs behind one that stays go first."""
        ring = self.ring
        needed = ring.count + rows
        if needed <= ring.room <= max(_ROOM, 4 * needed):
            return
        slots = ring.slots()
        if needed > ring.room:
            live = slots[self.index.last(slots) > bound]
            if 2 * len(live) <= len(slots):
                slots = live
        self._move(slots, int(_GROWTH * (len(slots) + rows)))

    def _move(self, slots: Times, room: int) -> None:
        room = max(_ROOM, room)
        for column in self._columns:
            column.move(self.ring, slots, room)
        if self._weights is not None:
            self._weights = _moved(self._weights, slots, room)
        self.index.move(slots, room)
        self.ring.room, self.ring.head = room, 0
        self.ring.count, self.ring.gone = len(slots), 0


def _moved(array: npt.NDArray[Any], slots: Times, room: int) -> npt.NDArray[Any]:
    larger = np.zeros(room, array.dtype)
    larger[: len(slots)] = array[slots]
    return larger


def equal_values(a: Vector, b: Vector) -> Mask:
    """Where two columns have the same value, and neither is NULL."""
    if isinstance(a.data, np.ndarray):
        alike: Mask = hash_column(a) == hash_column(b)
        for column in (a, b):
            if column.valid is not None:
                alike &= column.valid
        return alike
    if isinstance(a.type, ArrayType | StructType):
        pairs = zip(a.values(), b.values(), strict=True)
        return np.array(
            [x is not None and y is not None and sort_key(x) == sort_key(y) for x, y in pairs],
            np.bool_,
        )
    same: Mask = pc.equal(a.data, b.data).fill_null(False).to_numpy(zero_copy_only=False)
    return same
