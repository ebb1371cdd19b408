"""Chains of filters whose order changes while they run: the same rows, sooner."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from test_compiled import Uncompiled

from thalweg.adapt import adaptive_order
from thalweg.adapt.drops import Drops, Index, Mask, Order, Times
from thalweg.adapt.filter_order import FilterOrder
from thalweg.adapt.outcomes import cost
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.strategies import random_case
from thalweg.vector import chain

STRETCH = 10_000


class Machine:
    """Filters whose outcomes are known, on a clock that only they move."""

    def __init__(self, passes: Mask, nanos: list[float], call: int = 1000) -> None:
        self.passes, self.nanos, self._call = passes, nanos, call
        self.now = 0

    def clock(self) -> int:
        return self.now

    def passing(self, number: int, rows: Index) -> Index:
        self.now += self._call + int(self.nanos[number] * len(rows))
        passed: Index = rows[self.passes[rows, number]]
        return passed

    def run(self, order: FilterOrder, first: int, end: int) -> list[Order]:
        """Rows in stretches, as a chain takes them; the orders they were taken in."""
        orders = []
        for begin in range(first, end, STRETCH):
            rows = np.arange(begin, begin + STRETCH)
            numbers, left, counts, began = order.next(), rows, [STRETCH], self.now
            for number in numbers:
                left = self.passing(number, left)
                counts.append(len(left))
            order.ran(numbers, counts, self.now - began)
            if order.wants_profile:
                order.profile(rows, self.passing)
            orders.append(numbers)
        return orders


def drawn(rows: int, *selectivities: float) -> Mask:
    return np.random.default_rng(0).random((rows, len(selectivities))) < selectivities


def test_the_best_order_is_found_and_profiling_stays_cheap() -> None:
    # spec: streamon 9.17
    rows = 4_000_000
    machine = Machine(drawn(rows, 0.9, 0.5, 0.1, 0.5), [2.0, 2.0, 2.0, 40.0])
    order = FilterOrder((0, 1, 3, 2), clock=machine.clock)
    for _ in range(3):
        machine.run(order, 0, rows)
    assert order.order == (2, 1, 0, 3)
    (change,) = order.changes
    assert change.is_kept
    assert change.measured == pytest.approx(change.expected, rel=0.15)
    assert order.profiled.nanos <= 0.011 * order.total.nanos


def test_a_change_is_seen_at_once() -> None:
    # spec: streamon 9.20
    half = 2_000_000
    passes = np.concatenate([drawn(half, 0.1, 0.5, 0.9), drawn(half, 0.9, 0.5, 0.1)])
    machine = Machine(passes, [50.0] * 3)
    order = FilterOrder((0, 1, 2), clock=machine.clock)
    machine.run(order, 0, half)
    assert order.order == (0, 1, 2)
    orders = machine.run(order, half, 2 * half)
    assert order.order == (2, 1, 0)
    assert orders.index((2, 1, 0)) < 10


def test_a_change_during_a_trial_is_seen() -> None:
    before, after = 4 * STRETCH, 1_000_000
    passes = np.concatenate([drawn(before, 0.55, 0.45, 0.9), drawn(after, 0.9, 0.9, 0.1)])
    machine = Machine(passes, [50.0] * 3)
    order = FilterOrder((0, 1, 2), clock=machine.clock)
    assert (1, 0, 2) in machine.run(order, 0, before)
    assert not order.changes
    orders = machine.run(order, before, before + after)
    assert order.order[0] == 2
    # A profile of so short a chain is not paid for at once.
    assert sum(one[0] != 2 for one in orders) < 30


def test_what_is_stable_is_left_alone() -> None:
    machine = Machine(drawn(3_000_000, 0.5, 0.5, 0.5), [10.0] * 3)
    order = FilterOrder((0, 1, 2), clock=machine.clock)
    machine.run(order, 0, 3_000_000)
    assert not order.changes


def test_what_comes_back_has_its_order_at_once() -> None:
    # spec: streamon 7.1
    rows = 2_000_000
    phases = [(0.1, 0.5, 0.9, 0.7), (0.9, 0.5, 0.1, 0.3)] * 3
    passes = np.concatenate([drawn(rows, *selectivities) for selectivities in phases])
    machine = Machine(passes, [50.0] * 4)
    order = FilterOrder((0, 1, 2, 3), clock=machine.clock)
    for phase in range(6):
        changes, profiles = len(order.changes), order.profiles
        orders = machine.run(order, phase * rows, (phase + 1) * rows)
        best = (2, 3, 1, 0) if phase % 2 else (0, 1, 3, 2)
        assert order.order == best
        if phase > 1:
            # A stretch in the old order shows the change; one in the new one is the trial.
            assert orders.index(best) <= 2
            assert len(order.changes) == changes + 1
            assert order.profiles > profiles
            assert orders.count(best) >= len(orders) - 2
    assert [entry.visits for entry in order.log.entries] == [3, 3]


def returned(selectivities: list[tuple[float, ...]]) -> tuple[float, float]:
    """The return on adaptivity: of the log, and by the definition on all rows."""
    rows, n = 1_000_000, len(selectivities[0])
    nanos = [20.0, 30.0, 40.0, 50.0][:n]
    parts = [drawn(rows, *some) for some in selectivities]
    machine = Machine(np.concatenate(parts), nanos)
    order = FilterOrder(tuple(range(n)), clock=machine.clock)
    machine.run(order, 0, rows * len(parts))
    every = list(permutations(range(n)))
    single = min(sum(cost(part, plan, nanos) for part in parts) for plan in every)
    each = sum(min(cost(part, plan, nanos) for plan in every) for part in parts)
    return order.log.return_on_adaptivity, single / each


def test_the_return_on_adaptivity_is_that_of_the_best_single_order() -> None:
    # spec: streamon 7.1
    stable, _ = returned([(0.2, 0.4, 0.6, 0.8)] * 3)
    assert stable == pytest.approx(1.0, abs=0.01)
    drifting, exact = returned([(0.05, 0.5, 0.9, 0.9), (0.9, 0.9, 0.5, 0.05)] * 2)
    assert exact > 1.2
    assert drifting == pytest.approx(exact, rel=0.05)


class Mistaken:
    """Wants the worst order."""

    def __init__(self, order: Order) -> None:
        self.order = order

    def observe(self, drops: Drops, times: Times) -> None:
        self.order = (1, 0)

    def forget(self) -> None:
        pass


def test_a_decision_that_does_not_pay_is_taken_back() -> None:
    machine = Machine(drawn(3_000_000, 0.1, 0.9), [20.0, 20.0])
    order = FilterOrder((0, 1), Mistaken, machine.clock)
    orders = machine.run(order, 0, 3_000_000)
    assert order.order == (0, 1)
    assert order.changes
    assert not any(change.is_kept for change in order.changes)
    # Each time it takes longer until the next one: the worse order gets a small part.
    assert orders.count((1, 0)) < 0.1 * len(orders)


def test_a_fixed_order_stays() -> None:
    machine = Machine(drawn(500_000, 0.9, 0.1), [5.0, 5.0])
    order = FilterOrder((0, 1), None, machine.clock)
    machine.run(order, 0, 500_000)
    assert order.order == (0, 1)
    assert order.profiled.nanos == 0


@pytest.mark.parametrize("part", range(4))
def test_answers_do_not_depend_on_the_order_of_filters(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another order after every few rows, and profiles all the time."""
    # spec: streamon 9.14
    chance = random.Random(part)

    def any_order(self: FilterOrder) -> Order:
        if self._policy is None:
            return self.order
        return tuple(chance.sample(self.order, len(self.order)))

    monkeypatch.setattr(chain, "STRETCH_ROWS", 16)
    monkeypatch.setattr(chain, "TRIED_STRETCH_ROWS", 16)
    monkeypatch.setattr(adaptive_order, "LEAST_ROWS", 0)
    monkeypatch.setattr(FilterOrder, "profile_share", 1e9)
    monkeypatch.setattr(FilterOrder, "next", any_order)
    for seed in range(part, 240, 4):
        case = random_case(seed)
        program, feeds = case.program(), case.feeds()
        expected = reference(program, feeds)
        # Interpreted, and by the text that is compiled otherwise.
        store = chance.choice((None, Uncompiled()))
        engine = batched(chance.choice((3, 1000)), chance.choice((1, 3)), store=store)
        ran = engine(program, feeds)
        for query in program.catalog.queries():
            name, schema = query.name, query.plan.schema
            wrong = differences(expected.answers[name], ran.answers[name], schema)
            assert not wrong, f"seed {seed}, {name}: {wrong}"
