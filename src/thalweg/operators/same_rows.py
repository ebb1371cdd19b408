"""Which rows show the same values."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from thalweg.operators.row_words import is_nested
from thalweg.values import shown_key
from thalweg.vector.column import Columns, Index, Mask, Vector


def same_rows(columns: Columns, rows: Index, others: Index) -> Mask:
    """Whether rows show what other rows do: NULL as NULL, NaN as NaN, and 0.0 not as -0.0."""
    same = np.ones(len(rows), np.bool_)
    for column in columns:
        same &= _same(column, rows, others)
    return same


def _same(column: Vector, rows: Index, others: Index) -> Mask:
    if isinstance(column.data, np.ndarray):
        a, b = column.data[rows], column.data[others]
        same: Mask = a == b
        if column.data.dtype.kind == "f":
            same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
        if column.valid is None:
            return same
        there, other = column.valid[rows], column.valid[others]
        same &= there & other
        return same | ~(there | other)
    if is_nested(column.type):
        values = column.values()
        keys = [shown_key((value,)) for value in values]
        pairs = zip(rows.tolist(), others.tolist(), strict=True)
        return np.array([keys[a] == keys[b] for a, b in pairs], np.bool_)
    one, other_one = column.take(rows), column.take(others)
    equal: Mask = pc.equal(one.data, other_one.data).fill_null(False).to_numpy(zero_copy_only=False)
    return equal | ~(one.present() | other_one.present())
