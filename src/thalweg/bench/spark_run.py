"""Spark's own streaming queries over the same files, as well set up as we know how.

The settings that make a micro-batch of the engine short (`job/settings.py`) are set
here too; there are as many shuffle partitions as cores; RocksDB writes changelogs
and does not count its rows, which would cost a look-up for each write.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from thalweg.bench.data import FILES_PER_SLICE, Dataset
from thalweg.bench.digest import Digest, digest_of_files
from thalweg.bench.spark_batches import SETTINGS, batches_of, span, summed
from thalweg.bench.trial import CORES, Run, after_warm_ups, checked

_STREAMING = "org.apache.spark.sql.execution.streaming"
_MEMORY = "4g"


class StateStore(StrEnum):
    ROCKSDB = "RocksDBStateStoreProvider"
    MEMORY = "HDFSBackedStateStoreProvider"


@dataclass(frozen=True, slots=True)
class SparkFeed:
    """Some rows, and what a query over them must answer in these columns, perhaps up to a
    certain instant."""

    dataset: Dataset
    columns: tuple[str, ...]
    expected: Digest
    until: int | None = None


# A query over the streams of a dataset, each by its name.
Query = Callable[[Callable[[str], DataFrame]], DataFrame]


def spark_session(folder: Path, store: StateStore, counts_rows: bool = False) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    settings = {
        **SETTINGS,
        "spark.driver.memory": _MEMORY,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder / "local"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": str(CORES),
        "spark.sql.streaming.checkpointFileManagerClass": (
            f"{_STREAMING}.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.streaming.stateStore.providerClass": f"{_STREAMING}.state.{store}",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": str(counts_rows).lower(),
    }
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("bench")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@dataclass(frozen=True, slots=True)
class SparkJob:
    """A run to be timed."""

    query: Query
    schemas: dict[str, str]
    warm_up: SparkFeed
    feed: SparkFeed
    slices_per_batch: int


def run_spark(store: StateStore, jobs: Sequence[SparkJob]) -> list[Run]:
    """Steady runs of queries into Parquet files, one after the other in one session."""
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as name:
        spark = spark_session(Path(name), store)
        try:
            return after_warm_ups(
                jobs,
                lambda job: _run(spark, job, job.warm_up, Path(name)),
                lambda job: _run(spark, job, job.feed, Path(name)),
            )
        finally:
            spark.stop()


def _run(spark: SparkSession, job: SparkJob, feed: SparkFeed, scratch: Path) -> Run:
    # Spark refuses a folder that another query of the session has used.
    folder = Path(tempfile.mkdtemp(dir=scratch))

    def stream(name: str) -> DataFrame:
        files = FILES_PER_SLICE * job.slices_per_batch
        reader = spark.readStream.schema(job.schemas[name]).option("maxFilesPerTrigger", files)
        return reader.parquet(str(feed.dataset.folder / name))

    out = folder / "out"
    running = (
        job.query(stream)
        .writeStream.format("parquet")
        .option("path", str(out))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    batches = batches_of(running)
    began, ended = span(batches)
    run = Run(feed.dataset.rows, ended - began, batches, summed(batches))
    answers = digest_of_files(sorted(out.glob("*.parquet")), feed.columns, feed.until)
    shutil.rmtree(folder, ignore_errors=True)
    return checked(run, answers, feed.expected)
