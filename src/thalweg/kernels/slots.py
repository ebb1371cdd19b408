"""A hash table from rows to small numbers: rows of 64-bit words, with a text each or without.

Open addressing with linear probing. A slot keeps its number until it is
released; released numbers are given out again, and the table then looks as if
they had never been there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels import kernel
from thalweg.kernels.growing import grown
from thalweg.kernels.hashing import hash_bytes
from thalweg.kernels.texts import Slots, TextPool, Texts, no_texts

Words = npt.NDArray[np.int64]

# A place in the table without a slot.
EMPTY = -1
# The bytes and places of a table without texts.
NO_BYTES = np.zeros(0, np.uint8)
NO_PLACES = np.zeros((0, 2), np.int64)

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_ROOM = 64


def hash_rows(words: Words, texts: Texts | None = None) -> npt.NDArray[np.int64]:
    """A hash per row, not negative."""
    mixed = np.zeros(len(words), np.uint64)
    if texts is not None:
        mixed = hash_bytes(texts.content, texts.offsets)
    for column in range(words.shape[1]):
        mixed ^= words[:, column].view(np.uint64)
        mixed *= _ODD
        mixed ^= mixed >> _SHIFT
    return (mixed >> np.uint64(1)).view(np.int64)


@kernel
def assign_slots(
    words: Any,
    hashes: Any,
    content: Any,
    offsets: Any,
    first: int,
    table: Any,
    slot_words: Any,
    slot_hashes: Any,
    pool: Any,
    places: Any,
    free: Any,
    counts: Any,
    slots: Any,
    fresh: Any,
) -> int:
    """The slots of rows from `first` on; rows not seen before get one, and are in `fresh`.

    Stops at a row for which there is no room, and gives its number. `counts` are the
    slots that were ever in use, those free again, and the rows in `fresh`. The text of
    a fresh row is still in `content`: it starts at -1, -2, … instead of 0, 1, …
    """
    mask = len(table) - 1
    width = words.shape[1]
    with_texts = len(places) > 0
    for row in range(first, len(words)):
        hashed = hashes[row]
        at = hashed & mask
        while True:
            slot = table[at]
            if slot == -1:
                live = counts[0] - counts[1]
                if 2 * live >= len(table) or live == len(slot_hashes):
                    return row
                if counts[1] > 0:
                    counts[1] -= 1
                    slot = free[counts[1]]
                else:
                    slot = counts[0]
                    counts[0] += 1
                table[at] = slot
                slot_hashes[slot] = hashed
                for column in range(width):
                    slot_words[slot, column] = words[row, column]
                if with_texts:
                    places[slot, 0] = -1 - offsets[row]
                    places[slot, 1] = offsets[row + 1] - offsets[row]
                fresh[counts[2]] = row
                counts[2] += 1
                break
            if slot_hashes[slot] == hashed:
                same = True
                for column in range(width):
                    if slot_words[slot, column] != words[row, column]:
                        same = False
                        break
                if same and with_texts:
                    begin = offsets[row]
                    length = offsets[row + 1] - begin
                    start = places[slot, 0]
                    if length != places[slot, 1]:
                        same = False
                    elif start >= 0:
                        for i in range(length):
                            if content[begin + i] != pool[start + i]:
                                same = False
                                break
                    else:
                        for i in range(length):
                            if content[begin + i] != content[i - 1 - start]:
                                same = False
                                break
                if same:
                    break
            at = (at + 1) & mask
        slots[row] = slot
    return len(words)


@kernel
def find_slots(
    words: Any,
    hashes: Any,
    content: Any,
    offsets: Any,
    table: Any,
    slot_words: Any,
    slot_hashes: Any,
    pool: Any,
    places: Any,
    slots: Any,
) -> None:
    """The slots of rows, -1 for those that have none."""
    mask = len(table) - 1
    width = words.shape[1]
    with_texts = len(places) > 0
    for row in range(len(words)):
        hashed = hashes[row]
        at = hashed & mask
        while True:
            slot = table[at]
            if slot == -1:
                break
            if slot_hashes[slot] == hashed:
                same = True
                for column in range(width):
                    if slot_words[slot, column] != words[row, column]:
                        same = False
                        break
                if same and with_texts:
                    begin = offsets[row]
                    length = offsets[row + 1] - begin
                    start = places[slot, 0]
                    if length != places[slot, 1]:
                        same = False
                    else:
                        for i in range(length):
                            if content[begin + i] != pool[start + i]:
                                same = False
                                break
                if same:
                    break
            at = (at + 1) & mask
        slots[row] = slot


@kernel
def release_slots(slots: Any, table: Any, slot_hashes: Any, free: Any, counts: Any) -> None:
    """Take slots out; what was pushed along by them moves back."""
    mask = len(table) - 1
    for slot in slots:
        hole = slot_hashes[slot] & mask
        while table[hole] != slot:
            hole = (hole + 1) & mask
        at = (hole + 1) & mask
        while table[at] != -1:
            home = slot_hashes[table[at]] & mask
            if ((at - home) & mask) >= ((at - hole) & mask):
                table[hole] = table[at]
                hole = at
            at = (at + 1) & mask
        table[hole] = -1
        free[counts[1]] = slot
        counts[1] += 1


@kernel
def fill_table(table: Any, old_table: Any, slot_hashes: Any) -> None:
    """Enter the slots of a table into a larger, empty one."""
    mask = len(table) - 1
    for slot in old_table:
        if slot >= 0:
            at = slot_hashes[slot] & mask
            while table[at] != -1:
                at = (at + 1) & mask
            table[at] = slot


class SlotTable:
    """Rows of `width` words, `with_texts` of a text too, each with a slot."""

    def __init__(self, width: int, with_texts: bool = False) -> None:
        self.words = np.zeros((_ROOM, width), np.int64)
        self.texts = TextPool() if with_texts else None
        self._table = np.full(4 * _ROOM, EMPTY, np.int32)
        self._hashes = np.zeros(_ROOM, np.int64)
        self._free = np.zeros(_ROOM, np.int32)
        self._counts = np.zeros(3, np.int64)

    @property
    def capacity(self) -> int:
        """Slots are below this number."""
        return len(self._hashes)

    def __len__(self) -> int:
        return int(self._counts[0] - self._counts[1])

    def assign(self, words: Words, texts: Texts | None = None) -> tuple[Slots, Slots]:
        """The slot of each row, and the rows that were not there before."""
        assert (texts is None) == (self.texts is None), "rows have texts as their table does"
        hashes = hash_rows(words, texts)
        given = texts or no_texts()
        slots = np.empty(len(words), np.int64)
        fresh = np.empty(len(words), np.int64)
        self._counts[2] = 0
        row = 0
        while True:
            row = assign_slots(
                words,
                hashes,
                given.content,
                given.offsets,
                row,
                self._table,
                self.words,
                self._hashes,
                NO_BYTES if self.texts is None else self.texts.bytes,
                NO_PLACES if self.texts is None else self.texts.places,
                self._free,
                self._counts,
                slots,
                fresh,
            )
            if row == len(words):
                break
            self._make_room()
        fresh = fresh[: self._counts[2]]
        if self.texts is not None:
            self.texts.put(slots[fresh], given, fresh)
        return slots, fresh

    def find(self, words: Words, texts: Texts | None = None) -> Slots:
        """The slot of each row, -1 where there is none."""
        given = texts or no_texts()
        slots = np.empty(len(words), np.int64)
        find_slots(
            words,
            hash_rows(words, texts),
            given.content,
            given.offsets,
            self._table,
            self.words,
            self._hashes,
            NO_BYTES if self.texts is None else self.texts.bytes,
            NO_PLACES if self.texts is None else self.texts.places,
            slots,
        )
        return slots

    @property
    def size(self) -> int:
        """Bytes in use."""
        own = self.words, self._table, self._hashes, self._free
        texts = () if self.texts is None else (self.texts.bytes, self.texts.places)
        return sum(array.nbytes for array in (*own, *texts))

    def release(self, slots: Slots) -> None:
        release_slots(slots, self._table, self._hashes, self._free, self._counts)
        if self.texts is not None:
            self.texts.drop(slots)

    def _make_room(self) -> None:
        if len(self) == self.capacity:
            self.words = grown(self.words, 2 * self.capacity)
            self._free = grown(self._free, 2 * self.capacity)
            if self.texts is not None:
                self.texts.make_room(2 * self.capacity)
            self._hashes = grown(self._hashes, 2 * self.capacity)
        if 2 * len(self) >= len(self._table):
            table = np.full(4 * len(self._table), EMPTY, np.int32)
            fill_table(table, self._table, self._hashes)
            self._table = table
