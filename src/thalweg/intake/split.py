"""Which shard a row belongs to."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.kernels.hashing import mixed
from thalweg.operators.delta import Delta
from thalweg.vector.column import Columns
from thalweg.vector.hashing import hash_columns


def split(delta: Delta, keys: tuple[int, ...] | None, shards: int) -> list[Delta]:
    """The rows of each shard; without keys, all go to the first."""
    if keys is None or shards == 1 or not len(delta):
        return [delta]
    owner = shard_of(tuple(delta.columns[i] for i in keys), len(delta), shards)
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(1, shards))
    return [delta.take(rows) for rows in np.split(order, cuts)]


def shard_of(keys: Columns, length: int, shards: int) -> npt.NDArray[np.int16]:
    hashes = mixed(np.zeros(1, np.uint64), hash_columns(keys, length).view(np.uint64))
    owners: npt.NDArray[np.int16] = ((hashes >> np.uint64(33)) % np.uint64(shards)).astype(np.int16)
    return owners
