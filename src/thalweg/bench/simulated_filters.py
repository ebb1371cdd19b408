"""Filters as tables of outcomes: what an order costs, and what a policy makes of it.

No filter is evaluated here; evaluations are counted. That is how algorithms are compared
with what is known of them, apart from the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt

from thalweg.adapt.drops import Drops, Index, Mask, Order, Policy, Times
from thalweg.adapt.outcomes import cost, dropped_at

Random = np.random.Generator


def correlated(random: Random, rows: int, selectivities: Sequence[float], factor: int) -> Mask:
    """By tuple and filter whether it passes. Filters are in ⌈n / factor⌉ groups, and those of
    a group agree on four fifths of the tuples."""
    count = len(selectivities)
    groups = np.arange(count) % ceil(count / factor)
    base = random.random((rows, int(groups.max()) + 1))
    passes = np.empty((rows, count), np.bool_)
    for number, s in enumerate(selectivities):
        alike = s**2 + (1 - s) ** 2
        copies = random.random(rows) < sqrt(max(0.0, (0.8 - alike) / (1 - alike)))
        drawn = np.where(copies, base[:, groups[number]], random.random(rows))
        passes[:, number] = drawn < s
    return passes


def best_order(passes: Mask, times: Times) -> Order:
    """By the best orders of all sets of filters: what one more costs depends on the set alone."""
    count = passes.shape[1]
    left = {0: np.ones(len(passes), np.bool_)}
    best: dict[int, tuple[float, Order]] = {0: (0.0, ())}
    for chosen in range(1, 1 << count):
        numbers = [number for number in range(count) if chosen >> number & 1]
        left[chosen] = left[chosen & (chosen - 1)] & passes[:, numbers[0]]
        best[chosen] = min(
            (spent + times[number] * int(left[chosen ^ 1 << number].sum()), (*order, number))
            for number in numbers
            for spent, order in (best[chosen ^ 1 << number],)
        )
    return best[(1 << count) - 1][1]


def mean_cost(passes: Mask, times: Times) -> float:
    """The geometric mean of what all orders cost."""
    orders = permutations(range(passes.shape[1]))
    return float(np.exp(np.mean([np.log(cost(passes, order, times)) for order in orders])))


@dataclass(frozen=True)
class Course:
    """By stretch of tuples: the time they took, and the order behind them. `extra` counts the
    evaluations that profiling has added, `asking` is the time that they took, and `sampled`
    counts the profiles."""

    costs: npt.NDArray[np.float64]
    orders: list[Order]
    extra: int
    asking: float
    sampled: int

    @property
    def changes(self) -> int:
        return sum(a != b for a, b in zip(self.orders, self.orders[1:], strict=False))


def run(
    policy: Policy, passes: Mask, times: Times, random: Random, p: float, stretch: int = 100
) -> Course:
    """Tuples in stretches; after each, the policy sees the drops of it that were sampled."""
    costs, orders = [], []
    extra, asking, sampled = 0, 0.0, 0
    for first in range(0, len(passes), stretch):
        some = passes[first : first + stretch]
        costs.append(cost(some, policy.order, times))
        at = dropped_at(some, policy.order)
        chosen = np.flatnonzero((random.random(len(some)) < p) & (at < passes.shape[1]))
        sampled += len(chosen)

        def dropped_by(number: int, which: Index, rows: Mask = some[chosen]) -> Mask:
            nonlocal extra, asking
            extra += len(which)
            asking += len(which) * times[number]
            dropped: Mask = ~rows[which, number]
            return dropped

        if len(chosen):
            policy.observe(Drops(at[chosen], dropped_by), times)
        orders.append(policy.order)
    return Course(np.array(costs), orders, extra, asking, sampled)
