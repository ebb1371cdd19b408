"""Run a script on Spark: read everything, answer everything, stop."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.answers import Change
from thalweg.catalog import Query
from thalweg.deliver import deliver, print_merged, stamped
from thalweg.errors import QueryError
from thalweg.job.run import Progress, run_job
from thalweg.job.settings import session
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.outlet.answers import answer_of, changes_of
from thalweg.outputs import targets_of
from thalweg.plan.expressions import walk
from thalweg.plan.text import expression_text
from thalweg.program import Program
from thalweg.report import RunReport, StreamCounts, doubts
from thalweg.run import Notice, make_folder, read_tables
from thalweg.sinks.columns import write_records
from thalweg.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARDS = 4
ROWS_PER_BATCH = 500_000


def run_on_spark(
    program: Program,
    out: Path | None = None,
    file_format: str = "jsonl",
    notice: Notice = lambda text: None,
    master: str = "local[*]",
    spark: SparkSession | None = None,
    rows_per_batch: int = ROWS_PER_BATCH,
) -> RunReport:
    """Answer every query of a program, as `run_on_reference` does."""
    report = RunReport()
    targets = targets_of(program, out, file_format)
    make_folder(out)
    tables = read_tables(program, report, out, notice)
    with tempfile.TemporaryDirectory(prefix="thalweg-") as folder:
        work = work_of(program, Path(folder), tables, rows_per_batch)
        notice("starting Spark")
        running = spark or session(master, work.root)
        progress = run_job(running, work, lambda done: notice(_line(done)))
        _report_streams(program, progress, report, out)
        shown: list[Iterator[tuple[int, Query, Change]]] = []
        for query in program.catalog.queries():
            notice(f"writing {query.name}")
            report.records[query.name] = progress.records.get(query.name, 0)
            written = (work.root, query.name, query.plan.schema, work.shards)
            own = [target for target in targets if target.query is query]
            for target in own:
                if target.path is None:
                    deliver(changes_of(*written), target)
                else:
                    write_records(target.path, target.kind.name, query, answer_of(*written))
                    report.files.append(target.path)
            if not targets:
                shown.append(stamped(query, list(changes_of(*written))))
            elif not own:
                report.unwritten.add(query.name)
            own_calls = _calls(query)
            noted = sorted(note for note in progress.failures if note[0] in own_calls)
            report.list_failures(out, query, noted)
        print_merged(shown)
        if spark is None:
            running.stop()
    return report


def work_of(
    program: Program, root: Path, tables: dict[str, list[tuple[object, ...]]], rows: int
) -> Work:
    """The job of a program."""
    streams = {stream.name: stream for stream in program.catalog.streams()}
    for stream in streams.values():
        if stream.time_column is None:
            raise QueryError(
                f'stream "{stream.name}" is fed from memory',
                hint="the engine on Spark reads files and generators",
            )
    plans = {query.name: rewrite(query.plan, RULES).plan for query in program.catalog.queries()}
    return Work(
        root,
        place(plans, streams),
        streams,
        {name: program.read_request(stream) for name, stream in streams.items()},
        tables,
        program.folders,
        program.catalog.finest_tick(),
        SHARDS,
        rows,
    )


def _report_streams(
    program: Program, progress: Progress, report: RunReport, out: Path | None
) -> None:
    for stream in program.catalog.streams():
        name = stream.name
        late, rejects = progress.late.get(name, []), progress.rejects.get(name, [])
        rows = progress.rows.get(name, 0)
        report.streams[name] = StreamCounts(rows, len(late), len(rejects))
        report.list_refused(out, stream, late, rejects)
        report.notes += doubts(stream, rows, progress.latest.get(name), rejects)


def _calls(query: Query) -> set[str]:
    """The texts of all expressions of a query: operators that several share note a failure once."""
    return {
        expression_text(part)
        for node in query.plan.walk()
        for expression in node.expressions
        for part in walk(expression)
    }


def _line(progress: Progress) -> str:
    return f"{sum(progress.rows.values()):,} rows in {progress.batches} batches"
