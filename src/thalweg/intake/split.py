"""Which shard a row belongs to.

Equal keys have equal hashes, whatever process computes them: numbers by their
64-bit form, text by its bytes, anything else by the text of its inner form.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.kernels.hashing import hash_bytes, mixed
from thalweg.operators.delta import Delta
from thalweg.operators.identity import number_words
from thalweg.types import BINARY, STRING
from thalweg.values import sort_key
from thalweg.vector.column import Columns, Vector

Hashes = npt.NDArray[np.uint64]


def split(delta: Delta, keys: tuple[int, ...] | None, shards: int) -> list[Delta]:
    """The rows of each shard; without keys, all go to the first."""
    if keys is None or shards == 1 or not len(delta):
        return [delta]
    owner = shard_of(tuple(delta.columns[i] for i in keys), len(delta), shards)
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(1, shards))
    return [delta.take(rows) for rows in np.split(order, cuts)]


def shard_of(keys: Columns, length: int, shards: int) -> npt.NDArray[np.int64]:
    hashes = np.zeros(length, np.uint64)
    for key in keys:
        hashes = mixed(hashes, _hashes(key))
    return ((hashes >> np.uint64(33)) % np.uint64(shards)).astype(np.int64)


def _hashes(column: Vector) -> Hashes:
    if isinstance(column.data, np.ndarray):
        words = number_words(column.data)
        if column.valid is not None:
            words = np.where(column.valid, words, 0)
        return words.view(np.uint64)
    if column.type in (STRING, BINARY):
        return _text_hashes(column.data)
    return np.array(
        [
            int.from_bytes(blake2b(repr(sort_key(v)).encode(), digest_size=8).digest(), "little")
            for v in column.values()
        ],
        np.uint64,
    )


def _text_hashes(texts: pa.Array) -> Hashes:
    """NULL hashes as an empty text does."""
    wide = texts.fill_null("" if pa.types.is_string(texts.type) else b"")
    _, offsets, data = wide.buffers()
    starts = np.frombuffer(offsets, np.int32)[wide.offset : wide.offset + len(wide) + 1]
    content = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    hashes: Hashes = hash_bytes(content, starts)
    return hashes
