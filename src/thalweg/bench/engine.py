"""The engine as a user runs it: a script in a folder, answers in Parquet files."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from thalweg.bench.digest import Digest, digest_of_files
from thalweg.bench.spark_batches import SETTINGS, batches_of, span, summed
from thalweg.bench.trial import CORES, Batch, Run, after_warm_ups, checked
from thalweg.cql.script import read_script
from thalweg.job.run import Job as RunningJob
from thalweg.job.script import run_on_spark
from thalweg.job.session import session
from thalweg.program import bind_script

# The folder beside a script into which its sinks write.
OUT = "out"


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
        spark = session(f"local[{CORES}]", folder, settings=SETTINGS)
        try:
            return after_warm_ups(
                jobs,
                lambda job: _run(spark, job.warm_up, job.rows_per_batch),
                lambda job: _run(spark, job.feed, job.rows_per_batch),
            )
        finally:
            spark.stop()


def _run(spark: SparkSession, feed: Feed, rows_per_batch: int) -> Run:
    out = feed.script.parent / OUT
    shutil.rmtree(out, ignore_errors=True)
    program = bind_script(read_script(feed.script), (feed.script.parent,))
    spent: Counter[str] = Counter()
    batches: list[Batch] = []

    def attend(started: RunningJob) -> None:
        started.wait()
        batches.extend(batches_of(started.query))

    report = run_on_spark(
        program,
        spark=spark,
        rows_per_batch=rows_per_batch,
        attend=attend,
        follow=lambda done: spent.update(done.spent),
    )
    answers = digest_of_files(sorted(out.rglob("*.parquet")), feed.columns, feed.until)
    began, committed = span(batches)
    rows = sum(counts.accepted for counts in report.streams.values())
    tasks = {f"task: {what}": seconds for what, seconds in spent.items()}
    run = Run(rows, committed - began, tuple(batches), summed(batches) | tasks)
    shutil.rmtree(out)
    return checked(run, answers, feed.expected)
