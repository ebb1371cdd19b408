"""The rows of one batch as words, for as long as the batch lasts.

Rows have equal words where they are equal as groups. A single key of fixed width
without NULLs is taken as it lies in memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.kernels import read_only
from thalweg.operators.row_words import NARROW, decimal_words, spelled
from thalweg.types import NULL, DecimalType
from thalweg.vector.column import Columns, Mask, Vector
from thalweg.vector.hashing import number_words

_BITS = 63


def group_words(keys: Columns, length: int) -> npt.NDArray[np.uint64]:
    """The words of a row are `words[:, row]`."""
    words: list[npt.NDArray[np.int64]] = []
    absent: list[Mask] = []
    for column in keys:
        own = _column_words(column)
        if column.has_nulls:
            absent.append(~column.present())
            own = [np.where(absent[-1], 0, word) for word in own]
        words += own
    for first in range(0, len(absent), _BITS):
        flags = np.zeros(length, np.int64)
        for i, mask in enumerate(absent[first : first + _BITS]):
            flags |= mask.astype(np.int64) << i
        words.append(flags)
    if not words:
        return read_only(np.empty((0, length), np.uint64))
    together = words[0].reshape(1, -1) if len(words) == 1 else np.stack(words)
    return read_only(together.view(np.uint64))


def _column_words(column: Vector) -> list[npt.NDArray[np.int64]]:
    if isinstance(column.data, np.ndarray):
        return [np.ascontiguousarray(number_words(column.data))]
    if column.type == NULL:
        return []
    if isinstance(column.type, DecimalType):
        low, high = decimal_words(column.data).T
        narrow = column.type.precision <= NARROW
        return [np.ascontiguousarray(low)] + ([] if narrow else [np.ascontiguousarray(high)])
    codes = spelled(column, by_form=False).dictionary_encode().indices.fill_null(0)
    return [codes.to_numpy(zero_copy_only=False).astype(np.int64)]
