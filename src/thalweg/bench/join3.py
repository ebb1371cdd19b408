"""How fast is a three-way windowed join, against Spark's own and against the bare kernel?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from thalweg.bench.ceiling import run_ceiling
from thalweg.bench.compare import Options, System, better, in_turn, rates, ratios
from thalweg.bench.data import Dataset, packets
from thalweg.bench.digest import Digest
from thalweg.bench.engine import Feed, Job, run_thalweg
from thalweg.bench.expected import joined_packets
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.spark_joins import COLUMNS, SCHEMAS
from thalweg.bench.spark_joins import joined_packets as spark_query
from thalweg.bench.spark_run import SparkFeed, SparkJob, StateStore, run_spark
from thalweg.bench.trial import Run, in_own_process

ROWS, QUICK_ROWS = 20_000_000, 400_000
# Slices of a small batch and of a large one.
SIZES = (1, 4)
SLICES, QUICK_SLICES = 40, 8
WINDOW_US = 10_000_000
WARM_UP_ROWS = 200_000

# Spark's stores are slow: they are timed on one in so many of the rows.
FEWER = {StateStore.ROCKSDB: 10, StateStore.MEMORY: 5}
THALWEG, CEILING = "Thalweg", "ceiling (the bare kernel)"
SPARK = {StateStore.ROCKSDB: "Spark, RocksDB", StateStore.MEMORY: "Spark, in memory"}

SCRIPT = """\
CREATE STREAM C (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/C');
CREATE STREAM B (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/B');
CREATE STREAM O (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/O');

CREATE QUERY seen AS
  SELECT ISTREAM(C.pid, C.ts AS c_ts, B.ts AS b_ts, O.ts AS o_ts, C.size)
  FROM C [RANGE 10 SECONDS], B [RANGE 10 SECONDS], O [RANGE 10 SECONDS]
  WHERE C.pid = B.pid AND C.pid = O.pid AND B.ts >= C.ts AND O.ts >= C.ts;
CREATE SINK written FROM seen INTO parquet('out/');
"""


def bench(options: Options, folder: Path) -> Findings:
    rows = options.rows_or(ROWS, QUICK_ROWS)
    per_slice = rows // (QUICK_SLICES if options.quick else SLICES)
    options.notice("making data")
    # Every set of data has batches of the same size; only their number differs.
    whole = packets(options.cache, rows, per_slice)
    few = packets(options.cache, WARM_UP_ROWS, WARM_UP_ROWS // 2)
    parts = {
        store: packets(options.cache, max(rows // fewer, 4 * per_slice), per_slice)
        for store, fewer in FEWER.items()
    }
    options.notice("computing what the answers must be")
    expected = {d: joined_packets(d, WINDOW_US) for d in {whole, few, *parts.values()}}

    def names(system: str) -> tuple[str, ...]:
        return tuple(f"{system}, {size * per_slice:,} rows a batch" for size in SIZES)

    def thalweg() -> list[Run]:
        warm_up, feed = (feed_of(d, folder, expected[d]) for d in (few, whole))
        jobs = [Job(warm_up, feed, size * per_slice) for size in SIZES]
        return in_own_process(run_thalweg, jobs)

    def ceiling() -> list[Run]:
        return in_own_process(run_ceiling, whole, SIZES, WINDOW_US, expected[whole])

    def spark(store: StateStore) -> Callable[[], list[Run]]:
        warm_up, feed = (SparkFeed(d, COLUMNS, expected[d]) for d in (few, parts[store]))
        jobs = [SparkJob(spark_query, SCHEMAS, warm_up, feed, size) for size in SIZES]
        return lambda: in_own_process(run_spark, store, jobs)

    systems = [
        System(names(THALWEG), thalweg),
        System(names(CEILING), ceiling),
        *(System(names(name), spark(store)) for store, name in SPARK.items()),
    ]
    runs = in_turn(systems, options)
    findings = Findings("join3: a three-way windowed join from Parquet to Parquet")
    findings.add_runs(runs)
    findings.notes += [
        f"Spark's joins are timed on fewer rows: {parts[StateStore.ROCKSDB].rows:,} with RocksDB, "
        f"{parts[StateStore.MEMORY].rows:,} in memory",
        "the ceiling reads the same files and writes none",
        "time is from the start of the first batch to the last commit, after a warm-up",
    ]
    if findings.wrong:
        return findings

    def of(system: str) -> list[list[float]]:
        return [rates(runs[name]) for name in names(system)]

    ours, ceilings = of(THALWEG), of(CEILING)
    rocksdb, memory = (better(*of(SPARK[store])) for store in SPARK)
    findings.bars += [
        Bar("vs_spark_rocksdb", ratios(better(*ours), rocksdb), least=40),
        Bar("vs_spark_memory", ratios(better(*ours), memory), least=12),
        Bar("vs_ceiling", ratios(better(*ours), better(*ceilings)), least=0.25),
        Bar("vs_ceiling_small", ratios(ours[0], ceilings[0]), least=0.12),
    ]
    for name in names(THALWEG):
        findings.add_shares(name, runs[name])
    return findings


def feed_of(dataset: Dataset, folder: Path, expected: Digest) -> Feed:
    script = folder / f"{dataset.folder.name}.cql"
    script.write_text(SCRIPT.format(folder=dataset.folder))
    return Feed(script, COLUMNS, expected)
