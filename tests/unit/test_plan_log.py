"""Conditions that come back, and what it was worth to change plans."""

from __future__ import annotations

import json
import random
from itertools import permutations

import numpy as np
import pytest

from thalweg.adapt.conditions import Conditions
from thalweg.adapt.outcomes import cost
from thalweg.adapt.plan_log import Entry, PlanLog, moved


def flat() -> Conditions:
    return Conditions((1.0, 1.0), ((0, 1),))


@pytest.mark.parametrize("n", [1, 3, 7])
def test_conditions_know_what_any_order_costs(n: int) -> None:
    random_ = np.random.default_rng(n)
    passes = random_.random((500, n)) < random_.random(n)
    times = random_.random(n) * 40
    conditions = Conditions.of(passes, times)
    again = Conditions.from_json(json.loads(json.dumps(conditions.to_json())))
    for _ in range(20):
        order = tuple(random_.permutation(n).tolist())
        expected = cost(passes, order, times) / len(passes)
        assert conditions.cost(order) == pytest.approx(expected)
        assert again.cost(order) == conditions.cost(order)


def test_conditions_are_recognised_if_no_statistic_differs_by_much() -> None:
    # spec: streamon 7.1
    log = PlanLog(tolerance=0.1)
    assert log.meet((0.1, 0.9), (0, 1), flat) is None
    assert log.meet((0.9, 0.1), (0, 1), flat) is None
    log.take((1, 0))
    again = log.meet((0.85, 0.19), (0, 1), flat)
    assert again is not None
    assert again.plan == (1, 0)
    assert log.recall((0.9, 0.25)) is None
    first = log.recall((0.15, 0.85))
    assert first is not None
    assert first.plan == (0, 1)


def test_what_ran_least_is_forgotten_first() -> None:
    log = PlanLog(tolerance=0.01, most=3)
    for number in range(3):
        log.meet((float(number),), (number,), flat)
        log.ran((number,), 10.0 - number)
    log.meet((7.0,), (7,), flat)
    assert [entry.plan for entry in log.entries] == [(0,), (1,), (7,)]


def test_the_best_single_plan_is_that_of_all_plans() -> None:
    # spec: streamon 7.1
    chance = random.Random(3)
    for _ in range(20):
        n = chance.choice((2, 3, 4))
        log, every = PlanLog(tolerance=0.0), list(permutations(range(n)))
        for _ in range(3):
            patterns = [(bits, chance.randint(1, 50)) for bits in range(2**n)]
            times = tuple(chance.random() for _ in range(n))
            conditions = Conditions(times, tuple(patterns))
            plan = min(every, key=conditions.cost)
            log.meet((chance.random(),), plan, lambda c=conditions: c)
            log.ran(plan, chance.random())
        least = min(sum(e.weight * e.cost(plan) for e in log.entries) for plan in every)
        assert log.best_single(lambda _, every=every: every)[1] == least  # type: ignore[misc]
        assert least <= log.best_single()[1] <= 1.2 * least
        assert log.return_on_adaptivity >= 1.0


def test_a_log_that_hears_of_all_that_another_tells_is_like_it() -> None:
    # spec: streamon 7.1
    told, hearing = PlanLog(tolerance=0.1), PlanLog(tolerance=0.1)
    for statistics, plan in (((0.1, 0.9), (0, 1)), ((0.9, 0.1), (1, 0)), ((0.12, 0.9), (0, 1))):
        told.meet(statistics, plan, flat)
        told.take(plan)
        for rows in (10.0, 5.0):
            told.ran(plan, rows)
            for ran in told.news():
                hearing.hear(ran)
        assert not told.news()
    kept = [Entry.from_json(json.loads(json.dumps(e.to_json()))) for e in hearing.entries]
    assert kept == told.entries
    assert [(e.weight, e.visits) for e in kept] == [(30.0, 2), (15.0, 1)]


def test_rows_cost_what_the_plan_costs_that_they_ran_in() -> None:
    # spec: streamon 7.1
    log = PlanLog()
    log.meet((0.8, 0.1), (0, 1), lambda: Conditions((1.0, 1.0), ((0, 1), (1, 8), (2, 1))))
    log.ran((0, 1), 100.0)
    assert log.spent == pytest.approx(180.0)
    assert log.return_on_adaptivity == pytest.approx(110.0 / 180.0)
    log.take((1, 0))
    log.ran((1, 0), 300.0)
    assert log.spent == pytest.approx(180.0 + 3 * 110.0)


def test_moves_lead_to_every_order() -> None:
    assert set(moved((0, 1, 2))) == set(permutations(range(3))) - {(0, 1, 2), (2, 1, 0)}
