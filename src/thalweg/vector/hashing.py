"""Hashes of values that are the same in every process.

Equal values have equal hashes. Columns of a fixed width are hashed without loss:
there, equal hashes mean equal values too.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.kernels.hashing import hash_bytes, mixed
from thalweg.types import BINARY, STRING
from thalweg.values import normal_zeros, sort_key
from thalweg.vector.column import Columns, Vector

Hashes = npt.NDArray[np.int64]


def hash_columns(columns: Columns, length: int) -> Hashes:
    """One hash per row; of a single column of fixed width, its values as they are."""
    if len(columns) == 1:
        return hash_column(columns[0])
    hashes = np.zeros(length, np.uint64)
    for column in columns:
        hashes = mixed(hashes, hash_column(column).view(np.uint64))
    return hashes.view(np.int64)


def hash_column(column: Vector) -> Hashes:
    """NULL hashes as zero or an empty text does."""
    if isinstance(column.data, np.ndarray):
        words = number_words(column.data)
        return words if column.valid is None else np.where(column.valid, words, 0)
    if column.type in (STRING, BINARY):
        return _text_hashes(column.data)
    plain = normal_zeros(tuple(column.values()))
    digests = (blake2b(repr(sort_key(v)).encode(), digest_size=8).digest() for v in plain)
    return np.array([int.from_bytes(d, "little", signed=True) for d in digests], np.int64)


def _text_hashes(texts: pa.Array) -> Hashes:
    filled = texts.fill_null("" if pa.types.is_string(texts.type) else b"")
    _, offsets, data = filled.buffers()
    if offsets is None:
        return np.zeros(len(texts), np.int64)
    starts = np.frombuffer(offsets, np.int32)[filled.offset : filled.offset + len(filled) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    hashes: Hashes = hash_bytes(content, starts)
    return hashes


def number_words(data: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Numbers as 64-bit words; equal floats have one form."""
    if data.dtype.kind == "f":
        plain = data.astype(np.float64) + 0.0
        plain[np.isnan(plain)] = np.nan
        return plain.view(np.int64)
    return data.astype(np.int64, copy=False)
