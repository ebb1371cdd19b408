"""Rows that are alike, found so that a costly function sees each of them once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from thalweg.types import ArrayType, StructType
from thalweg.vector.column import Columns, Index, Vector

# Fewer rows are as soon done as sorted out, and so many show whether rows repeat.
_SAMPLE_ROWS = 256


def distinct_rows(columns: Columns, length: int) -> tuple[Index, Index] | None:
    """A row of each kind, and of which kind each row is; None if too few are alike to matter.

    Values are alike if nothing can tell them apart: 0.0 and -0.0 are not.
    """
    if not columns and length:
        return np.zeros(1, np.int64), np.zeros(length, np.int64)
    if length < _SAMPLE_ROWS or any(
        isinstance(column.type, ArrayType | StructType) for column in columns
    ):
        return None
    sample = tuple(column.part(slice(0, _SAMPLE_ROWS)) for column in columns)
    if len(_kinds(sample)[1]) > _SAMPLE_ROWS // 2:
        return None
    kinds, first = _kinds(columns)
    return first, kinds


def _kinds(columns: Columns) -> tuple[Index, Index]:
    """The kind of each row, and the first row of each kind."""
    kinds = _codes(columns[0])
    for column in columns[1:]:
        more = _codes(column)
        both = kinds * (int(more.max()) + 1) + more
        kinds = _numbered(pa.array(both))
    rows = np.arange(len(kinds))
    first = np.empty(int(kinds.max()) + 1, np.int64)
    first[kinds[::-1]] = rows[::-1]
    return kinds, first


def _codes(column: Vector) -> Index:
    if not isinstance(column.data, np.ndarray):
        return _numbered(column.data)
    bits = column.data.view(f"i{column.data.itemsize}")
    return _numbered(pa.array(bits, mask=None if column.valid is None else ~column.valid))


def _numbered(values: pa.Array) -> Index:
    """Equal values by one number, in order of appearance; NULL is a value too."""
    codes = values.dictionary_encode(null_encoding="encode").indices
    numbers: Index = codes.to_numpy().astype(np.int64)
    return numbers
