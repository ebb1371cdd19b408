"""What runs inside Spark's Python workers: takes and shard steps, with what a process keeps."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path

from thalweg.clock import wall_clock
from thalweg.control import ControlLog, Entry
from thalweg.intake.slices import Cursor
from thalweg.intake.take import Intake, Taken, together
from thalweg.job.failures import carries_mistakes
from thalweg.outlet.begin import begin_batch
from thalweg.segments import Piece
from thalweg.shard.step import Shard, ShardResult
from thalweg.work import Work


@lru_cache(maxsize=4)
def work_of(root: str) -> Work:
    return Work.load(Path(root))


@lru_cache(maxsize=2)
def _entry(root: str, batch: int) -> Entry:
    """The control entry of a batch; it is written once."""
    return ControlLog(Path(root)).read(batch)


# A reader has a file open, and a process may have some thousand.
@lru_cache(maxsize=512)
def _intake(root: str, stream: str) -> Intake:
    return work_of(root).intake(stream)


@lru_cache(maxsize=256)
def _shard(root: str, number: int) -> Shard:
    return Shard(work_of(root), number)


@carries_mistakes
def begins(root: str, batch: int, stopping: bool) -> bool:
    """Whether a batch has something to do, by the clock if its sources are live."""
    log = ControlLog(Path(root))
    if not log.has(batch):
        return False
    entry = log.read(batch)
    if entry.waits:
        entry = begin_batch(work_of(root), log, batch, wall_clock(), stopping)
    return not entry.waits and not entry.finished


@carries_mistakes
def take_batch(root: str, batch: int, stream: str, part: int) -> Taken:
    """Read a part of what a batch is to have of a stream."""
    work = work_of(root)
    entry = _entry(root, batch)
    cursor = Cursor.from_json(entry.cursors[stream])
    folder = work.root / "segments" / f"{batch:09d}"
    return _intake(root, stream).take(cursor, entry.takes[stream], part, folder)


@carries_mistakes
def shard_batch(
    root: str, number: int, batch: int, bodies: list[bytes], manifest: bytes | None
) -> tuple[ShardResult, list[Taken]]:
    """Do a shard's part of a batch; `bodies` are what the takes sent it."""
    takes: list[Taken] = []
    pieces: list[Piece] = []
    for body in bodies:
        taken, own = pickle.loads(body)
        takes += taken
        pieces += own
    takes = together(takes)
    return _shard(root, number).step(_entry(root, batch), takes, pieces, manifest), takes
