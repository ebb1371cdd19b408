"""What runs inside Spark's Python workers: takes and shard steps, with what a process keeps."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path

from thalweg.control import ControlLog
from thalweg.dataflow import Dataflow
from thalweg.intake.reading import Cursor, StreamReader
from thalweg.intake.take import Taken, take
from thalweg.job.failures import carries_mistakes
from thalweg.segments import Piece
from thalweg.shard.step import Shard, ShardResult
from thalweg.work import Work


@lru_cache(maxsize=4)
def work_of(root: str) -> Work:
    return Work.load(Path(root))


@lru_cache(maxsize=64)
def _reading(root: str, stream: str) -> tuple[StreamReader, Dataflow]:
    work = work_of(root)
    return work.reader(stream), work.intake(stream)


@lru_cache(maxsize=256)
def _shard(root: str, number: int) -> Shard:
    return Shard(work_of(root), number)


@carries_mistakes
def take_batch(root: str, stream: str, batch: int) -> Taken:
    """Read what a batch is to have of a stream."""
    work = work_of(root)
    entry = ControlLog(work.root).read(batch)
    reader, fragments = _reading(root, stream)
    return take(
        stream,
        reader,
        fragments,
        [exchange for exchange in work.placement.exchanges if exchange.stream == stream],
        Cursor.from_json(entry.cursors[stream]),
        work.rows_per_batch,
        work.shards,
        work.root / "segments" / f"{batch:09d}",
    )


@carries_mistakes
def shard_batch(
    root: str, number: int, batch: int, bodies: list[bytes], manifest: bytes | None
) -> tuple[ShardResult, list[Taken]]:
    """Do a shard's part of a batch; `bodies` are what the takes sent it."""
    takes: list[Taken] = []
    pieces: list[Piece] = []
    for body in bodies:
        taken, own = pickle.loads(body)
        takes.append(taken)
        pieces += own
    entry = ControlLog(Path(root)).read(batch)
    return _shard(root, number).step(entry, takes, pieces, manifest), takes
