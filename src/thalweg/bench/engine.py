"""The engine as a user runs it: a script in a folder, answers in Parquet files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg.bench.digest import Digest, digest_of_files
from thalweg.bench.spark_batches import span, summed, watched
from thalweg.bench.trial import CORES, Run, after_warm_ups, checked
from thalweg.cql.script import read_script
from thalweg.job.script import run_on_spark
from thalweg.job.settings import session
from thalweg.program import bind_script


@dataclass(frozen=True, slots=True)
class Feed:
    """A script over some rows, and what its queries must answer in these columns, perhaps
    up to a certain instant."""

    script: Path
    columns: tuple[str, ...]
    expected: Digest
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be timed; `rows_per_batch` counts the rows of all streams."""

    warm_up: Feed
    feed: Feed
    rows_per_batch: int


def run_thalweg(jobs: Sequence[Job]) -> list[Run]:
    """Steady runs of scripts, one after the other in one session."""
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as name:
        folder = Path(name)
        spark = session(f"local[{CORES}]", folder)
        try:
            return after_warm_ups(
                jobs,
                lambda job: _run(spark, job.warm_up, folder / "warm-up", job.rows_per_batch),
                lambda job: _run(spark, job.feed, folder / "out", job.rows_per_batch),
            )
        finally:
            spark.stop()


def _run(spark: SparkSession, feed: Feed, out: Path, rows_per_batch: int) -> Run:
    program = bind_script(read_script(feed.script), (feed.script.parent,))
    rows_per_stream = rows_per_batch // len(program.catalog.streams())
    with watched(spark) as reports:
        report = run_on_spark(program, out, "parquet", spark=spark, rows_per_batch=rows_per_stream)
    files = sorted(out.rglob("*.parquet"))
    answers = digest_of_files(files, feed.columns, feed.until)
    began, committed = span(reports.batches)
    # A file that is written after the last batch belongs to the run.
    ended = max([committed, *(file.stat().st_ctime for file in files)])
    rows = sum(counts.accepted for counts in report.streams.values())
    parts = summed(reports.batches) | {"after the last batch": ended - committed}
    run = Run(rows, ended - began, reports.batches, parts)
    shutil.rmtree(out)
    return checked(run, answers, feed.expected)
