"""What runs inside Spark's Python workers: takes and shard steps, with what a process keeps."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from thalweg.clock import wall_clock
from thalweg.control import ControlLog, Entry
from thalweg.intake.slices import Cursor
from thalweg.intake.take import Intake, Taken, together
from thalweg.job.failures import carries_mistakes
from thalweg.outlet.begin import begin_batch
from thalweg.segments import Piece
from thalweg.shard.step import Shard, ShardResult
from thalweg.work import Work


class Start(NamedTuple):
    """A start of the job in some folder: what processes keep from another start, perhaps of
    another job that had the folder before, is nothing to this one."""

    root: str
    token: str

    @property
    def log(self) -> ControlLog:
        return ControlLog(Path(self.root))


@lru_cache(maxsize=4)
def _work(job: Start) -> Work:
    for kept in (_entry, _intake, _shard):
        kept.cache_clear()
    return Work.load(Path(job.root))


@lru_cache(maxsize=2)
def _entry(job: Start, batch: int) -> Entry:
    """The control entry of a batch; it is written once."""
    return job.log.read(batch)


# A reader has a file open, and a process may have some thousand.
@lru_cache(maxsize=512)
def _intake(job: Start, stream: str) -> Intake:
    return _work(job).intake(stream)


@lru_cache(maxsize=256)
def _shard(job: Start, number: int) -> Shard:
    return Shard(_work(job), number)


@carries_mistakes
def begins(job: Start, batch: int, stopping: bool) -> bool:
    """Whether a batch has something to do, by the clock if its sources are live."""
    if not job.log.has(batch):
        return False
    entry = job.log.read(batch)
    if entry.waits:
        entry = begin_batch(_work(job), job.log, batch, wall_clock(), stopping)
    return not entry.waits and not entry.finished


@carries_mistakes
def take_batch(job: Start, batch: int, stream: str, part: int) -> Taken:
    """Read a part of what a batch is to have of a stream."""
    work = _work(job)
    entry = _entry(job, batch)
    cursor = Cursor.from_json(entry.cursors[stream])
    folder = work.root / "segments" / f"{batch:09d}"
    return _intake(job, stream).take(cursor, entry.takes[stream], part, folder, entry.plans)


@carries_mistakes
def shard_batch(
    job: Start, number: int, batch: int, bodies: list[bytes], manifest: bytes | None
) -> tuple[ShardResult, list[Taken]]:
    """Do a shard's part of a batch; `bodies` are what the takes sent it."""
    takes: list[Taken] = []
    pieces: list[Piece] = []
    for body in bodies:
        taken, own = pickle.loads(body)
        takes += taken
        pieces += own
    takes = together(takes)
    shard = _shard(job, number)
    return shard.step(_entry(job, batch), takes, pieces, manifest), takes
