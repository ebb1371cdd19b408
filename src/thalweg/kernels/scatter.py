"""Rows put in the order of the shards that they belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel


@kernel
def owners_of(hashes: Any, shards: int) -> Any:
    """A shard for each hash, from its upper half: no step overflows."""
    owners = np.empty(len(hashes), np.int16)
    half, number = np.uint64(32), np.uint64(shards)
    for row in range(len(hashes)):
        owners[row] = np.int16(((hashes[row] >> half) * number) >> half)
    return owners


@kernel
def places_of(owners: Any, shards: int) -> Any:
    """Where each row goes, and where the rows of each shard begin and the last ones end."""
    starts = np.zeros(shards + 1, np.int64)
    for row in range(len(owners)):
        starts[owners[row] + 1] += 1
    for shard in range(shards):
        starts[shard + 1] += starts[shard]
    places = np.empty(len(owners), np.int32)
    following = starts.copy()
    for row in range(len(owners)):
        owner = owners[row]
        places[row] = following[owner]
        following[owner] += 1
    return places, starts


@kernel
def scatter(values: Any, places: Any, scattered: Any) -> None:
    for row in range(len(values)):
        scattered[places[row]] = values[row]
