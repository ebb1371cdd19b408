"""Input for the benchmarks: made-up streams in Parquet files, the same every time.

A stream is cut into slices of event time, each of two files, so that Spark's file
source can be given as many rows in a batch as the engine takes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

Numbers = npt.NDArray[Any]

SEED = 7
EPOCH_US = 1_700_000_000_000_000
FILES_PER_SLICE = 2
PACKETS_PER_SECOND = 10_000

# Of the packets of C so many are seen at B, and of those so many at O.
_AT_B, _AT_O = 0.9, 0.8
_ROWS_PER_PACKET = 1 + _AT_B + _AT_B * _AT_O
_FIRST_FILE_SECONDS = 1_700_000_000


@dataclass(frozen=True, slots=True)
class Dataset:
    """Streams by name, each a subfolder of files; `slices` of each, with so many rows in all."""

    folder: Path
    rows: int
    slices: int

    def files(self, stream: str, first: int = 0, end: int | None = None) -> list[Path]:
        """The files of some slices of a stream, in the order of time."""
        last = self.slices if end is None else end
        return [
            self.folder / stream / _file_name(slice_, half)
            for slice_ in range(first, last)
            for half in range(FILES_PER_SLICE)
        ]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a stream in the order of time; `ts` counts microseconds from the epoch."""

    ts: Numbers
    columns: Mapping[str, Numbers | pa.Array]


def packets(
    cache: Path, rows: int, rows_per_slice: int, per_second: int = PACKETS_PER_SECOND
) -> Dataset:
    """Streams C, B and O (pid, ts, size): a packet is seen at C, at B and at O seconds later."""

    def streams() -> Iterator[tuple[str, Rows]]:
        count = 1 + int(rows / (_ROWS_PER_PACKET - 0.02))
        rng = np.random.default_rng(SEED)
        at_c = np.arange(count, dtype=np.int64) * (1_000_000 // per_second)
        pid = rng.permutation(count).astype(np.int64) * 7919 + 13
        size = rng.integers(40, 1500, count).astype(np.int32)
        at_b = at_c + rng.integers(500_000, 3_000_000, count)
        at_o = at_b + rng.integers(500_000, 3_000_000, count)
        seen_b = rng.random(count) < _AT_B
        seen_o = seen_b & (rng.random(count) < _AT_O)
        everywhere = np.ones(count, np.bool_)
        for name, at, seen in (
            ("C", at_c, everywhere),
            ("B", at_b, seen_b),
            ("O", at_o, seen_o),
        ):
            order = np.flatnonzero(seen)
            order = order[np.argsort(at[order], kind="stable")]
            yield name, Rows(at[order], {"pid": pid[order], "size": size[order]})

    slices = max(2, round(rows / rows_per_slice))
    return _cached(cache / f"packets-{rows}-{slices}-{per_second}", slices, streams)


def sizes(cache: Path, rows: int, rows_per_slice: int) -> Dataset:
    """One stream S (pid, ts, size) at a steady rate."""

    def streams() -> Iterator[tuple[str, Rows]]:
        rng = np.random.default_rng(SEED)
        at = np.arange(rows, dtype=np.int64) * (1_000_000 // PACKETS_PER_SECOND)
        pid = rng.permutation(rows).astype(np.int64) * 7919 + 13
        size = rng.integers(40, 1500, rows).astype(np.int32)
        yield "S", Rows(at, {"pid": pid, "size": size})

    slices = max(2, round(rows / rows_per_slice))
    return _cached(cache / f"sizes-{rows}-{slices}", slices, streams)


METHODS = ("GET", "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE", "HEAD")
PLACES = ("api/v1/orders", "api/v1/items", "api/v2/orders", "static/logo.png", "health", "login")


def requests(cache: Path, rows: int, rows_per_slice: int) -> Dataset:
    """One stream R of requests: six numbers and two texts."""

    def streams() -> Iterator[tuple[str, Rows]]:
        rng = np.random.default_rng(SEED)
        paths = [
            f"/{place}/{number}" for place in PLACES for number in range(0, 1000, 1 + len(place))
        ]
        columns: dict[str, Numbers | pa.Array] = {
            "id": np.arange(rows, dtype=np.int64),
            "status": rng.choice(np.array([200, 201, 304, 404, 500], np.int32), rows),
            "bytes": rng.integers(0, 1_000_000, rows),
            "millis": rng.exponential(100.0, rows),
            "user_id": rng.integers(0, 1_000_000, rows),
            "port": rng.integers(1024, 65_536, rows).astype(np.int32),
            "score": rng.random(rows),
            "method": _texts(rng, METHODS, rows),
            "path": _texts(rng, paths, rows),
        }
        yield "R", Rows(np.arange(rows, dtype=np.int64) * 100, columns)

    slices = max(2, round(rows / rows_per_slice))
    return _cached(cache / f"requests-{rows}-{slices}", slices, streams)


def _texts(rng: np.random.Generator, choices: tuple[str, ...] | list[str], rows: int) -> pa.Array:
    numbers = rng.integers(0, len(choices), rows).astype(np.int32)
    return pa.DictionaryArray.from_arrays(numbers, pa.array(choices)).cast(pa.string())


def _cached(
    folder: Path, slices: int, streams: Callable[[], Iterator[tuple[str, Rows]]]
) -> Dataset:
    """The data of a folder, made if they are not there."""
    note = folder / "rows.json"
    if not note.exists():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        total, edges = 0, np.empty(0, np.int64)
        for name, rows in streams():
            total += len(rows.ts)
            if not len(edges):
                edges = np.linspace(0, int(rows.ts[-1]) + 1, slices + 1).astype(np.int64)[1:-1]
            _write(partial / name, rows, edges)
        (partial / note.name).write_text(json.dumps({"rows": total}))
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
    return Dataset(folder, json.loads(note.read_text())["rows"], slices)


def _write(folder: Path, rows: Rows, edges: Numbers) -> None:
    """Slices of equal event time, cut at the edges."""
    folder.mkdir(parents=True)
    bounds = [0, *np.searchsorted(rows.ts, edges).tolist(), len(rows.ts)]
    for number, (first, end) in enumerate(pairwise(bounds)):
        cuts = np.linspace(first, end, FILES_PER_SLICE + 1).astype(np.int64)
        for half in range(FILES_PER_SLICE):
            part = slice(int(cuts[half]), int(cuts[half + 1]))
            columns = {name: column[part] for name, column in rows.columns.items()}
            ts = pa.array(rows.ts[part] + EPOCH_US, pa.timestamp("us", "UTC"))
            path = folder / _file_name(number, half)
            table = pa.table({**columns, "ts": ts})
            pq.write_table(table, path, compression="snappy", row_group_size=1 << 24)
            # Spark's file source takes files by their age.
            age = _FIRST_FILE_SECONDS + number * FILES_PER_SLICE + half
            os.utime(path, (age, age))


def _file_name(slice_: int, half: int) -> str:
    return f"{slice_:05d}-{half}.parquet"
