"""Which subresults of a join are worth keeping.

A cache stands in the pipeline of one input in place of some consecutive look-ups: what
those found for a key before is taken as a whole. It saves what they would have cost, and
costs what looking into it, filling it and keeping it up to date does. Caches of the same
members by the same key, in whatever pipelines, are one: what keeps it up to date is paid
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

# By pipeline: the order in which the other members are looked up.
Orders = Mapping[int, Sequence[int]]
# What caches have in common that are one: their members, and their key as numbers of classes and
# of conditions.
Shared = tuple[frozenset[int], frozenset[int], frozenset[int]]

# With up to so many candidates all sets of them are looked at.
EXHAUSTIVE = 8


@dataclass(frozen=True, slots=True)
class Candidate:
    """A cache for the look-ups at `first` up to `last` of a pipeline. Its key is what the
    members of classes of columns equal, or what conditions compare them with."""

    pipeline: int
    first: int
    last: int
    members: frozenset[int]
    key: frozenset[int] = frozenset()
    conditions: frozenset[int] = frozenset()

    @property
    def shared(self) -> Shared:
        return self.members, self.key, self.conditions

    def overlaps(self, other: Candidate) -> bool:
        return (
            self.pipeline == other.pipeline
            and self.first <= other.last
            and other.first <= self.last
        )


def segments(orders: Orders) -> list[Candidate]:
    """All runs of two or more consecutive look-ups, shorter ones first."""
    found = [
        Candidate(pipeline, first, last, frozenset(order[first : last + 1]))
        for pipeline, order in sorted(orders.items())
        for first in range(len(order))
        for last in range(first + 1, len(order))
    ]
    return sorted(found, key=lambda c: c.last - c.first)


def prefix_candidates(orders: Orders) -> list[Candidate]:
    """Those whose members' own pipelines each begin with the others of them: what is new in
    such a cache is computed anyway."""
    return [
        segment
        for segment in segments(orders)
        if all(
            {m, *orders[m][: len(segment.members) - 1]} == segment.members for m in segment.members
        )
    ]


def candidates(
    orders: Orders, is_joined: Callable[[frozenset[int]], bool], most: int
) -> list[Candidate]:
    """The prefix candidates, and up to `most` in all others whose members are joined among
    themselves, the largest first."""
    found = [c for c in prefix_candidates(orders) if is_joined(c.members)]
    for segment in sorted(segments(orders), key=lambda c: -len(c.members)):
        if len(found) >= most:
            break
        if segment not in found and is_joined(segment.members):
            found.append(segment)
    return found


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a cache saves in its place, and what keeping it up to date costs; in nanoseconds."""

    benefit: float
    cost: float

    @property
    def net(self) -> float:
        return self.benefit - self.cost


Estimates = Mapping[Candidate, Estimate]


def net(chosen: Iterable[Candidate], estimates: Estimates) -> float:
    """What a set of caches saves, each shared one paid for once."""
    costs = {candidate.shared: estimates[candidate].cost for candidate in chosen}
    return sum(estimates[candidate].benefit for candidate in chosen) - sum(costs.values())


def best_set(estimates: Estimates) -> frozenset[Candidate]:
    """Caches that do not overlap and save most: exactly where that is quick or nothing is
    shared, else greedily."""
    promising = [c for c, estimate in estimates.items() if estimate.benefit > 0]
    if len(promising) <= EXHAUSTIVE:
        return exhaustive(promising, estimates)
    shared = [c.shared for c in promising]
    if len(set(shared)) == len(shared) and _are_nested(promising):
        return nested(promising, estimates)
    return greedy(promising, estimates)


def exhaustive(among: Sequence[Candidate], estimates: Estimates) -> frozenset[Candidate]:
    best: tuple[float, frozenset[Candidate]] = 0.0, frozenset()
    for size in range(1, len(among) + 1):
        for chosen in combinations(among, size):
            if not any(a.overlaps(b) for a, b in combinations(chosen, 2)):
                best = max(best, (net(chosen, estimates), frozenset(chosen)), key=lambda b: b[0])
    return best[1]


def _are_nested(among: Sequence[Candidate]) -> bool:
    return all(
        not a.overlaps(b) or _within(a, b) or _within(b, a) for a, b in combinations(among, 2)
    )


def _within(inner: Candidate, outer: Candidate) -> bool:
    return (
        inner.pipeline == outer.pipeline
        and outer.first <= inner.first
        and inner.last <= outer.last
        and inner != outer
    )


def nested(among: Sequence[Candidate], estimates: Estimates) -> frozenset[Candidate]:
    """The best set if none is shared and those that overlap lie within each other: each is
    compared with the best of what lies within it."""
    best: dict[Candidate, tuple[float, frozenset[Candidate]]] = {}
    by_size = sorted(among, key=lambda c: c.last - c.first)
    for candidate in by_size:
        inside = _together(_outermost([c for c in by_size if _within(c, candidate)]), best)
        own = estimates[candidate].net
        alone = own, frozenset((candidate,))
        best[candidate] = max((0.0, frozenset[Candidate]()), inside, alone, key=lambda b: b[0])
    return _together(_outermost(by_size), best)[1]


def _outermost(among: Sequence[Candidate]) -> list[Candidate]:
    return [c for c in among if not any(_within(c, other) for other in among)]


def _together(
    parts: Iterable[Candidate], best: Mapping[Candidate, tuple[float, frozenset[Candidate]]]
) -> tuple[float, frozenset[Candidate]]:
    values = [best[part] for part in parts]
    return sum(v for v, _ in values), frozenset[Candidate]().union(*(s for _, s in values))


def greedy(among: Sequence[Candidate], estimates: Estimates) -> frozenset[Candidate]:
    """One shared cache after the other, in all the places where it helps: always the one that
    saves most of what is left, until none saves anything. One that stands in the way of a
    larger saving gives way."""
    chosen: frozenset[Candidate] = frozenset()
    while True:
        ways = [_with(chosen, shared, among, estimates) for shared in {c.shared for c in among}]
        best = max(ways, key=lambda way: net(way, estimates), default=chosen)
        if net(best, estimates) <= net(chosen, estimates) * (1 + 1e-9) + 1e-9:
            return chosen
        chosen = best


def _with(
    chosen: frozenset[Candidate],
    shared: Shared,
    among: Sequence[Candidate],
    estimates: Estimates,
) -> frozenset[Candidate]:
    """A set with one more shared cache, where it beats what it displaces."""
    for use in sorted((c for c in among if c.shared == shared), key=lambda c: c.first):
        displaced = {c for c in chosen if c.overlaps(use) and c != use}
        if estimates[use].benefit > sum(estimates[c].benefit for c in displaced):
            chosen = (chosen - displaced) | {use}
    return chosen
