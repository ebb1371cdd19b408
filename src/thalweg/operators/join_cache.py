"""A subresult of a join, kept by key.

For every key that is there, all combinations of rows of the segment's members with that key
are there that are visible and may still count; so they can be taken instead of being looked
up. Which keys are there is of no account: entries may be missing, added and dropped at any
time. An entry may be empty, and then says just that. Whatever comes to a member of the
segment is joined with the others, and added to the entries of its keys; to keys that are not
there it adds nothing. A combination carries its own stretch of time, and the columns that
anybody may ask for: nothing refers to a row of a store, which may be gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.kernels.slots import SlotTable, Words
from thalweg.kernels.texts import Texts
from thalweg.operators.delta import BEFORE_TIME, Delta, Times
from thalweg.operators.join_graph import Place, Topology
from thalweg.operators.join_walk import Matches, Predicate
from thalweg.operators.row_words import RowWords
from thalweg.operators.store import Store
from thalweg.types import BIGINT, Field, Schema, Type
from thalweg.vector.column import FIXED, Columns, Mask, Vector
from thalweg.vector.hashing import number_words

# Of a combination, beside its columns: key, start, end and next in the index, and its bucket.
_INDEX_BYTES = 40
# Where a cache lies that is full, so much of it is to be free after it was tidied.
_FREE_AFTER_TIDYING = 0.25


@dataclass
class CacheCounts:
    """What a cache was asked, and the nanoseconds that it took."""

    probes: int = 0
    hits: int = 0
    found: int = 0
    created: int = 0
    updates: int = 0
    probing: int = 0
    filling: int = 0
    updating: int = 0

    @property
    def nanos(self) -> int:
        return self.probing + self.filling + self.updating


@dataclass(frozen=True)
class Segment:
    """Members of a join, the classes of keys by which they are asked for or, where there are
    none, the others' columns that conditions compare them with, and what is kept. All of the
    conditions are true of it."""

    members: frozenset[int]
    classes: tuple[int, ...]
    outer: tuple[Place, ...]
    conditions: tuple[Predicate, ...]
    places: tuple[Place, ...]

    def key_places(self, topology: Topology) -> list[Place]:
        """A column for each part of the key."""
        return [*(topology.classes[number][0] for number in self.classes), *self.outer]


class SegmentCache:
    """`room` is how many bytes it may have."""

    def __init__(self, segment: Segment, topology: Topology, schema: Schema, room: int) -> None:
        self.segment = segment
        self.room = room
        self.counts = CacheCounts()
        self._types = tuple(
            schema[topology.column(place)].type for place in segment.key_places(topology)
        )
        self._places = {place: i + 1 for i, place in enumerate(segment.places)}
        fields = tuple(schema[topology.column(place)] for place in segment.places)
        self._schema: Schema = (Field("entry", BIGINT), *fields)
        self._width = _INDEX_BYTES + sum(
            FIXED[f.type].itemsize if f.type in FIXED else 16 for f in fields
        )
        self._bound = BEFORE_TIME
        self.clear()

    def clear(self) -> None:
        self._keys = _Keys(self._types, by_form=bool(self.segment.outer))
        self._store = self._new_store()
        self._asked_since = 0
        self._is_full = False

    def _new_store(self) -> Store:
        store = Store(self._schema, (0,), has_ends=True)
        self._reader = store.new_reader()
        return store

    @property
    def size(self) -> int:
        return self._store.size + self._keys.size

    @property
    def entries(self) -> int:
        return len(self._keys)

    # Asking

    def find(self, keys: Columns, length: int) -> Times:
        """The entry of each key, -1 where there is none."""
        self._asked_since += length
        return self._keys.find(keys, length)

    def keys(self) -> tuple[Times, Columns]:
        """All entries, and their keys."""
        return self._keys.entries(), self._keys.columns()

    def matches(self, entries: Times, start: Times, end: Times) -> Matches:
        """The combinations in entries, and where they meet what asks in time."""
        store = self._store
        entry = (Vector(BIGINT, entries),)
        found = store.index.probe(store.ring, entry, start, end, store.ring.count, None)
        owners, rows, starts, ends = found
        return Matches(owners, rows, starts, ends, store.weights(rows))

    def take(self, place: Place, rows: Times) -> Vector:
        return self._store.take(self._places[place], rows)

    # Filling

    def admit(self, keys: Columns, length: int) -> tuple[Times, Times]:
        """Entries for keys that have none, -1 where there is no room; and the rows whose keys
        are the first of new entries."""
        some = min(length, self._free_entries())
        self._is_full = self._is_full or some < length
        entries = np.full(length, -1)
        if not some:
            return entries, entries[:0]
        first = tuple(key.part(slice(0, some)) for key in keys)
        entries[:some], fresh = self._keys.add(first, some)
        self.counts.created += len(fresh)
        return entries, fresh

    def _free_entries(self) -> int:
        """How many more entries there is room for, if they are like those that are there."""
        each = self.size / (1 + self.entries) if self.entries else 0.0
        unused = (self._store.ring.room - self._store.ring.count) * self._width
        return max(0, int((self.room - self.size + unused) / max(each, 2.0 * self._width)))

    def add(
        self, entries: Times, columns: Columns, start: Times, end: Times, weight: Times
    ) -> None:
        """More combinations for entries. Where there is no room, the entries go."""
        live = end > self._bound
        if not live.all():
            some = np.flatnonzero(live)
            entries, start, end = entries[some], start[some], end[some]
            weight, columns = weight[some], tuple(column.take(some) for column in columns)
        if self._has_room(len(entries)):
            self._store.add(Delta((Vector(BIGINT, entries), *columns), start, end, weight))
        else:
            self._keys.drop(entries)
            self._is_full = True

    def are_there(self, entries: Times) -> Mask:
        return self._keys.are_there(entries)

    def _has_room(self, combinations: int) -> bool:
        ring = self._store.ring
        needed = ring.count + combinations
        return needed <= ring.room or 1.25 * needed * self._width + self._keys.size <= self.room

    # Forgetting

    def release(self, bound: int) -> None:
        """Nothing that asks from now on begins before an instant. One that is full is tidied,
        unless that was done only just now."""
        self._bound = bound
        self._store.release(self._reader, bound)
        if self._is_full and self._asked_since >= self._store.ring.count + self.entries:
            self._tidy()

    def limit(self, room: int) -> None:
        """So many bytes from now on."""
        self.room = room
        if self.size > room:
            self._tidy()
        if self.size > room:
            self.clear()

    def _tidy(self) -> None:
        """Forget what has ended, entries that are gone and, if that is not enough, those that
        nobody has asked for since the last time."""
        old, slots = self._store, self._store.ring.slots()
        self._asked_since, self._is_full = 0, False
        entries = old.take(0, slots).data
        live = old.index.last(slots) > self._bound
        kept = self._keys.are_there(entries) & live
        if (1 - _FREE_AFTER_TIDYING) * self.room < int(kept.sum()) * self._width:
            self._keys.drop_unused()
            kept &= self._keys.are_there(entries)
        self._keys.forget_use()
        renumbered = self._keys.renumber(entries[kept])
        some = slots[kept]
        starts, ends = old.index.records[some, 1], old.index.records[some, 2]
        weights = old.weights(some)
        if isinstance(weights, int):
            weights = np.ones(len(some), np.int64)
        columns = tuple(old.take(i, some) for i in range(1, len(self._schema)))
        self._store = self._new_store()
        self._store.release(self._reader, self._bound)
        self._store.add(Delta((Vector(BIGINT, renumbered), *columns), starts, ends, weights))


class _Keys:
    """Keys, each with the number of its entry: numbers are not given twice, so what is left
    of an entry that was dropped is not taken for another's."""

    def __init__(self, types: tuple[Type, ...], by_form: bool) -> None:
        self._is_number = len(types) == 1 and types[0] in FIXED and not by_form
        self._rows = RowWords(types, by_form)
        width = 1 if self._is_number else self._rows.width
        self._slots = SlotTable(width, self._rows.with_texts)
        # By slot: the entry, and whether it was asked for lately.
        self._entries = np.full(self._slots.capacity, -1)
        self._used = np.zeros(self._slots.capacity, np.bool_)
        # By entry: its slot, -1 when it is gone.
        self._places = np.full(64, -1)
        self._next = 0

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def size(self) -> int:
        own = self._entries.nbytes + self._used.nbytes + self._places.nbytes
        return self._slots.size + own

    def _words(self, keys: Columns, length: int) -> tuple[Words, Texts | None]:
        if self._is_number:
            return np.ascontiguousarray(number_words(keys[0].data)).reshape(-1, 1), None
        return self._rows.of(keys, length)

    def find(self, keys: Columns, length: int) -> Times:
        slots = self._slots.find(*self._words(keys, length))
        found = slots >= 0
        if found.all():
            self._used[slots] = True
            return self._entries.take(slots)
        self._used[slots[found]] = True
        return np.where(found, self._entries.take(slots, mode="clip"), -1)

    def add(self, keys: Columns, length: int) -> tuple[Times, Times]:
        slots, fresh = self._slots.assign(*self._words(keys, length))
        if self._slots.capacity > len(self._entries):
            self._entries = grown(self._entries, self._slots.capacity)
            self._used = grown(self._used, self._slots.capacity)
        while self._next + len(fresh) > len(self._places):
            self._places = grown(self._places, 2 * len(self._places))
        entries = self._next + np.arange(len(fresh))
        self._entries[slots[fresh]] = entries
        self._used[slots[fresh]] = True
        self._places[entries] = slots[fresh]
        self._next += len(fresh)
        return self._entries.take(slots), fresh

    def are_there(self, entries: Times) -> Mask:
        there: Mask = self._places[entries] >= 0
        return there

    def entries(self) -> Times:
        """Those that are there."""
        return self._entries[self._live_slots()]

    def columns(self) -> Columns:
        """The keys of all entries."""
        slots = self._live_slots()
        words = self._slots.words[slots]
        if self._is_number:
            dtype = FIXED[self._rows.types[0]]
            plain = np.ascontiguousarray(words[:, 0])
            data = plain.view(np.float64) if dtype.kind == "f" else plain
            return (Vector(self._rows.types[0], data.astype(dtype)),)
        return tuple(
            self._rows.column(i, words, self._slots.texts, slots)
            for i in range(len(self._rows.types))
        )

    def drop(self, entries: Times) -> None:
        some = np.unique(entries)
        slots = self._places[some]
        self._places[some] = -1
        self._slots.release(slots[slots >= 0])

    def drop_unused(self) -> None:
        self.drop(self._entries[self._live_slots(~self._used)])

    def forget_use(self) -> None:
        self._used[:] = False

    def _live_slots(self, among: Mask | None = None) -> Times:
        places = self._places[: self._next]
        slots = places[places >= 0]
        return slots if among is None else slots[among[slots]]

    def renumber(self, entries: Times) -> Times:
        """New numbers, without gaps; gives those of some entries."""
        slots = self._live_slots()
        fresh = np.full(len(self._places), -1)
        fresh[self._entries[slots]] = np.arange(len(slots))
        self._entries[slots] = np.arange(len(slots))
        self._places = np.full(max(64, 2 * len(slots)), -1)
        self._places[: len(slots)] = slots
        self._next = len(slots)
        renumbered: Times = fresh[entries]
        return renumbered
