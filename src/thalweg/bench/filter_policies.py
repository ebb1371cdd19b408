"""What policies cost, counted: where A-Greedy's overhead goes, and when Sweep is better.

An evaluation of a filter is the unit. What else is done for a profile is counted as well, and
taken for parts of an evaluation as the figures of the original experiment have it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thalweg.adapt.drops import Drops, Order, Policy, Times
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.policies import FILTER_POLICIES
from thalweg.bench.simulated_filters import Random, correlated, run

# A profile that enters the window or leaves it, a cell of the view that changes, and a bit of
# the window that is looked at to correct an order, as parts of an evaluation.
_WINDOW, _CELL, _BIT = 0.2, 0.03, 0.01
_TUPLES = 200_000
# Filters and the part of drops that is profiled; and what the original experiment had, in
# percent: tuples, profiles, window, view, violations.
ORIGINAL: dict[tuple[int, float], tuple[float, ...]] = {
    (3, 0.01): (98.77, 0.88, 0.20, 0.15, 0.0),
    (3, 0.05): (94.17, 4.17, 0.93, 0.73, 0.0),
    (8, 0.01): (96.62, 2.92, 0.20, 0.22, 0.04),
    (8, 0.05): (84.77, 13.34, 0.91, 0.98, 0.0),
}

# Tuples between two permutations; in all there are at least so many, and so many permutations.
PERIODS = (30_000, 100_000, 300_000, 1_000_000)
_LEAST_TUPLES, _LEAST_PERIODS = 3_000_000, 3
_CROSSING_P, _STRETCH = 0.01, 1000
_CHEAP_AND_DEAR = (1.0,) * 4 + (10.0,) * 4


@dataclass
class _Counting:
    """A-Greedy whose work beside evaluations is counted."""

    policy: AGreedy
    work: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("window", "view", "violations"), 0.0)
    )

    @property
    def order(self) -> Order:
        return self.policy.order

    @order.setter
    def order(self, order: Order) -> None:
        self.policy.order = order

    def forget(self) -> None:
        self.policy.forget()

    def observe(self, drops: Drops, times: Times) -> None:
        before, kept = self.order, len(self.policy.window.bits)
        self.policy.observe(drops, times)
        bits = self.policy.window.bits
        moved = len(drops) + kept + len(drops) - len(bits)
        # A profile counts in all rows up to its first drop, in the columns of its drops.
        cells = float(((drops.at + 1) * bits[-len(drops) :].sum(axis=1)).mean())
        self.work["window"] += _WINDOW * moved
        self.work["view"] += _CELL * cells * moved
        if self.order != before:
            same = next(
                i for i, (a, b) in enumerate(zip(before, self.order, strict=True)) if a != b
            )
            reached = ~bits[:, before[:same]].any(axis=1)
            self.work["violations"] += _BIT * int(reached.sum()) * len(before)


def overhead(filters: int, p: float, tuples: int = _TUPLES) -> tuple[float, ...]:
    """Percent of all work: tuples, profiles, window, view, violations; in stable conditions."""
    random = np.random.default_rng(filters)
    policy = _Counting(AGreedy(tuple(range(filters))))
    times = (1.0,) * filters
    passes = correlated(random, 2 * tuples, [0.5] * filters, 2)
    run(policy, passes[:tuples], times, random, p)
    policy.work = dict.fromkeys(policy.work, 0.0)
    course = run(policy, passes[tuples:], times, random, p)
    parts = (float(course.costs.sum()), course.asking, *policy.work.values())
    return tuple(100 * part / sum(parts) for part in parts)


def cost_of_tuples(name: str, period: int) -> float:
    """What a tuple costs, with profiling: 8 filters, four of them ten times as dear, whose
    selectivities change places after so many tuples."""
    make = FILTER_POLICIES[name]
    assert make is not None, "a policy that adapts"
    policy: Policy = make(tuple(range(len(_CHEAP_AND_DEAR))))
    random, selectivities = np.random.default_rng(1), np.linspace(0.05, 0.95, len(_CHEAP_AND_DEAR))
    periods = max(_LEAST_PERIODS, _LEAST_TUPLES // period)
    spent = sum(
        _spent(policy, random.permutation(selectivities).tolist(), period, random)
        for _ in range(periods)
    )
    return spent / (periods * period)


def _spent(policy: Policy, selectivities: list[float], tuples: int, random: Random) -> float:
    passes = correlated(random, tuples, selectivities, 1)
    # Who is sampled must not depend on who was before: policies are to meet the same tuples.
    coins = np.random.default_rng(tuples)
    course = run(policy, passes, _CHEAP_AND_DEAR, coins, _CROSSING_P, _STRETCH)
    return float(course.costs.sum()) + course.asking


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def overhead_table() -> Table:
    """Percent of A-Greedy's work, and what the original experiment had."""
    names = ("n, p", ">tuples", ">profiles", ">window", ">view", ">violations")
    rows = []
    for (n, p), original in ORIGINAL.items():
        rows.append((f"{n}, {p:g}", *(f"{part:.2f} %" for part in overhead(n, p))))
        rows.append(("  original", *(f"{part:.2f} %" for part in original)))
    return names, rows


def crossing_table() -> Table:
    """What a tuple costs by policy, as changes become rare."""
    policies = [name for name, make in FILTER_POLICIES.items() if make is not None]
    names = ("tuples between changes", *(f">{name}" for name in policies))
    rows = [
        (f"{period:,}", *(f"{cost_of_tuples(name, period):.2f}" for name in policies))
        for period in PERIODS
    ]
    return names, rows
