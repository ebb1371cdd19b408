"""Run a script on Spark: from its streams to its sinks, until all is answered or it is stopped."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.catalog import Query
from thalweg.clock import wall_clock
from thalweg.control import ControlLog
from thalweg.deliver import print_merged, stamped
from thalweg.job.checkpoint import going_on, job_folder
from thalweg.job.failures import JobFailed
from thalweg.job.rehearsal import JOB
from thalweg.job.run import BatchDone, Job
from thalweg.job.session import end, session
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.outlet.answers import pieces_of, records_after, records_of
from thalweg.outlet.aside import read_aside
from thalweg.outputs import Target, targets_of
from thalweg.program import Program
from thalweg.report import RunReport, StreamCounts, doubts
from thalweg.run import Notice, make_folder, read_tables
from thalweg.sinks.columns import write_records
from thalweg.work import ROWS_PER_BATCH, SHARDS, PartSink, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Called with a job that has started; returns when it is over.
Attend = Callable[[Job], None]
# Called with a batch that has records, and the queries that are shown.
Display = Callable[[BatchDone, list[Query]], None]


def run_on_spark(
    program: Program,
    out: Path | None = None,
    file_format: str = "jsonl",
    notice: Notice = lambda text: None,
    master: str = "local[*]",
    spark: SparkSession | None = None,
    rows_per_batch: int = ROWS_PER_BATCH,
    checkpoint: Path | None = None,
    attend: Attend = Job.wait,
    follow: Callable[[BatchDone], None] = lambda done: None,
    shards: int | None = None,
    display: Display | None = None,
) -> RunReport:
    """Answer every query of a program, as `run_on_reference` does.

    With a `checkpoint`, a run that was stopped or killed goes on where it was. What goes
    to the terminal is printed there, or given to `display`.
    """
    refuse_memory(program)
    report = RunReport()
    targets = targets_of(program, out, file_format)
    make_folder(out)
    with job_folder(checkpoint, notice) as folder, _log_kept(checkpoint):
        tables = read_tables(program, report, out, notice)
        fresh = work_of(program, folder.root, tables, rows_per_batch, targets, shards or SHARDS)
        work = going_on(fresh, shards)
        report.went_on = ControlLog(folder.root).last() or 0
        queries = program.catalog.queries()
        shown = [query for query in queries if not targets or is_shown(query, targets)]
        notice("starting Spark")
        os.environ[JOB] = str(folder.root)
        running = spark or session(master, folder.spark, folder.lock)

        def after_batch(done: BatchDone) -> None:
            if shown and done.entry.answers:
                (display or show)(done, shown)
            follow(done)

        work = replace(work, parallel=running.sparkContext.defaultParallelism)
        job = Job(running, work, after_batch)
        try:
            notice("starting the job")
            job.start()
            notice("preparing the first batch")
            attend(job)
        finally:
            if spark is None:
                end(running)
        report_on(program, job, work, targets, report, out, notice)
    return report


@contextmanager
def _log_kept(checkpoint: Path | None) -> Iterator[None]:
    """The log of a job that failed outlives a folder that does not."""
    try:
        yield
    except JobFailed as failure:
        if checkpoint is None and failure.log is not None and failure.log.exists():
            handle, kept = tempfile.mkstemp(prefix="thalweg-", suffix=".log")
            os.close(handle)
            shutil.copyfile(failure.log, kept)
            failure.log = Path(kept)
        raise


def refuse_memory(program: Program) -> None:
    for stream in program.catalog.streams():
        request = program.read_request(stream)
        if request.connector.name == "memory":
            raise request.error(
                f'stream "{stream.name}" is fed from memory',
                hint="feed it from Python with thalweg.Engine, or read a file or a generator",
            )


def is_shown(query: Query, targets: list[Target]) -> bool:
    """Whether a query has a sink that is the terminal."""
    return any(t.query is query and t.path is None for t in targets)


def show(done: BatchDone, shown: list[Query]) -> None:
    """The records of a batch on the terminal, in the order of time."""
    schemas = {query.name: query.plan.schema for query in shown}
    wanted = [piece for piece in done.entry.answers if piece.query in schemas]
    records = dict(records_after(replace(done.entry, answers=wanted), schemas))
    print_merged([stamped(q, records[q.name].changes()) for q in shown if q.name in records])


# What a job is to do


def work_of(
    program: Program,
    root: Path,
    tables: dict[str, list[tuple[object, ...]]],
    rows: int,
    targets: list[Target],
    shards: int = SHARDS,
) -> Work:
    """The job of a program; without targets, its answers are followed."""
    streams = {stream.name: stream for stream in program.catalog.streams()}
    queries = program.catalog.queries()
    plans = {query.name: rewrite(query.plan, RULES).plan for query in queries}
    whole = [target for target in targets if target.path is not None and not target.in_parts]
    followed = {target.query.name for target in whole}
    followed |= {q.name for q in queries if not targets or is_shown(q, targets)}
    return Work(
        root,
        place(plans, streams),
        streams,
        {name: program.read_request(stream) for name, stream in streams.items()},
        tables,
        program.folders,
        program.catalog.finest_tick(),
        shards,
        rows,
        tuple(
            PartSink(target.query, target.kind.name, target.kind.suffix or "", target.path)
            for target in targets
            if target.in_parts and target.path is not None
        ),
        frozenset(followed),
        bool(whole),
        begun=wall_clock(),
        adaptations={query.name: query.settings.adaptation for query in queries},
    )


# What came of it


def report_on(
    program: Program,
    job: Job,
    work: Work,
    targets: list[Target],
    report: RunReport,
    out: Path | None,
    notice: Notice,
) -> None:
    """Say what came of a job that is over, and write the files that wait for its end."""
    assert job.entry is not None, "a job that has started has an entry"
    report.finished, report.answered = job.is_finished, job.answered
    aside = read_aside(work.root)
    for stream in program.catalog.streams():
        name = stream.name
        late, rejects = aside.late[name], aside.rejects[name]
        rows = job.entry.rows.get(name, 0)
        report.streams[name] = StreamCounts(rows, len(late), len(rejects))
        report.list_refused(out, stream, late, rejects)
        latest = job.entry.cursors[name].get("largest")
        report.notes += doubts(stream, rows, latest, rejects)
    pieces = pieces_of(work.root) if work.keeps_answers else {}
    for query in program.catalog.queries():
        report.records[query.name] = job.entry.records.get(query.name, 0)
        own = [target for target in targets if target.query is query]
        for target in own:
            if target.path is None:
                continue
            if not target.in_parts:
                notice(f"writing {query.name}")
                records = records_of(pieces.get(query.name, []), query.plan.schema)
                write_records(target.path, target.kind.name, query, records)
            report.files.append(target.path)
        if targets and not own:
            report.unwritten.add(query.name)
        report.list_failures(out, query, sorted(aside.failures[query.name]))
