"""A few rows through all of a job before its workers are forked.

Compiled code is loaded when it is first called, with the types it is called with. The
daemon that forks the workers calls all of it once, on the first rows of the real
streams; the workers then find it in their memory. (m) Without this, each worker spends
more than a second of its first batches on it.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from thalweg.job.plain import PlainJob
from thalweg.shard.working import remove_working_state
from thalweg.work import Work

# Names the folder of the job that workers are started for.
JOB = "THALWEG_JOB"
_ROWS = 60
_BATCHES = 3
# Compiling takes a second for each function that is not known yet. A job with more
# queries begins sooner when that happens aside, while they run.
_QUERIES_WORTH_WAITING = 10


def rehearse(root: Path) -> None:
    """Warm up for a job; what goes wrong here will be told when it counts."""
    if not Work.is_saved(root):
        return
    with suppress(Exception), tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        _rehearse(Work.load(root), Path(folder))


def _rehearse(work: Work, folder: Path) -> None:
    own = replace(
        work,
        root=folder,
        shards=2,
        rows_per_batch=_ROWS,
        part_sinks=tuple(replace(sink, folder=folder / "parts") for sink in work.part_sinks),
    )
    (folder / "spool").symlink_to(work.root / "spool")
    if len(work.placement.queries) <= _QUERIES_WORTH_WAITING:
        work.warm()
    try:
        job = PlainJob(own)
        for _ in range(_BATCHES):
            job.batch(flush=True)
    finally:
        remove_working_state(folder)
