"""Joins whose orders and caches change at any row: the same answers."""

from __future__ import annotations

import random

import pytest
from forced_joins import Forced
from join_cases import join_case

from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, placed, reference


@pytest.mark.parametrize("part", range(4))
def test_answers_do_not_depend_on_orders_and_caches(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2,500 sequences of forced changes each."""
    # spec: streamon 9.24, 9.28
    chance = random.Random(part)
    forced = Forced(monkeypatch, chance)
    for seed in range(part, 1000, 4):
        case = join_case(seed)
        program = case.program()
        (query,) = program.catalog.queries()
        expected = reference(program, case.feeds).answers["q"]
        placement = placed(program)
        for _ in range(10):
            engine = batched(
                chance.choice((1, 2, 100)),
                chance.choice((1, 1, 3)),
                restarts=chance.random() < 0.1,
                placement=placement,
            )
            ran = engine(program, case.feeds).answers["q"]
            wrong = differences(expected, ran, query.plan.schema)
            assert not wrong, f"seed {seed}: {wrong}"
    for what in ("caches", "hits", "orders", "rooms"):
        assert forced.did[what] > 500, forced.did
    assert forced.did["compared"] > 100, forced.did


def test_answers_do_not_depend_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a cache has room for, against joins without any."""
    # spec: streamon 9.28
    chance = random.Random(11)
    cases = [join_case(seed, 4, (300, 500)) for seed in range(40)]
    expected = [batched(100)(case.program(), case.feeds).answers["q"] for case in cases]
    forced = Forced(monkeypatch, chance)
    for case, answers in zip(cases, expected, strict=True):
        program = case.program()
        (query,) = program.catalog.queries()
        ran = batched(chance.choice((20, 100)))(program, case.feeds).answers["q"]
        wrong = differences(answers, ran, query.plan.schema)
        assert not wrong, wrong
    assert forced.did["full"] > 10
    assert forced.did["hits"] > 1000


def test_entries_are_what_look_ups_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    # spec: streamon 9.28, 9.37
    chance = random.Random(5)
    forced = Forced(monkeypatch, chance, check=True)
    for seed in range(150):
        case = join_case(seed)
        batched(chance.choice((1, 2, 100)))(case.program(), case.feeds)
    assert forced.did["hits"] > 100
