"""Chains of filters side by side, and what each takes of the processor's time."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from time import thread_time_ns

import numpy as np

from thalweg.adapt.drops import Mask, Order
from thalweg.adapt.filter_order import FilterOrder
from thalweg.adapt.outcomes import cost
from thalweg.bench.simulated_filters import best_order
from thalweg.evaluate import Compiler, Failures
from thalweg.plan.expressions import Expression
from thalweg.vector.chain import Chain
from thalweg.vector.column import Columns
from thalweg.vector.compiled.store import CodeStore, user_folder
from thalweg.vector.evaluate import VectorCompiler

# How often filters are timed alone.
_TIMINGS = 8
# Rows of a phase by which orders are judged.
_KNOWN = 20_000


@dataclass(frozen=True)
class Phase:
    """Rows that behave alike, and how many of them all filters let pass."""

    columns: Columns
    kept: int

    def __len__(self) -> int:
        return len(self.columns[0])

    def part(self, first: int, end: int) -> Columns:
        return tuple(column.part(slice(first, end)) for column in self.columns)


@dataclass(frozen=True)
class Workload:
    """Filters, and rows for them in phases; each phase comes round some times, in batches."""

    name: str
    predicates: tuple[Expression, ...]
    phases: tuple[Phase, ...]
    rounds: int
    batch: int


@dataclass(frozen=True)
class Hindsight:
    """What is known of a phase afterwards: outcomes of some rows, times, and the best order by
    these. When it was run beside orders with two neighbours swapped, the fastest one was
    `gap` times as fast."""

    passes: Mask
    times: list[float]
    order: Order
    gap: float

    def ratio(self, order: Order) -> float:
        """How many times the best order's cost an order costs."""
        least = cost(self.passes, self.order, self.times)
        return cost(self.passes, order, self.times) / least


class Filters:
    """Chains of the same filters, which differ in nothing but their orders."""

    def __init__(self, predicates: Sequence[Expression]) -> None:
        store = CodeStore(user_folder())
        compiler = VectorCompiler(Compiler(lambda path: None), Failures(), store)
        self._chain = compiler.chain(predicates)
        self._first = self._chain.order.order
        compiler.warm()
        # An index of 10,000 numbers is as many objects: to look for garbage among those of all
        # filters takes longer than a phase's profiles, whichever chain it befalls.
        gc.freeze()

    def __len__(self) -> int:
        return len(self._first)

    def adaptive(self) -> Chain:
        return self._in_order(FilterOrder(self._first))

    def fixed(self, order: Order) -> Chain:
        return self._in_order(FilterOrder(order, None))

    def _in_order(self, order: FilterOrder) -> Chain:
        chain = copy(self._chain)
        chain.order = order
        return chain


def interpreted(predicates: Sequence[Expression], columns: Columns, length: int) -> int:
    """How many rows pass, each filter asked of all rows, and none of them compiled."""
    compiler = VectorCompiler(Compiler(lambda path: None), Failures())
    passed = np.ones(length, np.bool_)
    for predicate in predicates:
        passed &= compiler.is_true(predicate)(columns, length)
    return int(passed.sum())


def times_alone(filters: Filters, columns: Columns) -> list[float]:
    """Nanoseconds of each filter for a row: the least of some rounds, in which all take turns."""
    race = Race([filters.fixed((number,)) for number in range(len(filters))])
    race.run(Phase(columns, 0), _TIMINGS, len(columns[0]))
    return [1e9 * min(some) / len(columns[0]) for some in zip(*race.batches, strict=True)]


def in_hindsight(filters: Filters, workload: Workload, phase: Phase) -> Hindsight:
    """The best order by outcomes and times, checked by running it: what a filter takes for a
    row may depend on those before it."""
    known = phase.part(0, min(_KNOWN, len(phase)))
    passes = np.zeros((len(known[0]), len(filters)), np.bool_)
    for number in range(len(filters)):
        passes[filters.fixed((number,))(known, len(known[0])), number] = True
    some = phase.part(0, min(workload.batch, len(phase)))
    times = times_alone(filters, some)
    order = best_order(passes, times)
    swapped = [
        (*order[:at], order[at + 1], order[at], *order[at + 2 :]) for at in range(len(order) - 1)
    ]
    race = Race([filters.fixed(one) for one in (order, *swapped)])
    race.run(Phase(some, 0), _TIMINGS, workload.batch)
    ours, *theirs = (min(seconds) for seconds in zip(*race.batches, strict=True))
    return Hindsight(passes, times, order, ours / min(ours, *theirs))


class Race:
    """Chains side by side: batch by batch, and another one first each time.

    `batches` are the seconds of each of them, by batch, and `orders` those that the first one
    had behind each, with the profiles that it had made by then.
    """

    def __init__(self, chains: list[Chain]) -> None:
        self._chains = chains
        self.batches: list[list[float]] = []
        self.orders: list[tuple[Order, int]] = []
        self.kept = [0] * len(chains)

    def run(self, phase: Phase, rounds: int, batch: int) -> None:
        firsts = rounds * [*range(0, len(phase), batch)]
        for turn, first in enumerate(firsts):
            part = phase.part(first, min(first + batch, len(phase)))
            self.batches.append([0.0] * len(self._chains))
            for i in range(len(self._chains)):
                which = (i + turn) % len(self._chains)
                began = thread_time_ns()
                self.kept[which] += len(self._chains[which](part, len(part[0])))
                self.batches[-1][which] = (thread_time_ns() - began) / 1e9
            order = self._chains[0].order
            self.orders.append((order.order, order.profiles))

    @property
    def seconds(self) -> list[float]:
        return [sum(some) for some in zip(*self.batches, strict=True)]
