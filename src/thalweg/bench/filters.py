"""Do filters that order themselves cost as little as the best order known afterwards?

Each filter is a probe of a hash index of 10,000 numbers, so that its outcome is the data's
alone; a dear one makes ten probes. What is timed is the processor's time of the chain of
filters, with profiling and all that is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from time import thread_time_ns

import numpy as np

from thalweg.adapt.drops import Mask, Order
from thalweg.adapt.filter_order import FilterOrder
from thalweg.adapt.outcomes import cost
from thalweg.bench.compare import Options, Spread
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.simulated_filters import best_order, correlated, mean_cost
from thalweg.bench.trial import in_own_process
from thalweg.evaluate import Compiler, Failures
from thalweg.plan.expressions import Call, Column, Expression, Literal
from thalweg.types import BIGINT, BOOLEAN
from thalweg.vector.chain import Chain
from thalweg.vector.column import Columns, Vector
from thalweg.vector.compiled.store import CodeStore, user_folder
from thalweg.vector.evaluate import VectorCompiler

INDEX = 10_000
# Rows of a phase, and how often they come round in it.
ROWS, QUICK_ROWS = 2_000_000, 200_000
ROUNDS = 10
BATCH = 500_000
PROBES_OF_A_DEAR_ONE = 10
# Rows by which orders are judged, and how often filters are timed for that.
_KNOWN, _TIMINGS = 20_000, 8
# How far the mean of so many numbers may be from the true one, in standard errors: the 95 %
# quantiles of Student's distribution, two-sided.
_QUANTILES = {2: 12.71, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306}


@dataclass(frozen=True)
class Setting:
    """Filters by selectivity, those that are dear, and how many of a group agree on most rows.
    In each phase the selectivities are another permutation."""

    name: str
    selectivities: tuple[float, ...]
    dear: frozenset[int] = frozenset()
    factor: int = 1
    phases: int = 1


SPREAD = Setting("spread", (0.95, 0.8, 0.6, 0.4, 0.2, 0.05))
COSTLY = Setting("costly", (0.5,) * 6, frozenset({0, 1, 2}))
DRIFTING = tuple(
    Setting(f"{n} that drift", tuple(np.linspace(0.1, 0.9, n).tolist()), factor=2, phases=4)
    for n in (3, 6, 8, 12)
)


@dataclass
class Measured:
    """By round, in seconds: the chain that orders itself, the best order of each phase, and the
    geometric mean of all orders. `windows` are the profiles that a change needed; `is_right`:
    all kept the rows that they had to keep."""

    adaptive: list[float] = field(default_factory=list)
    best: list[float] = field(default_factory=list)
    mean_order: list[float] = field(default_factory=list)
    windows: list[int] = field(default_factory=list)
    is_right: bool = True


def bench(options: Options, folder: Path) -> Findings:
    rows, repeats = options.rows_or(ROWS, QUICK_ROWS), max(2, options.repeats)
    findings = Findings("filters: an order that adapts against the best in hindsight, and the mean")
    hindsight: list[tuple[Spread, str]] = []
    windows = [0]
    for setting in (SPREAD, COSTLY, *DRIFTING):
        options.notice(setting.name)
        found = in_own_process(measure, setting, rows, repeats)
        if not found.is_right:
            findings.wrong.append(f"{setting.name}: not the rows that were to be kept")
            return findings
        hindsight.append((_lower_end(found.best, found.adaptive), setting.name))
        windows += found.windows
        for of, key, least in (
            (SPREAD, "vs_mean_order", 1.5),
            (COSTLY, "vs_mean_order_costly", 2.0),
        ):
            if setting is of:
                ratio = _lower_end(found.mean_order, found.adaptive)
                findings.bars.append(Bar(key, ratio, least=least))
    worst, _ = min(hindsight, key=lambda entry: entry[0].median)
    findings.bars.append(Bar("vs_best_in_hindsight", worst, least=0.95))
    most = float(max(windows))
    findings.bars.append(Bar("recovery_windows", Spread(most, most, most), most=1.0))
    findings.notes += [
        f"{name}: {spread.median:.3f} of the best in hindsight" for spread, name in hindsight
    ]
    findings.notes += [
        "ratios are the lower ends of 95 % confidence intervals, and of the worst setting",
        "the mean order is by measured times and outcomes; a window is one profile",
        f"every phase has {ROUNDS * rows:,} rows",
    ]
    return findings


def _lower_end(theirs: Sequence[float], ours: Sequence[float]) -> Spread:
    """The lower end of what the true ratio may be, and how far the measured ones go."""
    ratios = [their / our for their, our in zip(theirs, ours, strict=True)]
    error = stdev(ratios) / len(ratios) ** 0.5
    low = mean(ratios) - _QUANTILES.get(len(ratios), 2.0) * error
    return Spread(low, min(ratios), max(ratios))


def measure(setting: Setting, rows: int, repeats: int) -> Measured:
    random = np.random.default_rng(len(setting.selectivities))
    phases = [_phase(setting, rows, random, number) for number in range(setting.phases)]
    count = len(setting.selectivities)
    predicates = [_filter(number, number in setting.dear) for number in range(count)]
    times = _times_alone(predicates, phases[0][0])
    known = [passes[:_KNOWN] for _, passes in phases]
    orders = [best_order(some, times) for some in known]
    found = Measured()
    for _ in range(repeats):
        chain = _chain(predicates)
        adaptive = best = mean_order = 0.0
        for (columns, passes), some, order in zip(phases, known, orders, strict=True):
            least = cost(some, order, times)

            def is_near(other: Order, some: Mask = some, least: float = least) -> bool:
                return cost(some, other, times) <= 1.05 * least

            race = _Race([chain, _fixed(predicates, order)], is_near)
            race.run(columns, ROUNDS)
            adaptive += race.seconds[0]
            best += race.seconds[1]
            found.windows += [race.windows] if setting.phases > 1 else []
            if count <= 6:
                mean_order += race.seconds[1] * mean_cost(some, times) / least
            expected = ROUNDS * int(passes.all(axis=1).sum())
            found.is_right &= race.kept == [expected, expected]
        found.adaptive.append(adaptive)
        found.best.append(best)
        found.mean_order.append(mean_order)
    return found


def _phase(
    setting: Setting, rows: int, random: np.random.Generator, number: int
) -> tuple[Columns, Mask]:
    """Columns, and by row and filter whether it passes."""
    selectivities = list(setting.selectivities)
    if number:
        selectivities = [selectivities[i] for i in random.permutation(len(selectivities))]
    passes = correlated(random, rows, selectivities, setting.factor)
    members = 2 * random.integers(0, INDEX, rows)  # what is odd is in no index
    columns = (
        Vector(BIGINT, np.roll(members, i) + ~passes[:, i]) for i in range(len(selectivities))
    )
    return tuple(columns), passes


def _filter(number: int, is_dear: bool) -> Expression:
    column = Column(type=BIGINT, index=number, name=f"c{number}")
    whole = _is_member(column, 0)
    for more in range(1, PROBES_OF_A_DEAR_ONE if is_dear else 1):
        # An index with none of the numbers that there are: the outcome is that of the first.
        probe = _is_member(column, more * 4 * INDEX)
        whole = Call(type=BOOLEAN, function="or", arguments=(whole, probe))
    return whole


def _is_member(column: Expression, from_: int) -> Expression:
    choices = (Literal(type=BIGINT, value=from_ + 2 * i) for i in range(INDEX))
    return Call(type=BOOLEAN, function="in", arguments=(column, *choices))


def _chain(predicates: Sequence[Expression]) -> Chain:
    compiler = VectorCompiler(Compiler(lambda path: None), Failures(), CodeStore(user_folder()))
    chain = compiler.chain(predicates)
    compiler.warm()
    return chain


def _fixed(predicates: Sequence[Expression], order: Order) -> Chain:
    chain = _chain(predicates)
    chain.order = FilterOrder(order, None)
    return chain


def _times_alone(predicates: Sequence[Expression], columns: Columns) -> list[float]:
    """Nanoseconds of each filter for a row: the least of some rounds, in which all take turns."""
    chains = [_fixed(predicates, (number,)) for number in range(len(predicates))]
    least = [float("inf")] * len(chains)
    for _ in range(_TIMINGS):
        race = _Race(chains, lambda order: True)
        race.run(columns, 1)
        least = [min(a, b) for a, b in zip(least, race.seconds, strict=True)]
    return [1e9 * seconds / len(columns[0]) for seconds in least]


class _Race:
    """Chains side by side: batch by batch, and another one first each time.

    `windows` are the profiles after which the first one was near the best order.
    """

    def __init__(self, chains: list[Chain], is_near: Callable[[Order], bool]) -> None:
        self._chains, self._is_near = chains, is_near
        self._before = chains[0].order.profiles
        self._near: int | None = None
        self.seconds = [0.0] * len(chains)
        self.kept = [0] * len(chains)

    def run(self, columns: Columns, rounds: int) -> None:
        batches = rounds * [*range(0, len(columns[0]), BATCH)]
        for turn, first in enumerate(batches):
            part = tuple(column.part(slice(first, first + BATCH)) for column in columns)
            for i in range(len(self._chains)):
                which = (i + turn) % len(self._chains)
                began = thread_time_ns()
                self.kept[which] += len(self._chains[which](part, len(part[0])))
                self.seconds[which] += (thread_time_ns() - began) / 1e9
            order = self._chains[0].order
            if self._near is None and self._is_near(order.order):
                self._near = order.profiles - self._before

    @property
    def windows(self) -> int:
        profiles = self._chains[0].order.profiles - self._before
        return profiles + 1 if self._near is None else self._near
