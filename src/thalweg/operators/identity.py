"""Rows as 64-bit words: equal rows have equal words, and only they.

Numbers and times are their own word. A value of any other type gets a number
when it is first seen. The first words hold which columns are NULL.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.types import NULL, ArrayType, StructType, Type
from thalweg.values import sort_key
from thalweg.vector.column import Columns, Vector
from thalweg.vector.hashing import number_words

_BITS = 63


class Identity:
    """Turns columns of given types into words.

    With `by_form`, 0.0 and -0.0 are different rows.
    """

    def __init__(self, types: tuple[Type, ...], by_form: bool = False) -> None:
        self.types = types
        self._by_form = by_form
        self._numbers: list[dict[Any, int]] = [{} for _ in types]

        self._masks = -(-len(types) // _BITS) or 1

    @property
    def width(self) -> int:
        return self._masks + len(self.types)

    def words(self, columns: Columns, length: int) -> npt.NDArray[np.int64]:
        words = np.zeros((length, self.width), np.int64)
        for i, column in enumerate(columns):
            word = words[:, self._masks + i]
            word[:] = self._column_words(i, column)
            if column.has_nulls:
                present = column.present()
                word[~present] = 0
                words[:, i // _BITS] |= np.where(present, 0, 1 << (i % _BITS))
        return words

    def _column_words(self, i: int, column: Vector) -> npt.NDArray[np.int64]:
        if isinstance(column.data, np.ndarray):
            words = number_words(column.data)
            if self._by_form and column.data.dtype.kind == "f":
                return np.where(column.data == 0, np.signbit(column.data), words)
            return words
        if column.type == NULL:
            return np.zeros(len(column), np.int64)
        if isinstance(column.type, ArrayType | StructType):
            form = repr if self._by_form else sort_key
            return self._numbered(i, [form(value) for value in column.values()])
        encoded = column.data.dictionary_encode()
        numbers = self._numbered(i, encoded.dictionary.to_pylist())
        codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return numbers[codes] if len(numbers) else np.zeros(len(column), np.int64)

    def _numbered(self, i: int, values: list[Any]) -> npt.NDArray[np.int64]:
        known = self._numbers[i]
        return np.array([known.setdefault(value, len(known)) for value in values], np.int64)
