"""How much memory does a row of a window take, with the index to find it by?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from thalweg.bench.compare import Options, Spread
from thalweg.bench.data import Dataset, packets
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

# No packet of O is one of C; so all rows stay, and nothing else takes memory.
SCRIPT = """\
CREATE STREAM C (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/C');
CREATE STREAM B (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/B');

CREATE QUERY both AS
  SELECT ISTREAM(C.pid, C.size, B.size AS b_size) FROM C [RANGE 10 HOURS], B [RANGE 10 HOURS]
  WHERE C.pid = B.pid AND C.size + B.size < 0;
CREATE SINK written FROM both INTO parquet('out/');
"""


def bench(options: Options) -> Findings:
    rows = options.rows_or(ROWS, QUICK_ROWS)
    options.notice("making data")
    whole = packets(options.cache, rows, rows // 4)
    part = packets(options.cache, min(rows, SPARK_ROWS), min(rows, SPARK_ROWS) // 4)
    options.notice("Thalweg")
    ours = in_own_process(stored_by_thalweg, whole)
    options.notice("Spark")
    theirs = in_own_process(stored_by_spark, part)
    findings = Findings("state: bytes for a row (long, timestamp, int) of a window, and its index")
    for key, value, most in (
        ("bytes_per_row", ours, 48.0),
        ("spark_bytes_per_row", theirs, None),
    ):
        findings.bars.append(Bar(key, Spread(value, value, value), most=most))
    findings.notes += [
        f"Thalweg: the working state of all shards over {2 * whole.rows // 3:,} rows or so",
        "Spark: what its store in memory says it uses, for the same join over fewer rows",
    ]
    return findings


def stored_by_thalweg(dataset: Dataset) -> float:
    """Bytes of working state for each row, when all rows of two streams are in their windows."""
    largest: list[float] = []

    def follow(done: BatchDone) -> None:
        if not done.entry.draining:
            largest.append(done.state_size / max(1, sum(done.entry.rows.values())))

    with TemporaryDirectory(prefix="thalweg-bench-") as name:
        script = Path(name) / "state.cql"
        script.write_text(SCRIPT.format(folder=dataset.folder))
        spark = session(f"local[{CORES}]", Path(name) / "spark")
        try:
            run_on_spark(
                bind_script(read_script(script), (script.parent,)),
                spark=spark,
                rows_per_batch=dataset.rows // 8,
                follow=follow,
            )
        finally:
            spark.stop()
    return largest[-1]


def stored_by_spark(dataset: Dataset) -> float:
    """Bytes of Spark's state for each row of the same join."""
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as name:
        spark = spark_session(Path(name), StateStore.MEMORY, counts_rows=True)

        def stream(which: str) -> DataFrame:
            reader = spark.readStream.schema(SCHEMAS[which])
            rows = reader.parquet(str(dataset.folder / which))
            columns = [F.col(c).alias(f"{which}_{c}") for c in rows.columns]
            return rows.select(*columns).withWatermark(f"{which}_ts", "2 seconds")

        running = (
            _joined(stream)
            .writeStream.format("noop")
            .option("checkpointLocation", str(Path(name) / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        operators = [op for report in running.recentProgress for op in report.stateOperators]
        spark.stop()
    used = max(operators, key=lambda operator: operator.numRowsTotal)
    return float(used.memoryUsedBytes / used.numRowsTotal)


def _joined(stream: Callable[[str], DataFrame]) -> DataFrame:
    within = "B_ts >= C_ts - interval 10 hours AND B_ts <= C_ts + interval 10 hours"
    never = "C_size + B_size < 0"
    return stream("C").join(stream("B"), F.expr(f"C_pid = B_pid AND {within} AND {never}"))
