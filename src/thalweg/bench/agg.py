"""How fast are sums over tumbling and sliding windows, for few keys and for many?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from thalweg.bench.compare import Options, System, better, in_turn, rates, ratios
from thalweg.bench.data import Dataset, sizes
from thalweg.bench.digest import Digest
from thalweg.bench.engine import Feed, Job, run_thalweg
from thalweg.bench.expected import last_instant, windowed_sums
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.spark_run import SparkFeed, SparkJob, StateStore, run_spark
from thalweg.bench.spark_windows import COLUMNS, DELAY_US, SCHEMAS, WindowedSums
from thalweg.bench.trial import Run, in_own_process

ROWS, QUICK_ROWS = 20_000_000, 200_000
ROWS_PER_SLICE = 500_000
QUICK_SLICES = 16
# More than a window.
WARM_UP_ROWS = 150_000
# Spark's store is slow with many keys: timed on one in so many of the rows.
FEWER = 5

SECOND_US = 1_000_000
SPAN_US = 10 * SECOND_US

SCRIPT = """\
CREATE STREAM S (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/S');

CREATE QUERY sums AS
  SELECT RSTREAM(pid % {keys} AS k, sum(size) AS total, count(*) AS n, avg(size) AS mean)
  FROM S {window} GROUP BY pid % {keys};
CREATE SINK written FROM sums INTO parquet('out/');
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of window and a number of keys; `least` is how many times Spark we want to be.

    `sizes` are the slices of a small batch and of a large one.
    """

    name: str
    keys: int
    window: str
    slide_us: int
    least: float
    sizes: tuple[int, int] = (1, 8)

    @property
    def is_slow_for_spark(self) -> bool:
        return self.keys > 1000

    @property
    def spark_query(self) -> WindowedSums:
        slides = self.slide_us < SPAN_US
        return WindowedSums(self.keys, f"{self.slide_us} microseconds" if slides else None)


_TUMBLE, _HOP = "[TUMBLE 10 SECONDS]", "[HOP 10 SECONDS, 2 SECONDS]"
CASES = (
    Case("tumbling_100", 100, _TUMBLE, SPAN_US, 2),
    Case("sliding_100", 100, _HOP, 2 * SECOND_US, 4),
    Case("tumbling_100k", 100_000, _TUMBLE, SPAN_US, 20, (1, 4)),
    Case("sliding_100k", 100_000, _HOP, 2 * SECOND_US, 20, (1, 4)),
)


def bench(options: Options, folder: Path) -> Findings:
    rows = options.rows_or(ROWS, QUICK_ROWS)
    per_slice = rows // QUICK_SLICES if options.quick else ROWS_PER_SLICE
    options.notice("making data")
    whole = sizes(options.cache, rows, per_slice)
    part = sizes(options.cache, max(rows // FEWER, 4 * per_slice), per_slice)
    few = sizes(options.cache, WARM_UP_ROWS, WARM_UP_ROWS // 2)
    known: dict[tuple[Case, Dataset], Digest] = {}

    def expected(case: Case, dataset: Dataset) -> Digest:
        if (case, dataset) not in known:
            options.notice(f"computing what the answers of {case.name} must be")
            known[case, dataset] = windowed_sums(
                dataset, case.keys, SPAN_US, case.slide_us, until(dataset)
            )
        return known[case, dataset]

    def thalweg(case: Case) -> list[Job]:
        warm_up, feed = (feed_of(case, d, folder, expected(case, d)) for d in (few, whole))
        return [Job(warm_up, feed, size * per_slice) for size in case.sizes]

    def spark(case: Case) -> list[SparkJob]:
        warm_up, feed = (
            SparkFeed(d, COLUMNS, expected(case, d), until(d))
            for d in (few, part if case.is_slow_for_spark else whole)
        )
        return [SparkJob(case.spark_query, SCHEMAS, warm_up, feed, size) for size in case.sizes]

    def names(system: str, case: Case) -> tuple[str, ...]:
        return tuple(
            f"{system}, {case.name}, {size * per_slice:,} rows a batch" for size in case.sizes
        )

    systems = [
        System(names(system, case), run)
        for case in CASES
        for system, run in (("Thalweg", _thalweg(thalweg(case))), ("Spark", _spark(spark(case))))
    ]
    runs = in_turn(systems, options)
    findings = Findings("agg: sum, count and average over windows, from Parquet to Parquet")
    findings.add_runs(runs)
    findings.notes += [
        "each system with its better number of rows a batch",
        f"Spark keeps its state in RocksDB, and is timed on {part.rows:,} rows for 100,000 keys",
        "time is from the start of the first batch to the last commit, after a warm-up",
    ]
    if findings.wrong:
        return findings
    for case in CASES:
        ours, theirs = (
            better(*(rates(runs[name]) for name in names(system, case)))
            for system in ("Thalweg", "Spark")
        )
        findings.bars.append(Bar(f"vs_spark_{case.name}", ratios(ours, theirs), case.least))
        for name in names("Thalweg", case):
            findings.add_shares(name, runs[name])
    return findings


def _thalweg(jobs: list[Job]) -> Callable[[], list[Run]]:
    return lambda: in_own_process(run_thalweg, jobs)


def _spark(jobs: list[SparkJob]) -> Callable[[], list[Run]]:
    return lambda: in_own_process(run_spark, StateStore.ROCKSDB, jobs)


def until(dataset: Dataset) -> int:
    """Windows up to here are compared: later ones Spark leaves open."""
    return last_instant(dataset, "S") - DELAY_US


def feed_of(case: Case, dataset: Dataset, folder: Path, expected: Digest) -> Feed:
    script = folder / f"{case.name}-{dataset.folder.name}.cql"
    script.write_text(SCRIPT.format(folder=dataset.folder, keys=case.keys, window=case.window))
    return Feed(script, COLUMNS, expected, until(dataset))
