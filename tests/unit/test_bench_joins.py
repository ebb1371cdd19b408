"""The benchmarks of joins run, on few rows, and compare what is alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from thalweg.bench import adapt_overhead, caching, joins
from thalweg.bench.cached_joins import POINTS
from thalweg.bench.drifting_joins import batches, chain, cycle, star
from thalweg.bench.joined import OFF, Joined, digest


@pytest.mark.parametrize("graph", [star(3), chain(4), cycle(3)], ids=lambda graph: graph.name)
def test_all_orders_find_the_same(graph: joins.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joins, "SECONDS", 6)
    monkeypatch.setattr(joins, "FILLED", 3)
    found = joins.measure(graph, 2000, 2)
    assert found.is_right
    assert all(found.adaptive + found.hindsight + found.static)


def test_there_is_something_to_be_found() -> None:
    for graph in joins.GRAPHS:
        joined = Joined(graph.script(), OFF)
        shares = [0.9] * len(graph.edges)
        found = [
            len(joined.step(batch))
            for batch in batches(graph, shares, 5000, range(12), np.random.default_rng(1))
        ]
        assert sum(found) > 0, graph.name


@pytest.mark.parametrize("name", ["updates x 4", "3-way on one key", "few of many", "D4"])
def test_caches_find_the_same(name: str) -> None:
    number = [case.name for case in caching.CASES].index(name)
    assert caching.measure(number, 2, quick=True).is_right


def test_trees_and_prefix_caches_are_run_side_by_side() -> None:
    # spec: streamon 9.36
    rates = caching.side_by_side("D7", quick=True)
    assert rates.keys() == set("XPG")
    assert POINTS.keys() >= {"D1", "D8"}


@pytest.mark.parametrize("run", [adapt_overhead.star_join, adapt_overhead.same_key_join])
def test_nothing_is_found_in_vain(
    run: Callable[[int, int], adapt_overhead.Taken], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapt_overhead, "SECONDS", 4)
    monkeypatch.setattr(adapt_overhead, "SAME_KEY", caching.same_key(3, rows=100))
    taken = run(1000, 2)
    assert taken.is_right
    assert len(taken.adaptive) == len(taken.fixed) == 2


def test_the_digest_is_of_the_changes_not_of_their_order() -> None:
    joined = Joined(star(3).script(), OFF)
    rows = batches(star(3), (0.9, 0.9), 500, range(3), np.random.default_rng(2))
    for batch in rows:
        found = joined.step(batch)
    assert len(found) > 1
    assert digest(found) == digest(found.take(np.arange(len(found))[::-1]))
    assert digest(found) != digest(found.take(np.arange(len(found) - 1)))
