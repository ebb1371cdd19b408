"""Does a row cost the same after many rows, among many keys, beside many queries?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from thalweg.bench.agg import SECOND_US, SPAN_US, Case, until
from thalweg.bench.agg import feed_of as sums_feed
from thalweg.bench.ceiling import run_ceiling
from thalweg.bench.compare import Options, Runs, Spread, System, in_turn, spread
from thalweg.bench.data import Dataset, packets, sizes
from thalweg.bench.digest import Digest
from thalweg.bench.engine import Feed, Job, run_thalweg
from thalweg.bench.expected import joined_packets, windowed_sums
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.join3 import WINDOW_US
from thalweg.bench.join3 import feed_of as join_feed
from thalweg.bench.spark_windows import COLUMNS
from thalweg.bench.trial import Run, in_own_process

ROWS, QUICK_ROWS = 100_000_000, 400_000
ROWS_PER_BATCH, QUICK_ROWS_PER_BATCH = 1_000_000, 50_000
WARM_UP_ROWS = 150_000

# Rows fed between which costs are compared: early, and after ten and a hundred times as many.
_STRETCHES = ((0.01, 0.1), (0.1, 0.4), (0.4, 0.7), (0.7, 1.0))

# Packets in a second; a window of ten seconds has ten times as many live keys.
PER_SECOND = (100, 1_000, 10_000, 100_000)
KEYS_ROWS, QUICK_KEYS_ROWS = 8_000_000, 200_000
SLICES = 8

QUERIES = (1, 5, 20)
QUERIES_ROWS, QUICK_QUERIES_ROWS = 8_000_000, 200_000

_BY_KEY = Case("rows", 1000, "[TUMBLE 10 SECONDS]", SPAN_US, 0)

MANY = """\
CREATE STREAM S (pid BIGINT, ts TIMESTAMP, size INT) TIMESTAMP BY ts FROM parquet('{folder}/S');
"""
ONE_OF_MANY = """
CREATE QUERY sums{number} AS
  SELECT RSTREAM(pid % {keys} AS k, sum(size + {number}) AS total, count(*) AS n,
                 avg(size + {number}) AS mean)
  FROM S [TUMBLE {seconds} SECONDS] WHERE size >= {least} GROUP BY pid % {keys};
