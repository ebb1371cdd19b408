"""A job from its start to its end: one Spark query for all queries of a script."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from thalweg.control import ControlLog
from thalweg.intake.take import Taken
from thalweg.job.source import ThalwegSource
from thalweg.job.stateful import OUTPUT, STATE, shard_function
from thalweg.outlet.commit import first_entry, next_entry, sweep
from thalweg.shard.step import ShardResult
from thalweg.sources import Accepted, Reject
from thalweg.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class Progress:
    """What has been done so far."""

    batches: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    late: dict[str, list[Accepted]] = field(default_factory=dict)
    rejects: dict[str, list[Reject]] = field(default_factory=dict)
    latest: dict[str, int | None] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    failures: set[tuple[str, str, str]] = field(default_factory=set)


def run_job(
    spark: SparkSession, work: Work, notice: Callable[[Progress], None] = lambda p: None
) -> Progress:
    """Run until all input is read and answered."""
    work.save()
    log = ControlLog(work.root)
    log.write(first_entry(work))
    spark.dataSource.register(ThalwegSource)
    labels = _labels(spark, work.shards)
    root = str(work.root)
    progress = Progress()

    def after_batch(frame: DataFrame, number: int) -> None:
        rows = frame.collect()
        if not rows:
            return
        batch = rows[0]["batch"]
        done: list[tuple[ShardResult, list[Taken]]] = [pickle.loads(row["body"]) for row in rows]
        takes = done[0][1]
        entry = log.read(batch)
        log.write(next_entry(work, entry, takes, [result for result, _ in done]))
        sweep(work.root, batch)
        _count(progress, takes, [result for result, _ in done])
        notice(progress)

    source = spark.readStream.format("thalweg").options(
        root=root, labels=",".join(map(str, labels))
    )
    query = (
        source.load()
        .groupBy("label")
        .applyInPandasWithState(shard_function(root, labels), OUTPUT, STATE, "append", "NoTimeout")
        .writeStream.option("checkpointLocation", str(work.root / "checkpoint"))
        .trigger(processingTime="0 seconds")
        .foreachBatch(after_batch)
        .start()
    )
    while query.isActive and not _finished(log, query):
        time.sleep(0.02)
    failure = query.exception()
    query.stop()
    if failure is not None:
        raise RuntimeError(str(failure).split("\n")[0])
    return progress


def _finished(log: ControlLog, query: Any) -> bool:
    last = query.lastProgress
    if last is None:
        return False
    batch = 1 + int(last["batchId"])
    return any(log.has(b) and log.read(b).finished for b in (batch, batch - 1))


def _count(progress: Progress, takes: list[Taken], results: list[ShardResult]) -> None:
    progress.batches += 1
    for taken in takes:
        progress.rows[taken.stream] = progress.rows.get(taken.stream, 0) + taken.rows
        progress.late.setdefault(taken.stream, []).extend(taken.late)
        progress.rejects.setdefault(taken.stream, []).extend(taken.rejects)
        progress.latest[taken.stream] = taken.largest
    for result in results:
        progress.failures.update(result.failures)
        for name, number in result.records.items():
            progress.records[name] = progress.records.get(name, 0) + number


def _labels(spark: SparkSession, shards: int) -> list[int]:
    """Numbers for the shards that Spark's hash spreads evenly over its partitions."""
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 2)
    owners: dict[int, list[int]] = {i: [] for i in range(partitions)}
    expression = f"pmod(hash(cast(id as int)), {partitions}) as owner"
    for row in spark.range(64 * shards * partitions).selectExpr("id", expression).collect():
        owners[row["owner"]].append(row["id"])
    return [owners[i % partitions][i // partitions] for i in range(shards)]
