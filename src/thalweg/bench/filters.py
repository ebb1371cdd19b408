"""Do filters that order themselves cost as little as the best order known afterwards?

What is timed is the processor's time of the chain of filters, with profiling and all that is
decided. The best order of a phase is computed from outcomes and times, over all sets of
filters, and run beside the order that adapts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from thalweg.adapt.outcomes import cost
from thalweg.bench.compare import Options, Spread
from thalweg.bench.filter_policies import crossing_table, overhead_table
from thalweg.bench.filter_race import Filters, Hindsight, Race, Workload, in_hindsight
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.intervals import lower_end
from thalweg.bench.plot import Chart, Mark, Series
from thalweg.bench.probe_filters import COSTLY, DRIFTING, ROUNDS, SPREAD
from thalweg.bench.recorded_filters import RECORDED, data_folder
from thalweg.bench.simulated_filters import mean_cost
from thalweg.bench.trial import in_own_process

ROWS, QUICK_ROWS = 2_000_000, 200_000
REPEATS = 7
# An order is near the best one if it costs at most so many times as much.
_NEAR = 1.05
# So many filters have few enough orders to try them all.
_FEW_FILTERS = 6

Make = Callable[[int], Workload]


@dataclass
class Measured:
    """By round, in seconds: the chain that orders itself, the best order of each phase, and the
    geometric mean of all orders. `windows` are the profiles that a change needed, `gap` is that
    of the best orders (see `Hindsight`); `is_right`: all kept the rows that they had to keep."""

    adaptive: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    mean_order: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    gap: float = 1.0
    is_right: bool = True


def bench(options: Options, folder: Path) -> Findings:
    rows, repeats = options.rows_or(ROWS, QUICK_ROWS), options.repeats_or(REPEATS, 2)
    findings = Findings("filters: an order that adapts against the best in hindsight, and the mean")
    hindsight: dict[str, Spread] = {}
    windows = [0]
    for name, make in _workloads().items():
        options.notice(name)
        found = in_own_process(measure, make, rows, repeats)
        if not found.is_right:
            findings.wrong.append(f"{name}: not the rows that were to be kept")
            return findings
        hindsight[name] = lower_end(found.best, found.adaptive)
        findings.notes.append(
            f"{name}: {hindsight[name].median:.3f} of the best in hindsight; with neighbours "
            f"swapped, that ran at most {found.gap:.2f} times as fast"
        )
        # A permutation of selectivities is a change; recordings may go on much as before.
        windows += found.windows if name in (setting.name for setting in DRIFTING) else []
        for of, key, least in (
            (SPREAD, "vs_mean_order", 1.5),
            (COSTLY, "vs_mean_order_costly", 2.0),
        ):
            if name == of.name:
                ratio = lower_end(found.mean_order, found.adaptive)
                findings.bars.append(Bar(key, ratio, least=least))
    worst = min(hindsight.values(), key=lambda spread: spread.median)
    findings.bars.append(Bar("vs_best_in_hindsight", worst, least=0.95))
    most = float(max(windows))
    findings.bars.append(Bar("recovery_windows", Spread(most, most, most), most=1.0))
    if data_folder() is None:
        findings.notes.append("no folder of recorded streams (THALWEG_DATA): left out")
    findings.notes += [
        "ratios are the lower ends of 95 % confidence intervals, and of the worst workload",
        "the mean order is by measured times and outcomes; a window is one profile",
        f"every phase of probes has {ROUNDS * rows:,} rows",
    ]
    if not options.quick:
        options.notice("policies, counted")
        findings.tables += [in_own_process(overhead_table), in_own_process(crossing_table)]
    if options.charts:
        options.notice("a chart")
        findings.charts["filters"] = in_own_process(drawn, DRIFTING[2].workload, rows)
    return findings


def _workloads() -> dict[str, Make]:
    made: dict[str, Make] = {s.name: s.workload for s in (SPREAD, COSTLY, *DRIFTING)}
    recorded = data_folder()
    if recorded is not None:
        made |= {make.__name__: partial(make, recorded) for make in RECORDED}
    return made


def measure(make: Make, rows: int, repeats: int) -> Measured:
    workload = make(rows)
    filters = Filters(workload.predicates)
    known = [in_hindsight(filters, workload, phase) for phase in workload.phases]
    found = Measured(gap=max(afterwards.gap for afterwards in known))
    for _ in range(repeats):
        chain = filters.adaptive()
        ours = best = mean_order = 0.0
        for phase, afterwards in zip(workload.phases, known, strict=True):
            profiles = chain.order.profiles
            race = Race([chain, filters.fixed(afterwards.order)])
            race.run(phase, workload.rounds, workload.batch)
            ours += race.seconds[0]
            best += race.seconds[1]
            found.windows.append(_windows(race, afterwards) - profiles)
            if len(filters) <= _FEW_FILTERS:
                mean_order += race.seconds[1] * _mean_ratio(afterwards)
            expected = workload.rounds * phase.kept
            found.is_right &= race.kept == [expected, expected]
        found.adaptive.append(ours)
        found.best.append(best)
        found.mean_order.append(mean_order)
    return found


def _windows(race: Race, afterwards: Hindsight) -> int:
    """The profiles that had been made when the order was near the best one."""
    near = (n for order, n in race.orders if afterwards.ratio(order) <= _NEAR)
    return next(near, race.orders[-1][1] + 1)


def _mean_ratio(known: Hindsight) -> float:
    least = cost(known.passes, known.order, known.times)
    return mean_cost(known.passes, known.times) / least


def drawn(make: Make, rows: int) -> Chart:
    """What rows cost with and without a change of order, along the phases of a workload."""
    workload = make(rows)
    filters = Filters(workload.predicates)
    known = [in_hindsight(filters, workload, phase) for phase in workload.phases]
    chain, kept = filters.adaptive(), filters.fixed(known[0].order)
    nanos: list[list[float]] = []
    marks: list[Mark] = []
    order, millions = chain.order.order, workload.batch / 1e6
    for phase, afterwards in zip(workload.phases, known, strict=True):
        if nanos:
            marks.append(Mark(len(nanos) * millions, "selectivities change", is_dashed=True))
        race = Race([chain, kept, filters.fixed(afterwards.order)])
        race.run(phase, workload.rounds, workload.batch)
        for at, (now, _) in enumerate(race.orders, len(nanos)):
            if now != order:
                marks.append(Mark((at + 1) * millions, f"filters in the order {now}"))
                order = now
        nanos += [[1e9 * s / workload.batch for s in batch] for batch in race.batches]
    xs = [millions * (number + 1) for number in range(len(nanos))]
    names = ("order that adapts", "first order kept", "best order of each phase")
    lines = [Series(name, xs, [batch[i] for batch in nanos]) for i, name in enumerate(names)]
    return Chart(
        f"{len(filters)} filters whose selectivities change places",
        "million rows",
        "nanoseconds of processor for a row",
        lines,
        marks,
        ("selectivities change", "another order"),
    )