CREATE SINK written{number} FROM sums{number} INTO parquet('out/{number}/');
"""


def bench(options: Options, folder: Path) -> Findings:
    findings = Findings("scale: what a row costs as rows, keys and queries become more")
    for part in (_rows, _keys, _queries):
        part(options, folder, findings)
        if findings.wrong:
            break
    findings.notes.append("time is from the start of the first batch to the last commit")
    return findings


def _rows(options: Options, folder: Path, findings: Findings) -> None:
    """Costs along one long run."""
    rows = options.rows_or(ROWS, QUICK_ROWS)
    per_batch = QUICK_ROWS_PER_BATCH if options.quick else ROWS_PER_BATCH
    options.notice(f"making {rows:,} rows")
    # Java compiles for some thirty batches, which would look like rows that become cheaper.
    few = sizes(options.cache, 30 * per_batch, per_batch)
    whole = sizes(options.cache, rows, per_batch)
    options.notice("computing what the answers must be")
    warm_up, feed = (_sums_feed(d, folder) for d in (few, whole))

    def thalweg() -> list[Run]:
        return in_own_process(run_thalweg, [Job(warm_up, feed, per_batch)])

    name = f"Thalweg, {rows:,} rows"
    runs = in_turn([System((name,), thalweg)], options)
    findings.add_runs(runs)
    if findings.wrong:
        return
    costs = [_costs_along(run, per_batch) for run in runs[name]]
    findings.bars.append(Bar("rows_flatness", _spread_of_flatness(costs), most=1.2))
    findings.more["ns_per_row_by_rows_fed"] = {
        f"{round(begin * rows):,} to {round(end * rows):,}": round(median(c[i] for c in costs))
        for i, (begin, end) in enumerate(_STRETCHES)
    }


def _sums_feed(dataset: Dataset, folder: Path) -> Feed:
    expected = windowed_sums(dataset, _BY_KEY.keys, SPAN_US, SPAN_US, until(dataset))
    return sums_feed(_BY_KEY, dataset, folder, expected)


def _costs_along(run: Run, rows_per_batch: int) -> list[float]:
    """Nanoseconds for a row in a median batch of each stretch of a run."""
    seconds = [batch.seconds for batch in run.batches]
    whole = run.rows // rows_per_batch
    return [
        1e9
        * median(seconds[int(begin * whole) : max(int(begin * whole) + 1, int(end * whole))])
        / rows_per_batch
        for begin, end in _STRETCHES
    ]


def _spread_of_flatness(costs: Sequence[Sequence[float]]) -> Spread:
    return spread([max(some) / min(some) for some in costs])


def _keys(options: Options, folder: Path, findings: Findings) -> None:
    """The join of `join3` with windows of more and more packets, beside the bare kernel."""
    rows = QUICK_KEYS_ROWS if options.quick else KEYS_ROWS
    per_slice = rows // SLICES
    options.notice("making packets at several rates")
    datasets = [packets(options.cache, rows, per_slice, rate) for rate in PER_SECOND]
    few = packets(options.cache, WARM_UP_ROWS, WARM_UP_ROWS // 2)
    options.notice("computing what the answers must be")
    expected = {d: joined_packets(d, WINDOW_US) for d in (few, *datasets)}
    warm_up = join_feed(few, folder, expected[few])

    def thalweg() -> list[Run]:
        jobs = [Job(warm_up, join_feed(d, folder, expected[d]), per_slice) for d in datasets]
        return in_own_process(run_thalweg, jobs)

    def kernel() -> list[Run]:
        return [
            in_own_process(run_ceiling, dataset, (1,), WINDOW_US, expected[dataset])[0]
            for dataset in datasets
        ]

    names = {
        system: tuple(f"{system}, {10 * rate:,} live keys" for rate in PER_SECOND)
        for system in ("Thalweg", "the bare kernel")
    }
    systems = [
        System(names["Thalweg"], thalweg),
        System(names["the bare kernel"], kernel),
    ]
    runs = in_turn(systems, options)
    findings.add_runs(runs)
    if findings.wrong:
        return
    ours, bare = (_flatness(runs, names[system]) for system in names)
    relative = spread([a / b for a, b in zip(ours, bare, strict=True)])
    findings.bars += [
        Bar("keys_flatness", spread(ours)),
        Bar("kernel_keys_flatness", spread(bare)),
        Bar("keys_vs_kernel", relative, most=1.2),
    ]


def _flatness(runs: Runs, names: Sequence[str]) -> list[float]:
    """The largest cost of a row over the smallest, round by round."""
    by_round = zip(*(runs[name] for name in names), strict=True)
    return [max(r.rate for r in some) / min(r.rate for r in some) for some in by_round]


@dataclass(frozen=True, slots=True)
class Many:
    """A query among many: everything about it differs from the others."""

    number: int

    @property
    def keys(self) -> int:
        return 100 + 10 * self.number

    @property
    def least(self) -> int:
        return 40 + 50 * self.number

    @property
    def seconds(self) -> int:
        return 5 + 5 * (self.number % 2)

    @property
    def text(self) -> str:
        return ONE_OF_MANY.format(
            number=self.number, keys=self.keys, least=self.least, seconds=self.seconds
        )

    def expected(self, dataset: Dataset) -> Digest:
        span = self.seconds * SECOND_US
        return windowed_sums(
            dataset, self.keys, span, span, until(dataset), self.least, self.number
        )


def _queries(options: Options, folder: Path, findings: Findings) -> None:
    """One query over a stream, and nineteen more."""
    rows = QUICK_QUERIES_ROWS if options.quick else QUERIES_ROWS
    per_batch = QUICK_ROWS_PER_BATCH if options.quick else ROWS_PER_BATCH
    options.notice("making rows for many queries")
    few = sizes(options.cache, WARM_UP_ROWS, WARM_UP_ROWS // 2)
    whole = sizes(options.cache, rows, per_batch)
    options.notice("computing what the answers must be")
    jobs = [
        Job(_many_feed(few, folder, number), _many_feed(whole, folder, number), per_batch)
        for number in QUERIES
    ]
    names = tuple(f"Thalweg, {number} queries" for number in QUERIES)
    runs = in_turn([System(names, lambda: in_own_process(run_thalweg, jobs))], options)
    findings.add_runs(runs)
    if findings.wrong:
        return
    seconds = zip(*([run.seconds for run in runs[name]] for name in names), strict=True)
    added = [(of[-1] / of[0] - 1) / (QUERIES[-1] - QUERIES[0]) for of in seconds]
    findings.bars.append(Bar("added_query_cost", spread(added), most=0.1))
    for name in names:
        findings.add_shares(name, runs[name])


def _many_feed(dataset: Dataset, folder: Path, number: int) -> Feed:
    queries = [Many(i) for i in range(number)]
    script = folder / f"{number}-{dataset.folder.name}.cql"
    text = MANY.format(folder=dataset.folder) + "".join(query.text for query in queries)
    script.write_text(text)
    expected = sum((query.expected(dataset) for query in queries), Digest())
    return Feed(script, COLUMNS, expected, until(dataset))
