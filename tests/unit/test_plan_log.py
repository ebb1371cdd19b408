"""Conditions that come back, and what it was worth to change plans."""

from __future__ import annotations

import random
from itertools import permutations

from thalweg.adapt.plan_log import Plan, PlanLog, moved


def flat(plan: Plan) -> float:
    return 1.0


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
        log.ran(10.0 - number)
    log.meet((7.0,), (7,), flat)
    assert [entry.plan for entry in log.entries] == [(0,), (1,), (7,)]


def test_the_best_single_plan_is_that_of_all_plans() -> None:
    # spec: streamon 7.1
    chance = random.Random(3)
    for _ in range(20):
        n = chance.choice((2, 3, 4))
        log, every = PlanLog(tolerance=0.0), list(permutations(range(n)))
        for _ in range(3):
            # What a number costs at each place: the sum is a plan's cost.
            costs = [[chance.random() for _ in range(n)] for _ in range(n)]

            def cost(plan: Plan, costs: list[list[float]] = costs) -> float:
                return sum(costs[number][place] for place, number in enumerate(plan))

            log.meet((chance.random(),), min(every, key=cost), cost)
            log.ran(chance.random())
        least = min(sum(e.weight * e.cost(plan) for e in log.entries) for plan in every)
        assert log.best_single(lambda _, every=every: every)[1] == least  # type: ignore[misc]
        assert least <= log.best_single()[1] <= 1.2 * least
        assert log.return_on_adaptivity >= 1.0


def test_moves_lead_to_every_order() -> None:
    assert set(moved((0, 1, 2))) == set(permutations(range(3))) - {(0, 1, 2), (2, 1, 0)}
