"""How much memory does a row of a window take, with the index to find it by?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.bench.compare import Options, Spread
from thalweg.bench.data import Dataset, packets
from thalweg.bench.digest import Digest, digest_of_files
from thalweg.bench.engine import OUT
from thalweg.bench.expected import small_pairs
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.spark_joins import SCHEMAS
from thalweg.bench.spark_run import StateStore, spark_session
from thalweg.bench.trial import CORES, in_own_process
from thalweg.cql.script import read_script
from thalweg.job.run import BatchDone
from thalweg.job.script import run_on_spark
from thalweg.job.session import session
from thalweg.program import bind_script

ROWS, QUICK_ROWS = 2_000_000, 200_000
# Spark's store in memory keeps every row for hours; it is measured on fewer.
SPARK_ROWS = 400_000

# The last condition needs both rows: neither can be dropped before it is stored.
BELOW = 100
COLUMNS = ("pid", "size", "b_size")
SCRIPT = """\
CREATE STREAM C (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/C');
CREATE STREAM B (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/B');

CREATE QUERY both AS
  SELECT ISTREAM(C.pid, C.size, B.size AS b_size) FROM C [RANGE 10 HOURS], B [RANGE 10 HOURS]
  WHERE C.pid = B.pid AND C.size + B.size < {below};
CREATE SINK written FROM both INTO parquet('{out}/');
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes of state for each row in a window, and what was answered meanwhile."""

    bytes_per_row: float
    answers: Digest


def bench(options: Options, folder: Path) -> Findings:
    rows = options.rows_or(ROWS, QUICK_ROWS)
    options.notice("making data")
    whole = packets(options.cache, rows, rows // 4)
    part = packets(options.cache, min(rows, SPARK_ROWS), min(rows, SPARK_ROWS) // 4)
    findings = Findings("state: bytes for a row (long, timestamp, int) of a window, and its index")
    for system, key, stored_by, dataset, most in (
        ("Thalweg", "bytes_per_row", stored_by_thalweg, whole, 48.0),
        ("Spark", "spark_bytes_per_row", stored_by_spark, part, None),
    ):
        options.notice(system)
        (folder / system).mkdir()
        stored = in_own_process(stored_by, dataset, folder / system)
        if stored.answers != (expected := small_pairs(dataset, BELOW)):
            findings.wrong.append(f"{system}: answers are {stored.answers}, not {expected}")
        value = stored.bytes_per_row
        findings.bars.append(Bar(key, Spread(value, value, value), most=most))
    findings.notes += [
        f"Thalweg: the working state of all shards over {2 * whole.rows // 3:,} rows or so",
        "Spark: what its store in memory says it uses, for the same join over fewer rows",
    ]
    return findings


def stored_by_thalweg(dataset: Dataset, folder: Path) -> Stored:
    """When all rows of two streams are in their windows."""
    largest: list[float] = []

    def follow(done: BatchDone) -> None:
        if not done.entry.draining:
            largest.append(done.state_size / max(1, sum(done.entry.rows.values())))

    script = folder / "state.cql"
    script.write_text(SCRIPT.format(folder=dataset.folder, below=BELOW, out=OUT))
    spark = session(f"local[{CORES}]", folder / "spark")
    try:
        run_on_spark(
            bind_script(read_script(script), (folder,)),
            spark=spark,
            rows_per_batch=dataset.rows // 8,
            follow=follow,
        )
    finally:
        spark.stop()
    answers = digest_of_files(sorted((folder / OUT).rglob("*.parquet")), COLUMNS)
    return Stored(largest[-1], answers)


def stored_by_spark(dataset: Dataset, folder: Path) -> Stored:
    """For the same join."""
    spark = spark_session(folder, StateStore.MEMORY, counts_rows=True)

    def stream(which: str) -> DataFrame:
        reader = spark.readStream.schema(SCHEMAS[which])
        rows = reader.parquet(str(dataset.folder / which))
        columns = [F.col(c).alias(f"{which}_{c}") for c in rows.columns]
        return rows.select(*columns).withWatermark(f"{which}_ts", "2 seconds")

    running = (
        _joined(stream)
        .writeStream.format("parquet")
        .option("path", str(folder / OUT))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    operators = [op for report in running.recentProgress for op in report.stateOperators]
    spark.stop()
    used = max(operators, key=lambda operator: operator.numRowsTotal)
    answers = digest_of_files(sorted((folder / OUT).glob("*.parquet")), COLUMNS)
    return Stored(float(used.memoryUsedBytes / used.numRowsTotal), answers)


def _joined(stream: Callable[[str], DataFrame]) -> DataFrame:
    within = "B_ts >= C_ts - interval 10 hours AND B_ts <= C_ts + interval 10 hours"
    small = f"C_size + B_size < {BELOW}"
    joined = stream("C").join(stream("B"), F.expr(f"C_pid = B_pid AND {within} AND {small}"))
    return joined.selectExpr("C_pid AS pid", "C_size AS size", "B_size AS b_size")
