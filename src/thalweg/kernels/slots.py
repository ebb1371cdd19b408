"""A hash table from rows of 64-bit words to small numbers.

Open addressing with linear probing. A slot keeps its number until it is
released; released numbers are given out again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.kernels import kernel

Words = npt.NDArray[np.int64]

# A place in the table that was never used; one whose slot was released holds -2.
EMPTY = -1

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


def hash_rows(words: Words) -> npt.NDArray[np.int64]:
    """A hash per row, not negative."""
    mixed = np.zeros(len(words), np.uint64)
    for column in range(words.shape[1]):
        mixed ^= words[:, column].view(np.uint64)
        mixed *= _ODD
        mixed ^= mixed >> _SHIFT
    return (mixed >> np.uint64(1)).view(np.int64)


@kernel
def assign_slots(
    words: Any, hashes: Any, table: Any, slot_words: Any, slot_hashes: Any, free: Any, counts: Any
) -> Any:
    """The slot of each row; rows not seen before get one. `counts` is (high mark, free)."""
    mask = len(table) - 1
    width = words.shape[1]
    slots = np.empty(len(words), np.int64)
    for row in range(len(words)):
        hashed = hashes[row]
        at = hashed & mask
        while True:
            slot = table[at]
            if slot == -1:
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
                break
            if slot >= 0 and slot_hashes[slot] == hashed:
                same = True
                for column in range(width):
                    if slot_words[slot, column] != words[row, column]:
                        same = False
                        break
                if same:
                    break
            at = (at + 1) & mask
        slots[row] = slot
    return slots


@kernel
def release_slots(slots: Any, table: Any, slot_hashes: Any, free: Any, counts: Any) -> None:
    mask = len(table) - 1
    for slot in slots:
        at = slot_hashes[slot] & mask
        while table[at] != slot:
            at = (at + 1) & mask
        table[at] = -2
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


@kernel
def totals_of_slots(slots: Any, numbers: Any, count: int) -> Any:
    """Rows of numbers added up by slot."""
    totals = np.zeros((count, numbers.shape[1]), np.int64)
    for row in range(len(slots)):
        slot = slots[row]
        for column in range(numbers.shape[1]):
            totals[slot, column] += numbers[row, column]
    return totals


@kernel
def first_of_slots(slots: Any, count: int) -> Any:
    """The first row of each slot."""
    rows = np.empty(count, np.int64)
    for row in range(len(slots) - 1, -1, -1):
        rows[slots[row]] = row
    return rows


class SlotTable:
    """Rows of `width` words, each with a slot."""

    def __init__(self, width: int, capacity: int = 64) -> None:
        self.width = width
        self._table = np.full(4 * capacity, EMPTY, np.int64)
        self._words = np.zeros((capacity, width), np.int64)
        self._hashes = np.zeros(capacity, np.int64)
        self._free = np.zeros(capacity, np.int64)
        self._counts = np.zeros(2, np.int64)
        self._gone = 0

    @property
    def capacity(self) -> int:
        """Slots are below this number."""
        return len(self._hashes)

    def __len__(self) -> int:
        return int(self._counts[0] - self._counts[1])

    def assign(self, words: Words) -> npt.NDArray[np.int64]:
        self._make_room(len(words))
        slots: npt.NDArray[np.int64] = assign_slots(
            words,
            hash_rows(words),
            self._table,
            self._words,
            self._hashes,
            self._free,
            self._counts,
        )
        return slots

    def release(self, slots: npt.NDArray[np.int64]) -> None:
        release_slots(slots, self._table, self._hashes, self._free, self._counts)
        self._gone += len(slots)

    def _make_room(self, rows: int) -> None:
        needed = int(self._counts[0]) + rows
        if needed > self.capacity:
            capacity = max(2 * self.capacity, needed)
            self._words = grown(self._words, capacity)
            self._hashes = grown(self._hashes, capacity)
            self._free = grown(self._free, capacity)
        size = len(self._table)
        while 2 * (len(self) + rows + min(self._gone, size // 4)) > size:
            size *= 2
        if size != len(self._table) or 4 * self._gone > size:
            table = np.full(size, EMPTY, np.int64)
            fill_table(table, self._table, self._hashes)
            self._table, self._gone = table, 0


def grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """The array with room for more; what is new is zero."""
    larger = np.zeros((length, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
