"""When caches of a join come and go.

Candidates are estimated from what look-ups cost without them, and from how often keys
recur. Now and then the best set is chosen anew, if anything has changed since. A cache that
costs more than it saves goes at once, and rests for a while, longer each time; one that has
become worth its while waits for the next choice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.adapt.caching import Candidate, Estimate, Shared, best_set, net
from thalweg.adapt.drops import Index

# What is estimated has changed if it is another by more than this part.
CHANGE = 0.2
# Keys that a block of them has, and bits for each of them.
BLOCK_KEYS, BLOCK_BITS = 16_384, 4
# Caches are tried if they are to make a join so many times as fast.
WORTH_TRYING = 1.1
# (m) Nanoseconds to ask a cache, to take a combination from it, and to add one.
ASKING, TAKING, ADDING = 45.0, 12.0, 60.0
# (m) How many times longer than a look-up it takes to fill an entry: it is for all times.
FILLING = 2.0
# Choices that a cache is left out of after it did not pay for the first time.
_REST = 2

_ODD = np.uint64(0x9E3779B97F4A7C15)


class Recurrence:
    """How many of the keys that come are new: bits that are set by the keys of a block."""

    def __init__(self, keys: int = BLOCK_KEYS, bits: int = BLOCK_BITS) -> None:
        self._keys = keys
        self._shift = np.uint64(64 - max(1, (keys * bits - 1).bit_length()))
        self._is_set = np.zeros(1 << (64 - int(self._shift)), np.bool_)
        self._seen = 0
        # The part of the keys that were new in the last whole block; None before there is one.
        self.fresh: float | None = None

    def add(self, hashes: Index) -> None:
        """Keys that came."""
        some = hashes[: self._keys - self._seen]
        self._is_set[(some.view(np.uint64) * _ODD) >> self._shift] = True
        self._seen += len(some)
        if self._seen == self._keys:
            self.fresh = int(self._is_set.sum()) / self._keys
            self._is_set[:] = False
            self._seen = 0

    @property
    def so_far(self) -> float | None:
        """The estimate, be it of a block that is not whole yet."""
        if self.fresh is not None or not self._seen:
            return self.fresh
        return int(self._is_set.sum()) / self._seen


@dataclass(frozen=True, slots=True)
class Step:
    """A look-up, for each row of its pipeline: what comes to it and leaves it, and its time."""

    entering: float
    leaving: float
    nanos: float


@dataclass(frozen=True)
class Profile:
    """What was measured in an interval: by pipeline the rows and the look-ups in their order,
    by candidate the part of the keys that do not recur, and what it takes to keep it up to
    date."""

    rows: Mapping[int, int]
    steps: Mapping[int, Sequence[Step]]
    fresh: Mapping[Candidate, float]
    updating: Callable[[Candidate], float]

    def estimate(self, candidate: Candidate) -> Estimate:
        steps = self.steps[candidate.pipeline][candidate.first : candidate.last + 1]
        entering, leaving = steps[0].entering, steps[-1].leaving
        looked_up = sum(step.nanos for step in steps)
        asking = entering * ASKING + leaving * TAKING
        missed = self.fresh[candidate] * (FILLING * looked_up + leaving * ADDING)
        benefit = self.rows[candidate.pipeline] * (looked_up - asking - missed)
        # What does not pay even so need not be measured.
        cost = self.updating(candidate) if benefit > 0 else 0.0
        return Estimate(benefit, cost)


@dataclass(frozen=True, slots=True)
class Choice:
    """A set of caches instead of another, and how many times faster all was to be."""

    before: frozenset[Candidate]
    after: frozenset[Candidate]
    expected: float


@dataclass
class CacheLoop:
    """`used` are the caches of now."""

    used: frozenset[Candidate] = frozenset()
    _estimates: dict[Candidate, Estimate] = field(default_factory=dict)
    # By shared cache: how often it did not pay, and how many choices it is still left out of.
    _failed: dict[Shared, int] = field(default_factory=dict)
    _resting: dict[Shared, int] = field(default_factory=dict)

    def choose(
        self, candidates: Sequence[Candidate], profile: Profile, total: float
    ) -> Choice | None:
        """Other caches, if the estimates have changed and there are better ones. `total` is
        the time without caches."""
        self._resting = {c: left - 1 for c, left in self._resting.items() if left > 1}
        estimates = {c: profile.estimate(c) for c in candidates if c in profile.fresh}
        if not self._has_changed(estimates):
            return None
        self._estimates = estimates
        open_ = {c: e for c, e in estimates.items() if c.shared not in self._resting}
        chosen = best_set(open_)
        # What is in use was measured, not estimated: it gives way to a clear gain only.
        staying = [c for c in self.used if c in open_]
        if chosen == self.used or net(chosen, open_) <= 1.1 * max(0.0, net(staying, open_)):
            return None
        expected = total / max(total - net(chosen, open_), 0.01 * total)
        if expected < WORTH_TRYING:
            return None
        choice = Choice(self.used, chosen, expected)
        self.used = chosen
        return choice

    def _has_changed(self, estimates: Mapping[Candidate, Estimate]) -> bool:
        if estimates.keys() != self._estimates.keys():
            return True
        return any(
            abs(now - then) > CHANGE * abs(then)
            for candidate, estimate in estimates.items()
            for now, then in (
                (estimate.benefit, self._estimates[candidate].benefit),
                (estimate.cost, self._estimates[candidate].cost),
            )
        )

    def drop(self, candidate: Candidate) -> None:
        """A cache that did not pay."""
        self.used -= {candidate}
        times = self._failed.get(candidate.shared, 0)
        self._failed[candidate.shared] = times + 1
        self._resting[candidate.shared] = _REST * 4**times

    def forget(self, pipeline: int) -> None:
        """The order of a pipeline is another one: its caches are of no use."""
        self.used = frozenset(c for c in self.used if c.pipeline != pipeline)
        self._estimates.clear()
