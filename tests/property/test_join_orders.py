"""From filters to look-ups; which subresults are candidates, and which are chosen."""

from __future__ import annotations

import random

import numpy as np
import pytest

from thalweg.adapt.cache_loop import CacheLoop, Profile, Recurrence, Step
from thalweg.adapt.cache_memory import PAGE, Claim, shared_out
from thalweg.adapt.caching import (
    Candidate,
    Estimate,
    candidates,
    exhaustive,
    greedy,
    nested,
    net,
    prefix_candidates,
    segments,
)
from thalweg.adapt.join_order import look_ups, path_to, spanning_tree


def test_filters_along_paths_become_look_ups() -> None:
    # spec: streamon 9.26
    tree = {2: 1, 3: 1, 4: 3, 5: 3, 6: 5}
    assert path_to(6, tree) == (3, 5, 6)
    assert look_ups((4, 3, 2, 5, 6), tree) == (3, 4, 2, 5, 6)


@pytest.mark.parametrize("seed", range(50))
def test_no_look_up_is_a_product(seed: int) -> None:
    # spec: streamon 9.26
    chance = random.Random(seed)
    members = range(chance.randint(2, 8))
    neighbours: dict[int, list[int]] = {m: [] for m in members}
    for m in members[1:]:
        for other in {chance.randrange(m), chance.randrange(m)}:
            neighbours[m].append(other)
            neighbours[other].append(m)
    for root in members:
        tree = spanning_tree(root, neighbours, lambda a, b: chance.random())
        assert tree.keys() == set(members) - {root}
        filters = chance.sample(sorted(tree), len(tree))
        order = look_ups(filters, tree)
        assert sorted(order) == sorted(tree)
        for at, member in enumerate(order):
            assert set(neighbours[member]) & {root, *order[:at]}


def test_ways_that_multiply_least() -> None:
    neighbours = {0: [1, 2], 1: [0, 2], 2: [0, 1]}
    fan_outs = {(0, 1): 1.0, (0, 2): 50.0, (1, 2): 2.0, (2, 1): 2.0}
    tree = spanning_tree(0, neighbours, lambda near, far: fan_outs.get((near, far), 9.0))
    assert tree == {1: 0, 2: 1}


ORDERS = {
    1: (2, 3, 4, 5, 6),
    2: (1, 3, 5, 4, 6),
    3: (2, 1, 4, 5, 6),
    4: (5, 1, 2, 3, 6),
    5: (4, 2, 3, 1, 6),
    6: (2, 1, 4, 5, 3),
}


def test_the_candidates_of_the_worked_example() -> None:
    # spec: streamon 9.27
    found = prefix_candidates(ORDERS)
    sets = {frozenset(c.members) for c in found}
    assert sets == {frozenset(s) for s in ({1, 2}, {4, 5}, {1, 2, 3}, {1, 2, 3, 4, 5})}
    by_pipeline = {p: [set(c.members) for c in found if c.pipeline == p] for p in ORDERS}
    assert by_pipeline[4] == [{1, 2}, {1, 2, 3}]
    assert by_pipeline[6] == [{1, 2}, {4, 5}, {1, 2, 3, 4, 5}]
    users = {p for p in ORDERS if {1, 2} in by_pipeline[p]}
    assert users == {3, 4, 6}
    assert {p for p in ORDERS if {1, 2, 3} in by_pipeline[p]} == {4, 5}


def test_others_fill_up_the_candidates_largest_first() -> None:
    orders = {0: (1, 2), 1: (0, 2), 2: (1, 0)}
    assert [c.members for c in prefix_candidates(orders)] == [{0, 1}]
    found = candidates(orders, lambda members: True, 6)
    assert len(found) == 3
    assert len(candidates(orders, lambda members: members != {0, 2}, 6)) == 2


def drawn(seed: int, is_shared: bool) -> dict[Candidate, Estimate]:
    """Estimates of candidates of a random join."""
    chance = random.Random(seed)
    members = range(chance.randint(3, 6))
    orders = {
        m: tuple(chance.sample([o for o in members if o != m], len(members) - 1)) for m in members
    }
    found = prefix_candidates(orders) if not is_shared else segments(orders)[:9]
    costs = {c.shared: chance.uniform(0, 5) for c in found}
    return {c: Estimate(chance.uniform(-2, 8), costs[c.shared]) for c in found}


