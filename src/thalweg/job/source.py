"""The one data source of a job: every stream, and control, through one scan.

An offset is the number of a batch. What a batch reads stands in the control log,
so the offset that Spark logs names it all.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from thalweg.job.tasks import Start, begins, take_batch

SCHEMA = "label int, batch long, body binary"


class Take(InputPartition):
    """The parts of streams that one task reads. A task tells every shard that the batch is
    on, also when it has nothing for it."""

    def __init__(self, batch: int, parts: tuple[tuple[str, int], ...]) -> None:
        self.batch = batch
        self.parts = parts


class ThalwegSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "thalweg"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return ThalwegReader(self.options)


class ThalwegReader(DataSourceStreamReader):
    def __init__(self, options: Any) -> None:
        self._job = Start(options["root"], options["start"])
        self._labels = [int(label) for label in options["labels"].split(",")]
        # A task costs some milliseconds whatever it reads, so streams share them.
        self._tasks = int(options["cores"])

    def initialOffset(self) -> dict[str, int]:
        return {"batch": 0}

    def latestOffset(self, start: dict[str, int], limit: Any = None) -> dict[str, int]:
        root, batch = Path(self._job.root), start["batch"]
        if is_stopped(root) or not begins(self._job, batch, is_stopping(root)):
            return start
        return {"batch": batch + 1}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        batch = start["batch"]
        entry = self._job.log.read(batch)
        parts = [
            (rows, stream, number)
            for stream, sizes in entry.takes.items()
            for number, rows in enumerate(sizes)
        ]
        return [Take(batch, own) for own in _evenly(parts, self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Take), "partitions are takes"
        takes = [
            take_batch(self._job, partition.batch, stream, part) for stream, part in partition.parts
        ]
        known = [replace(taken, pieces={}) for taken in takes]
        bodies = [
            pickle.dumps((known, [piece for t in takes for piece in t.pieces.get(shard, ())]))
            for shard in range(len(self._labels))
        ]
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(self._labels, pa.int32()),
                pa.array([partition.batch] * len(bodies), pa.int64()),
                pa.array(bodies, pa.binary()),
            ],
            names=["label", "batch", "body"],
        )

    def commit(self, end: dict[str, int]) -> None:
        """The outlet sweeps."""

    def stop(self) -> None:
        """Nothing is open here."""


def _evenly(parts: list[tuple[int, str, int]], tasks: int) -> list[tuple[tuple[str, int], ...]]:
    """Parts as (rows, stream, number), handed out to at most so many tasks."""
    owned: list[list[tuple[str, int]]] = [[] for _ in range(max(1, min(tasks, len(parts))))]
    loads = [0] * len(owned)
    for rows, stream, number in sorted(parts, key=lambda part: (-part[0], part[1:])):
        task = loads.index(min(loads))
        owned[task].append((stream, number))
        loads[task] += rows
    return [tuple(own) for own in owned]


# A job that is asked to stop says so by files: its source lives in another process.
_STOP = "stop"
_STOPPING = "stopping"


def stop_soon(root: Path) -> None:
    """Write what waits to be written, and nothing more."""
    (root / _STOPPING).touch()


def is_stopping(root: Path) -> bool:
    return (root / _STOPPING).exists()


def stop_after_batch(root: Path) -> None:
    (root / _STOP).touch()


def let_run(root: Path) -> None:
    (root / _STOP).unlink(missing_ok=True)
    (root / _STOPPING).unlink(missing_ok=True)


def is_stopped(root: Path) -> bool:
    return (root / _STOP).exists()
