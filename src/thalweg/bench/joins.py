"""Do joins that order themselves cost as little as the best orders known afterwards?

What is timed is the processor's time of the stores and the join, with profiling and all that
is decided. The best orders of a phase are found by running all of them, or where they are
too many those that are best by what each look-up drops and takes, on rows of that phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from statistics import mean
from time import thread_time_ns

import numpy as np

from thalweg.adapt.choices import Adaptation
from thalweg.adapt.drops import Order
from thalweg.adapt.lookup_order import LookupTimes
from thalweg.bench.cached_joins import DIFFERENT
from thalweg.bench.compare import Options, Spread
from thalweg.bench.drifting_joins import Graph, batches, chain, cycle, star
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.intervals import lower_end
from thalweg.bench.joined import Joined, digest, keep_what_is_loaded, repeated
from thalweg.bench.plot import Chart, Mark, Series
from thalweg.bench.simulated_filters import best_order
from thalweg.bench.trial import in_own_process
from thalweg.operators.delta import Delta
from thalweg.operators.join_pipeline import Pipeline, Route

ROWS, QUICK_ROWS = 200_000, 10_000
# Batches of a phase, each of a second, and those after which its windows are its own.
SECONDS, FILLED = 120, 22
ROUNDS = 10
PHASES = 4
# The parts of rows that have partners: where most have none, and where most have some.
HARD, EASY = 0.02, (0.9, 0.8, 0.95, 0.7)
GRAPHS = (star(3), star(5), star(8), chain(4), chain(6), cycle(3), cycle(5))
# What is drawn, and seconds that make one point.
DRAWN, TOGETHER = star(5), 8
# Orders of a pipeline that are run to find the best.
MOST_ORDERS = 24
SCOUTED_ROWS = 8192
ORDERS = Adaptation(caches="off")

Routes = dict[int, Route]


@dataclass
class Measured:
    """By round, in seconds: the join that orders itself, the best orders of each phase, and the
    best ones for all phases. `is_right`: all gave the same."""

    adaptive: list[float] = field(default_factory=list)
    hindsight: list[float] = field(default_factory=list)
    static: list[float] = field(default_factory=list)
    is_right: bool = True


def bench(options: Options, folder: Path) -> Findings:
    rows, repeats = options.rows_or(ROWS, QUICK_ROWS), options.repeats_or(ROUNDS, 2)
    findings = Findings(
        "joins: orders that adapt against the best in hindsight, and the best fixed"
    )
    hindsight: list[Spread] = []
    static: list[Spread] = []
    for graph in GRAPHS:
        options.notice(graph.name)
        found = in_own_process(measure, graph, rows, repeats)
        if not found.is_right:
            findings.wrong.append(f"{graph.name}: not the same combinations")
            return findings
        hindsight.append(lower_end(found.hindsight, found.adaptive))
        static.append(lower_end(found.static, found.adaptive))
        ceiling = sum(found.static) / sum(found.hindsight)
        findings.notes.append(
            f"{graph.name}: {hindsight[-1].median:.3f} of the best in hindsight, "
            f"{static[-1].median:.2f} times the best fixed orders (in hindsight {ceiling:.2f})"
        )
    if options.charts:
        options.notice("a chart")
        findings.charts["joins"] = in_own_process(drawn, DRAWN, rows)
    findings.bars += [
        Bar("vs_best_in_hindsight", min(hindsight, key=lambda s: s.median), least=0.95),
        Bar("vs_best_static", min(static, key=lambda s: s.median), least=1.3),
    ]
    findings.notes += [
        "ratios are the lower ends of 95 % confidence intervals, and of the worst graph",
        f"{PHASES} phases of {SECONDS * rows:,} rows of the first member; in each, the parts of "
        "rows that have partners are other ones, and so are the rates",
    ]
    return findings


def measure(graph: Graph, rows: int, repeats: int) -> Measured:
    random = np.random.default_rng(graph.members)
    phases = _shares(len(graph.edges))
    best, fixed = _scouted(graph, phases, rows)
    warm = Joined(graph.script(), ORDERS)
    for batch in batches(graph, phases[0], rows, range(FILLED), random):
        warm.step(batch)
    keep_what_is_loaded()
    found = Measured()
    for _ in range(repeats):
        runs = [Joined(graph.script(), ORDERS) for _ in range(3)]
        adaptive, hindsight, static = runs
        _fix(static, fixed)
        for number, (shares, orders) in enumerate(zip(phases, best, strict=True)):
            _fix(hindsight, orders)
            for turn, batch in enumerate(_phase(graph, shares, rows, number, random)):
                digests = {digest(runs[(turn + i) % 3].step(batch)) for i in range(3)}
                found.is_right &= len(digests) == 1
        found.adaptive.append(adaptive.nanos / 1e9)
        found.hindsight.append(hindsight.nanos / 1e9)
        found.static.append(static.nanos / 1e9)
    return found


def _phase(
    graph: Graph, shares: Sequence[float], rows: int, number: int, random: np.random.Generator
) -> Iterator[dict[str, Delta]]:
    own = list(batches(graph, shares, rows, range(DIFFERENT), random))
    return repeated(own, SECONDS, number * SECONDS)


def drawn(graph: Graph, rows: int) -> Chart:
    """What rows cost as the phases go by, with orders that adapt and with the best fixed ones."""
    random = np.random.default_rng(graph.members)
    phases = _shares(len(graph.edges))
    _, fixed = _scouted(graph, phases, rows)
    runs = [Joined(graph.script(), ORDERS), Joined(graph.script(), ORDERS)]
    _fix(runs[1], fixed)
    nanos: list[list[float]] = [[], []]
    marks: list[Mark] = []
    for number, shares in enumerate(phases):
        if number:
            marks.append(Mark(number * SECONDS, "selectivities change", is_dashed=True))
        for batch in _phase(graph, shares, rows, number, random):
            count = sum(len(delta) for delta in batch.values())
            for joined, own in zip(runs, nanos, strict=True):
                before = joined.nanos
                joined.step(batch)
                own.append((joined.nanos - before) / count)
            at = len(nanos[0])
            made = (d for d in runs[0].join.decisions() if d.mechanism == "join from R0")
            marks += [Mark(at, str(decision)) for decision in made]
    xs = list(range(0, len(nanos[0]), TOGETHER))
    names = ("orders that adapt", "the best fixed orders")
    return Chart(
        f"A {graph.name} whose selectivities change",
        "seconds of the streams",
        "nanoseconds for a row",
        [
            Series(name, xs, [mean(own[x : x + TOGETHER]) for x in xs])
            for name, own in zip(names, nanos, strict=True)
        ],
        marks,
        ("selectivities change", "another order"),
    )


def _shares(count: int) -> list[list[float]]:
    """By phase and edge: the part of the rows that have partners. One edge has few, in each
    phase another one."""
    return [
        [HARD if edge == phase % count else EASY[edge % len(EASY)] for edge in range(count)]
        for phase in range(PHASES)
    ]


def _fix(joined: Joined, routes: Routes) -> None:
    for pipeline in joined.join.pipelines:
        pipeline.fix(routes[pipeline.root])


# The best orders


def _scouted(
    graph: Graph, phases: Sequence[Sequence[float]], rows: int
) -> tuple[list[Routes], Routes]:
    """The best routes of each phase, and the best for all of them."""
    random = np.random.default_rng(7)
    scouts, last = [], []
    for shares in phases:
        scout = Joined(graph.script(), ORDERS)
        _fix(scout, {p.root: p.route for p in scout.join.pipelines})
        for batch in batches(graph, shares, rows, range(FILLED), random):
            scout.step(batch)
        scouts.append(scout)
        last.append(batch)
    best: list[Routes] = [{} for _ in phases]
    fixed: Routes = {}
    for root in range(graph.members):
        pipelines = [scout.join.pipelines[root] for scout in scouts]
        deltas = [_some(batch[f"R{root}"]) for batch in last]
        routes: list[Route] = []
        for pipeline, delta in zip(pipelines, deltas, strict=True):
            routes += [route for route in _routes(pipeline, delta) if route not in routes]
        times = np.array(
            [
                [_time(pipeline, route, delta) for route in routes]
                for pipeline, delta in zip(pipelines, deltas, strict=True)
            ]
        )
        for phase, row in enumerate(times):
            best[phase][root] = routes[int(row.argmin())]
        fixed[root] = routes[int(times.sum(axis=0).argmin())]
    return best, fixed


def _some(delta: Delta) -> Delta:
    return delta.part(slice(0, SCOUTED_ROWS))


def _routes(pipeline: Pipeline, delta: Delta) -> Iterator[Route]:
    """By the first ways and by those that multiply least, where these are others."""
    order, first = pipeline.route
    tree, _ = pipeline.scout.best_tree(first, delta)
    for ways in [first] if tree == first else [first, tree]:
        pipeline.fix((order, ways))
        yield from ((one, ways) for one in _orders(pipeline, delta))


def _orders(pipeline: Pipeline, delta: Delta) -> Iterator[Order]:
    """All that lead to different look-ups, if these are few; else the best by what look-ups
    drop and take, and those that differ from it by two that change places."""
    count = len(pipeline.others)
    if count <= 4:
        ways = {pipeline.members(order): order for order in permutations(range(count))}
        yield from ways.values()
        return
    _, tree = pipeline.route
    scouted = pipeline.scout.along(tree, delta)
    times = scouted.times(pipeline.others, tree, LookupTimes(pipeline.others))
    first = best_order(scouted.passes, times)
    ways = {pipeline.members(first): first}
    for i in range(count):
        for j in range(i + 1, count):
            order = list(first)
            order[i], order[j] = order[j], order[i]
            ways.setdefault(pipeline.members(tuple(order)), tuple(order))
    yield from list(ways.values())[:MOST_ORDERS]


def _time(pipeline: Pipeline, route: Route, delta: Delta) -> float:
    """Nanoseconds for a row, the least of a few times."""
    taken = []
    pipeline.fix(route)
    for _ in range(4):
        began = thread_time_ns()
        list(pipeline.run(delta))
        taken.append(thread_time_ns() - began)
    return min(taken) / max(1, len(delta))