@pytest.mark.parametrize("seed", range(200))
def test_without_sharing_the_tree_of_candidates_has_the_best_set(seed: int) -> None:
    # spec: streamon 9.31
    estimates = drawn(seed, is_shared=False)
    alone: dict[frozenset[int], Candidate] = {c.members: c for c in estimates}
    own = {c: estimates[c] for c in alone.values()}
    best, found = exhaustive(list(own), own), nested(list(own), own)
    assert net(found, own) == pytest.approx(net(best, own))


def test_with_sharing_greed_comes_near_to_the_best_set() -> None:
    # spec: streamon 9.31
    reached = []
    for seed in range(150):
        estimates = drawn(seed, is_shared=True)
        best, found = exhaustive(list(estimates), estimates), greedy(list(estimates), estimates)
        assert not any(a.overlaps(b) for a in found for b in found if a != b)
        if net(best, estimates) > 0:
            reached.append(net(found, estimates) / net(best, estimates))
    assert np.mean(reached) > 0.95
    assert min(reached) > 0.5


@pytest.mark.parametrize("part", [0.02, 0.2, 0.6, 1.0])
def test_bits_tell_how_many_keys_are_new(part: float) -> None:
    # spec: streamon 9.32
    random_ = np.random.default_rng(1)
    keys = 4096
    values = random_.permutation(np.arange(keys) % max(1, int(part * keys))) * 7919
    errors = []
    for bits in (1, 4, 16):
        recurrence = Recurrence(keys, bits)
        for some in np.array_split(values, 5):
            recurrence.add(some)
        assert recurrence.fresh is not None
        errors.append(abs(recurrence.fresh - len(np.unique(values)) / keys))
    assert errors[2] <= errors[1] <= errors[0]
    assert errors[1] < 0.15


PLACE = Candidate(2, 0, 1, frozenset({0, 1}), frozenset({0}))


def profile(looked_up: float, fresh: float, updating: float) -> Profile:
    steps = {2: [Step(1.0, 5.0, looked_up / 2), Step(5.0, 0.1, looked_up / 2)]}
    return Profile({0: 100, 1: 100, 2: 1000}, steps, {PLACE: fresh}, lambda _: updating)


def test_a_cache_is_chosen_dropped_and_rests() -> None:
    # spec: streamon 9.33
    loop = CacheLoop()
    choice = loop.choose([PLACE], profile(1000.0, 0.1, 1e4), 1e6)
    assert choice is not None
    assert loop.used == {PLACE}
    assert choice.expected > 3
    loop.drop(PLACE)
    assert not loop.used
    # It is left out of the next choice, however good it looks, and comes back later.
    assert loop.choose([PLACE], profile(9000.0, 0.1, 1e4), 1e6) is None
    assert loop.choose([PLACE], profile(30_000.0, 0.1, 1e4), 1e6) is not None


def test_what_is_stable_is_not_chosen_again() -> None:
    # spec: streamon 9.33
    loop, asked = CacheLoop(), []

    def updating(candidate: Candidate) -> float:
        asked.append(candidate)
        return 1e4

    given = profile(1000.0, 0.1, 1e4)
    same = Profile(given.rows, given.steps, given.fresh, updating)
    assert loop.choose([PLACE], same, 1e6) is not None
    assert all(loop.choose([PLACE], same, 1e6) is None for _ in range(5))


@pytest.mark.parametrize(
    ("looked_up", "fresh", "updating"),
    [(30.0, 0.0, 0.0), (1000.0, 1.0, 1e4), (1000.0, 0.1, 1e7)],
    ids=["cheap look-ups", "keys that do not recur", "many updates"],
)
def test_what_does_not_pay_is_not_chosen(looked_up: float, fresh: float, updating: float) -> None:
    loop = CacheLoop()
    assert loop.choose([PLACE], profile(looked_up, fresh, updating), 1e6) is None


def test_memory_goes_to_those_that_save_most_for_a_byte() -> None:
    # spec: streamon 9.35
    good, bad = Claim(saves=100.0, wants=10 * PAGE), Claim(saves=10.0, wants=10 * PAGE)
    assert shared_out([bad, good], 30 * PAGE) == [10 * PAGE, 20 * PAGE]
    assert shared_out([bad, good], 15 * PAGE) == [5 * PAGE, 10 * PAGE]
    assert shared_out([bad, good], 8 * PAGE) == [0, 8 * PAGE]
    assert shared_out([], 8 * PAGE) == []
