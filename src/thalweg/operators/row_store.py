"""Rows by number, kept until they are dropped; numbers of dropped rows are used again."""

from __future__ import annotations

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.kernels.texts import TextPool
from thalweg.operators.keys import NestedValues
from thalweg.operators.row_words import RowWords
from thalweg.types import Type
from thalweg.vector.column import Columns, Index, taken

_ROOM = 64


class RowStore:
    def __init__(self, types: tuple[Type, ...]) -> None:
        self._rows = RowWords(types, by_form=True)
        self._words = np.zeros((_ROOM, self._rows.width), np.int64)
        self._texts = TextPool() if self._rows.with_texts else None
        self._nested = NestedValues(self._rows)
        # Numbers that are free: the last of them are given out first.
        self._free = np.arange(_ROOM)[::-1].copy()
        self._left = _ROOM

    @property
    def capacity(self) -> int:
        """Numbers are below this one."""
        return len(self._words)

    def __len__(self) -> int:
        return self.capacity - self._left

    def reserve(self, count: int) -> Index:
        """Numbers for so many rows."""
        while count > self._left:
            self._make_room()
        self._left -= count
        return self._free[self._left : self._left + count][::-1].copy()

    def put(self, numbers: Index, columns: Columns, rows: Index) -> None:
        """Keep some rows of columns under their numbers."""
        own = taken(columns, rows)
        words, texts = self._rows.of(own, len(rows))
        self._words[numbers] = words
        if self._texts is not None and texts is not None:
            self._texts.put(numbers, texts, np.arange(len(rows)))
        self._nested.put(numbers, own, np.arange(len(rows)))

    def take(self, numbers: Index) -> Columns:
        words = self._words.take(numbers, axis=0)
        return tuple(
            self._nested.take(i, numbers)
            if i in self._rows.nested
            else self._rows.column(i, words, self._texts, numbers)
            for i in range(len(self._rows.types))
        )

    def drop(self, numbers: Index) -> None:
        """Forget rows that are kept."""
        if self._texts is not None:
            self._texts.drop(numbers)
        self._nested.drop(numbers)
        self.give_back(numbers)

    def give_back(self, numbers: Index) -> None:
        """Numbers under which nothing was kept."""
        self._free[self._left : self._left + len(numbers)] = numbers
        self._left += len(numbers)

    def _make_room(self) -> None:
        known = self.capacity
        self._words = grown(self._words, 2 * known)
        if self._texts is not None:
            self._texts.make_room(2 * known)
        free = grown(self._free, 2 * known)
        free[known:] = self._free
        free[:known] = np.arange(known, 2 * known)[::-1]
        self._free, self._left = free, self._left + known
