"""How a job runs: as one in a folder was measured, or as it is measured here for a while."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.adapt.decisions import Decision
from thalweg.errors import QueryError
from thalweg.job.checkpoint import job_folder, work_of_script
from thalweg.job.plain import PlainJob
from thalweg.job.rehearsal import rehearse
from thalweg.job.run import POLL_SECONDS
from thalweg.job.script import refuse_memory, work_of
from thalweg.outlet.decided import kept_decisions
from thalweg.outlet.measuring import Account, kept_account
from thalweg.program import Program
from thalweg.report import RunReport
from thalweg.run import Notice, read_tables
from thalweg.work import ROWS_PER_BATCH

# A batch that takes no longer than a moment, so that the run ends in time.
_ROWS_PER_BATCH = 100_000


@dataclass(frozen=True)
class Analysis:
    account: Account
    decisions: list[tuple[int, Decision]]
    shards: int


def analyze_kept(program: Program, checkpoint: Path) -> Analysis:
    """What is known of a job that runs, or ran, in a folder."""
    work = work_of_script(checkpoint, work_of(program, checkpoint, {}, ROWS_PER_BATCH, []))
    account = kept_account(checkpoint)
    if account is None:
        raise QueryError(
            f"nothing is measured in {checkpoint} yet", hint="wait for its first batch"
        )
    return Analysis(account, list(kept_decisions(checkpoint)), work.shards)


def analyze_run(program: Program, seconds: float, notice: Notice) -> Analysis:
    """Run a program in this process until it is done, or for so long; nobody gets its answers."""
    refuse_memory(program)
    with job_folder(None, notice) as folder:
        tables = read_tables(program, RunReport(), None, notice)
        work = work_of(program, folder.root, tables, _ROWS_PER_BATCH, [])
        work = replace(work, followed=frozenset())
        notice("preparing the first batch")
        work.save()
        rehearse(work.root)
        notice("running")
        job = PlainJob(work)
        deadline = time.monotonic() + seconds
        while not job.entry.finished and time.monotonic() < deadline:
            if job.entry.waits and not job.begin():
                time.sleep(POLL_SECONDS)
            else:
                job.batch(flush=True)
        account = kept_account(work.root) or Account()
        return Analysis(account, list(kept_decisions(work.root)), work.shards)
