"""A run that somebody watches and may interrupt."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from thalweg.catalog import Query
from thalweg.interrupts import Interrupts
from thalweg.job.run import BatchDone, Job
from thalweg.job.script import run_on_spark, show
from thalweg.job.session import kill
from thalweg.program import Program
from thalweg.progress import Progress, Standing
from thalweg.report import RunReport
from thalweg.sinks.console import instant_at
from thalweg.work import ROWS_PER_BATCH


def run_attended(
    program: Program,
    out: Path | None,
    file_format: str,
    console: Console,
    interrupts: Interrupts,
    *,
    master: str,
    checkpoint: Path | None,
    rows_per_batch: int | None,
    shards: int | None,
) -> RunReport:
    """`run_on_spark` with a line that says how far it is, ended well by the first signal."""
    query = program.catalog.queries()[0]
    interrupts.ask(None, kill)
    with Progress(console) as progress:

        def follow(done: BatchDone) -> None:
            if interrupts.code is not None:
                return
            if done.decisions and console.is_terminal:
                with progress.printing():
                    for decision in done.decisions:
                        console.print(f"decided: {decision}", markup=False, highlight=False)
            progress.update(standing_of(done, query))

        def display(done: BatchDone, shown: list[Query]) -> None:
            with progress.printing():
                show(done, shown)

        def attend(job: Job) -> None:
            def stop() -> None:
                progress.notice("stopping after this batch; once more to stop at once")
                job.stop()

            interrupts.ask(stop, kill)
            job.wait()
            progress.notice("ending")

        return run_on_spark(
            program,
            out,
            file_format,
            progress.notice,
            master,
            rows_per_batch=rows_per_batch or ROWS_PER_BATCH,
            checkpoint=checkpoint,
            attend=attend,
            follow=follow,
            shards=shards,
            display=display,
        )


def standing_of(done: BatchDone, query: Query) -> Standing:
    """Where a run stands after a batch; instants are written as those of a query."""
    return Standing(
        sum(done.entry.rows.values()),
        sum(done.entry.records.values()),
        "" if done.answered is None else instant_at(done.answered, query),
        done.seconds,
        done.state_size,
    )
