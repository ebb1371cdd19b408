"""Which shard a row belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from thalweg.kernels.scatter import owners_of, places_of, scatter
from thalweg.operators.delta import Delta, Times
from thalweg.vector.column import Columns, Index, Numbers, Vector
from thalweg.vector.hashing import hash_columns

# All bits of a value have their part in the upper ones of its product with this.
_ODD = np.uint64(0x9E3779B97F4A7C15)
# Kernels know numbers by their width alone.
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class Split:
    """Rows in the order of their shards: those of shard i are from `starts[i]` to the next."""

    rows: Delta
    starts: list[int]

    def parts(self) -> Iterator[tuple[int, Delta]]:
        """The rows of each shard that has some."""
        for shard, (start, end) in enumerate(pairwise(self.starts)):
            if start < end:
                yield shard, self.rows.part(slice(start, end))


def split(delta: Delta, keys: tuple[int, ...] | None, shards: int) -> Split:
    """The rows by shard, else in the order they have; without keys, all go to the first."""
    if keys is None or shards == 1 or not len(delta):
        return Split(delta, [0, len(delta)])
    owners = shard_of(tuple(delta.columns[i] for i in keys), len(delta), shards)
    places, starts = places_of(owners, shards)
    return Split(_Moved(places).delta(delta), starts.tolist())


def shard_of(keys: Columns, length: int, shards: int) -> npt.NDArray[np.int16]:
    hashes = hash_columns(keys, length).view(np.uint64) * _ODD
    owners: npt.NDArray[np.int16] = owners_of(hashes, shards)
    return owners


class _Moved:
    """Arrays with their rows moved to other places; an array that is met twice, once."""

    def __init__(self, places: npt.NDArray[np.int32]) -> None:
        self._places = places
        self._order: Index | None = None
        self._known: dict[int, Numbers] = {}

    def delta(self, delta: Delta) -> Delta:
        return Delta(
            tuple(self._column(column) for column in delta.columns),
            self._numbers(delta.start),
            self._numbers(delta.end),
            self._weight(delta.weight),
            None if delta.position is None else self._numbers(delta.position),
        )

    def _column(self, column: Vector) -> Vector:
        if isinstance(column.data, np.ndarray):
            valid = None if column.valid is None else self._numbers(column.valid)
            return Vector(column.type, self._numbers(column.data), valid)
        if self._order is None:
            self._order = np.empty(len(self._places), np.int64)
            self._order[self._places] = np.arange(len(self._places))
        return column.take(self._order)

    def _weight(self, weight: Times) -> Times:
        return weight if (weight == weight[0]).all() else self._numbers(weight)

    def _numbers(self, numbers: Numbers) -> Numbers:
        known = self._known.get(id(numbers))
        if known is None:
            words = _WORDS[numbers.dtype.itemsize]
            known = self._known[id(numbers)] = np.empty(len(numbers), numbers.dtype)
            given = np.ascontiguousarray(numbers).view(words)
            given.setflags(write=False)  # one compiled form for mapped and other arrays
            scatter(given, self._places, known.view(words))
        return known
