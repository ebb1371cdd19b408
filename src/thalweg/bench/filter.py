"""How fast is a filter of eight conditions, against Spark's generated code?"""

from __future__ import annotations

from pathlib import Path

from thalweg.bench.compare import Options, System, better, in_turn, rates, ratios
from thalweg.bench.data import Dataset, requests
from thalweg.bench.digest import Digest
from thalweg.bench.engine import Feed, Job, run_thalweg
from thalweg.bench.expected import kept_requests
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.spark_filter import CONJUNCTS, SCHEMAS
from thalweg.bench.spark_filter import kept_requests as spark_query
from thalweg.bench.spark_run import SparkFeed, SparkJob, StateStore, run_spark
from thalweg.bench.trial import Run, in_own_process

ROWS, QUICK_ROWS = 20_000_000, 400_000
# Slices of a small batch and of a large one.
SIZES = (1, 4)
SLICES, QUICK_SLICES = 40, 8
WARM_UP_ROWS = 200_000
COLUMNS = ("id", "bytes", "path")

SCRIPT = """\
CREATE STREAM R (
  id BIGINT, status INT, bytes BIGINT, millis DOUBLE, user_id BIGINT, port INT, score DOUBLE,
  method STRING, path STRING, ts TIMESTAMP
) TIMESTAMP BY ts FROM parquet('{folder}/R');

CREATE QUERY kept AS
  SELECT ISTREAM(id, bytes, path) FROM R [NOW]
  WHERE {conjuncts};
CREATE SINK written FROM kept INTO parquet('out/');
"""


def bench(options: Options, folder: Path) -> Findings:
    rows = options.rows_or(ROWS, QUICK_ROWS)
    per_slice = rows // (QUICK_SLICES if options.quick else SLICES)
    options.notice("making data")
    whole = requests(options.cache, rows, per_slice)
    few = requests(options.cache, WARM_UP_ROWS, WARM_UP_ROWS // 2)
    options.notice("computing what the answers must be")
    expected = {dataset: kept_requests(dataset, COLUMNS) for dataset in (whole, few)}

    def names(system: str) -> tuple[str, ...]:
        return tuple(f"{system}, {size * per_slice:,} rows a batch" for size in SIZES)

    def thalweg() -> list[Run]:
        warm_up, feed = (feed_of(d, folder, expected[d]) for d in (few, whole))
        return in_own_process(run_thalweg, [Job(warm_up, feed, n * per_slice) for n in SIZES])

    def spark() -> list[Run]:
        warm_up, feed = (SparkFeed(d, COLUMNS, expected[d]) for d in (few, whole))
        jobs = [SparkJob(spark_query, SCHEMAS, warm_up, feed, size) for size in SIZES]
        return in_own_process(run_spark, StateStore.ROCKSDB, jobs)

    runs = in_turn([System(names("Thalweg"), thalweg), System(names("Spark"), spark)], options)
    findings = Findings("filter: six numeric conditions and two on texts, from Parquet to Parquet")
    findings.add_runs(runs)
    findings.notes += [
        "both have the conditions in the best order: the most selective first, texts last",
        "time is from the start of the first batch to the last commit, after a warm-up",
    ]
    if findings.wrong:
        return findings
    ours, theirs = (
        better(*(rates(runs[name]) for name in names(system))) for system in ("Thalweg", "Spark")
    )
    findings.bars.append(Bar("vs_spark", ratios(ours, theirs), least=1.0))
    for name in names("Thalweg"):
        findings.add_shares(name, runs[name])
    return findings


def feed_of(dataset: Dataset, folder: Path, expected: Digest) -> Feed:
    script = folder / f"{dataset.folder.name}.cql"
    conjuncts = "\n    AND ".join(CONJUNCTS)
    script.write_text(SCRIPT.format(folder=dataset.folder, conjuncts=conjuncts))
    return Feed(script, COLUMNS, expected)
