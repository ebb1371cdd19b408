"""What answers have in common with equal answers, whatever the order of their rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thalweg.kernels.hashing import hash_bytes

Words = npt.NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_ODD_1, _ODD_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Digest:
    """How many rows, and their 64-bit hashes added up and put together bit by bit."""

    rows: int = 0
    total: int = 0
    bits: int = 0

    def __add__(self, other: Digest) -> Digest:
        total = (self.total + other.total) % 2**64
        return Digest(self.rows + other.rows, total, self.bits ^ other.bits)


def digest(columns: Sequence[pa.Array | npt.NDArray[Any]]) -> Digest:
    """The digest of rows given column by column; no value is NULL."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        hashes = _scattered(hashes + _STEP) ^ _words(pa.array(column))
    hashes = _scattered(hashes)
    total = int(hashes.sum(dtype=np.uint64)) if len(hashes) else 0
    return Digest(len(hashes), total, int(np.bitwise_xor.reduce(hashes)))


def digest_of_files(
    paths: Iterable[Path], names: Sequence[str], until: int | None = None
) -> Digest:
    """The digest of some columns of Parquet files.

    `until` is the last instant, in microseconds, of the column `time` that counts.
    Records that leave a relation are refused: what is compared are streams.
    """
    whole = Digest()
    for path in paths:
        with pq.ParquetFile(path) as file:
            signed = "sign" in file.schema_arrow.names
            read = [*names, "sign"] if signed else list(names)
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=read)
                if signed and pc.any(pc.not_equal(table["sign"], "+")).as_py():
                    raise AssertionError(f"{path.name} has records that leave")
                if until is not None:
                    time = _as_numbers(table["time"].combine_chunks())
                    table = table.filter(pc.less_equal(time, until))
                whole += digest([table[name].combine_chunks() for name in names])
    return whole


def _words(column: pa.Array) -> Words:
    assert column.null_count == 0, "answers that are compared have no NULL"
    if pa.types.is_string(column.type):
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
        content = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        hashes: Words = hash_bytes(content, offsets)
        return hashes
    numbers: npt.NDArray[Any] = _as_numbers(column).to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "f":
        return (numbers.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    return numbers.astype(np.int64).view(np.uint64)


def _as_numbers(column: pa.Array) -> pa.Array:
    """Times as microseconds, numbers as they are."""
    if not pa.types.is_timestamp(column.type):
        return column
    return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())


def _scattered(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * _ODD_1
    words = (words ^ (words >> np.uint64(27))) * _ODD_2
    return words ^ (words >> np.uint64(31))
