"""Rows by slot: which slot a row has, and which row a slot has.

What is known of a row goes with its slot when that is released, so an endless
stream of different rows takes no more room than those that are there at once.
"""

from __future__ import annotations

from typing import Any

from thalweg.kernels.slots import SlotTable
from thalweg.operators.row_words import RowWords
from thalweg.types import Type
from thalweg.vector.column import Columns, Index, Vector, from_values


class KeyTable:
    """Rows of given types; see `RowWords` for `by_form`."""

    def __init__(self, types: tuple[Type, ...], by_form: bool = False) -> None:
        self.rows = RowWords(types, by_form)
        self.slots = SlotTable(self.rows.width, self.rows.with_texts)
        self._nested = NestedValues(self.rows)

    @property
    def capacity(self) -> int:
        """Slots are below this number."""
        return self.slots.capacity

    def __len__(self) -> int:
        return len(self.slots)

    def assign(self, columns: Columns, length: int) -> Index:
        """The slot of each row; rows not seen before get one."""
        slots, fresh = self.slots.assign(*self.rows.of(columns, length))
        self._nested.put(slots[fresh], columns, fresh)
        return slots

    def take(self, slots: Index) -> Columns:
        """The rows of slots."""
        words = self.slots.words.take(slots, axis=0)
        return tuple(
            self._nested.take(i, slots)
            if i in self.rows.nested
            else self.rows.column(i, words, self.slots.texts, slots)
            for i in range(len(self.rows.types))
        )

    def release(self, slots: Index) -> None:
        self._nested.drop(slots)
        self.slots.release(slots)


class NestedValues:
    """Arrays and structs by slot, as values: they have no form in words."""

    def __init__(self, rows: RowWords) -> None:
        self._rows = rows
        self._values: dict[int, dict[int, Any]] = {i: {} for i in rows.nested}

    def put(self, slots: Index, columns: Columns, rows: Index) -> None:
        """Slots get the values of some rows."""
        for i, values in self._values.items():
            own = tuple(columns[i].take(rows).values())
            values.update(zip(slots.tolist(), self._rows.shown(own), strict=True))

    def take(self, i: int, slots: Index) -> Vector:
        values = self._values[i]
        return from_values([values[slot] for slot in slots.tolist()], self._rows.types[i])

    def drop(self, slots: Index) -> None:
        for values in self._values.values():
            for slot in slots.tolist():
                del values[slot]
