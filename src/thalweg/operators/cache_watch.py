"""Sees what the look-ups and the caches of a join cost, and has the caches that pay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from thalweg.adapt.cache_loop import ADDING, BLOCK_KEYS, CacheLoop, Profile, Recurrence, Step
from thalweg.adapt.caching import Candidate, candidates
from thalweg.adapt.measured import Tally
from thalweg.operators.delta import Delta
from thalweg.operators.join_caches import ENOUGH_ROWS, JoinCaches
from thalweg.operators.join_pipeline import Pipeline, Route
from thalweg.operators.join_walk import Partial, Walk
from thalweg.vector.hashing import hash_columns

# Nanoseconds of a join's own work after which its caches are looked at, and chosen anew; up to so
# many times as many, as long as nothing comes of it, each time by so much more.
LOOK, INTERVAL = 10_000_000, 200_000_000
MOST_PATIENCE, MORE_PATIENCE = 8.0, 1.5
# Prefix candidates and others, in all.
MOST_CANDIDATES = 6
# Rows with caches after which they are judged; as many before are there to fill them.
JUDGED_ROWS = 20_000
# Rows by which it is found out what it takes to keep a cache up to date.
FEW_ROWS = 32
# Intervals for which it is remembered what it takes to keep a cache up to date.
REMEMBERED = 8
# What is so many times as fast as without caches is not tried any longer.
DISASTER = 0.4
# Keys of one batch that are looked at.
_SOME_KEYS = 4096


@dataclass(frozen=True)
class CacheChange:
    """Other caches in use: how many times faster that was to be, and was."""

    before: frozenset[Candidate]
    after: frozenset[Candidate]
    expected: float
    measured: float
    is_kept: bool


@dataclass
class _Mark:
    """Where the counters of a pipeline with caches stood: rows with and without them, and the
    nanoseconds of the former."""

    rows: int
    plain_rows: int
    nanos: int
    updating: float
    is_filled: bool


@dataclass
class CacheWatch:
    caches: JoinCaches
    changes: list[CacheChange] = field(default_factory=list)
    _loop: CacheLoop = field(default_factory=CacheLoop)
    # By pipeline: its route, and the order of members that comes of it.
    _routes: list[Route] = field(default_factory=list)
    _orders: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _candidates: list[Candidate] = field(default_factory=list)
    _recurrences: dict[Candidate, Recurrence] = field(default_factory=dict)
    # By pipeline: its look-ups for each row, and where their counters stood.
    _steps: dict[int, list[Step]] = field(default_factory=dict)
    _counted: dict[int, tuple[int, list[Tally]]] = field(default_factory=dict)
    # By pipeline: nanoseconds for a row without caches, and where the counters stood.
    _plain: dict[int, float] = field(default_factory=dict)
    _plain_counted: dict[int, tuple[int, int]] = field(default_factory=dict)
    _rows: dict[int, int] = field(default_factory=dict)
    _marks: dict[int, _Mark] = field(default_factory=dict)
    _expected: tuple[frozenset[Candidate], float] | None = None
    # Inputs of which a few rows are wanted, and by input a few that came lately.
    wanted: set[int] = field(init=False)
    _rows_of: dict[int, Delta] = field(default_factory=dict)
    # By members of a cache and one of them: when it was measured, and what a row of it takes.
    _updates: dict[tuple[frozenset[int], int], tuple[int, tuple[float, float]]] = field(
        default_factory=dict
    )
    _intervals: int = 0
    _patience: float = 1.0
    _looked: int = 0
    _last: int = 0

    def __post_init__(self) -> None:
        self.wanted = set(self.caches.topology.members)

    def see(self, member: int, delta: Delta) -> None:
        """Rows of an input, a few of which are copied."""
        if len(delta):
            self._rows_of[member] = delta.take(np.arange(min(len(delta), FEW_ROWS)))
            self.wanted.discard(member)

    def after_step(self) -> None:
        spent = sum(pipeline.nanos for pipeline in self.caches.pipelines)
        if spent - self._looked < LOOK:
            return
        self._looked = spent
        self._look_at_orders()
        for pipeline in self.caches.pipelines:
            self._look_at_plain(pipeline)
            if pipeline.caches:
                self._judge(pipeline)
        if spent - self._last >= self._patience * INTERVAL:
            self._last = spent
            self._reconsider()

    def _look_at_orders(self) -> None:
        routes = [pipeline.route for pipeline in self.caches.pipelines]
        if routes == self._routes:
            return
        self._routes, orders = routes, self.caches.orders()
        self._patience = 1.0
        for root in [root for root, order in orders.items() if self._orders.get(root) != order]:
            self._loop.forget(root)
            for by_root in (self._steps, self._counted, self._marks):
                by_root.pop(root, None)
        self._orders = orders
        joined = self.caches.topology.are_joined
        found = candidates(orders, joined, MOST_CANDIDATES)
        self._candidates = [self.caches.with_key(candidate) for candidate in found]
        self._use()
        self._watch()

    def _use(self) -> None:
        self.caches.use(self._loop.used)
        self._marks.clear()

    # How often keys recur

    def _watch(self) -> None:
        self._recurrences = {candidate: Recurrence() for candidate in self._candidates}
        for pipeline in self.caches.pipelines:
            own = [c for c in self._candidates if c.pipeline == pipeline.root]
            pipeline.watch = self._watcher(own) if own else None

    def _watcher(self, own: Sequence[Candidate]) -> Callable[[int, Walk, Partial], None]:
        places = {candidate: self.caches.key_places(candidate) for candidate in own}

        def watch(at: int, walk: Walk, came: Partial) -> None:
            for candidate in own:
                recurrence = self._recurrences[candidate]
                if candidate.first == at and recurrence.fresh is None:
                    some = came
                    if len(came) > _SOME_KEYS:
                        some = came.take(np.arange(_SOME_KEYS))
                    some, keys = walk.keys(places[candidate], some)
                    if keys:
                        recurrence.add(hash_columns(keys, len(some)))
                    else:
                        recurrence.add(np.zeros(len(some), np.int64))

        return watch

    # What look-ups cost

    def _look_at_plain(self, pipeline: Pipeline) -> None:
        root, plain = pipeline.root, pipeline.plain
        rows, nanos = self._plain_counted.get(root, (0, 0))
        if plain.rows - rows >= ENOUGH_ROWS:
            self._plain[root] = (plain.nanos - nanos) / (plain.rows - rows)
            self._plain_counted[root] = plain.rows, plain.nanos

    def _measure(self, pipeline: Pipeline) -> None:
        """What each look-up did since it was last asked, if that is enough to tell."""
        root, passed = pipeline.root, [pipeline.passed[m] for m in self._orders[pipeline.root]]
        then_rows, then = self._counted.get(root, (0, [Tally()] * len(passed)))
        rows = pipeline.plain.rows - then_rows
        if rows < ENOUGH_ROWS:
            return
        now = [replace(tally) for tally in passed]
        self._counted[root] = pipeline.plain.rows, now
        self._steps[root] = [
            Step(
                (a.rows_in - b.rows_in) / rows,
                (a.rows_out - b.rows_out) / rows,
                (a.nanos - b.nanos) / rows,
            )
            for a, b in zip(now, then, strict=True)
        ]

    # Choosing, and judging

    def _reconsider(self) -> None:
        self._intervals += 1
        self.wanted.update(self.caches.topology.members)
        rows = {}
        for pipeline in self.caches.pipelines:
            total = pipeline.plain.rows + pipeline.cached.rows
            rows[pipeline.root] = total - self._rows.get(pipeline.root, 0)
            self._rows[pipeline.root] = total
            self._measure(pipeline)
        fresh = {c: r.so_far for c, r in self._recurrences.items() if c.pipeline in self._steps}
        known = {candidate: part for candidate, part in fresh.items() if part is not None}
        for candidate in self._recurrences:
            self._recurrences[candidate] = Recurrence()
        profile = Profile(rows, self._steps, known, partial(self._updating_all, rows, known))
        nanos = sum(rows[root] * sum(s.nanos for s in steps) for root, steps in self._steps.items())
        choice = self._loop.choose(self._candidates, profile, nanos)
        self._patience = min(MORE_PATIENCE * self._patience, MOST_PATIENCE)
        if choice is not None:
            self._patience = 1.0
            self._expected = choice.before, choice.expected
            self._use()
        for candidate in self._loop.used & known.keys():
            self.caches.claim(candidate, profile.estimate(candidate).net)

    def _updating_all(
        self, rows: Mapping[int, int], fresh: Mapping[Candidate, float], candidate: Candidate
    ) -> float:
        """The nanoseconds to keep a cache up to date with all rows of an interval."""
        total, each = 0.0, ADDING
        if candidate.conditions:
            each += fresh[candidate] * BLOCK_KEYS * self._comparing(candidate)
        for member in candidate.members & self._rows_of.keys():
            nanos, added = self._updating_one(candidate.members, member)
            total += rows[member] * (nanos + added * each)
        return total

    def _comparing(self, candidate: Candidate) -> float:
        """The nanoseconds to test the conditions of a pair, as its first look-up does."""
        member = self._orders[candidate.pipeline][candidate.first]
        step = self._steps[candidate.pipeline][candidate.first]
        pairs = step.entering * self.caches.pipelines[candidate.pipeline].partners(member)
        return step.nanos / pairs if pairs else 0.0

    def _updating_one(self, members: frozenset[int], member: int) -> tuple[float, float]:
        """For a row of a member, what it takes to find what is new in a cache, and how much that
        is; asked now and then, as it is not for nothing."""
        then, known = self._updates.get((members, member), (-REMEMBERED, (0.0, 0.0)))
        if self._intervals - then >= REMEMBERED:
            known = self.caches.updating(members, member, self._rows_of[member])
            self._updates[members, member] = self._intervals, known
        return known

    def _judge(self, pipeline: Pipeline) -> None:
        """Drop the caches of a pipeline that is slower with them."""
        root, cached = pipeline.root, pipeline.cached
        own = [c for c in self._loop.used if c.pipeline == root]
        updating = sum(self._updating(candidate) for candidate in own)
        mark, plain_rows = self._marks.get(root), pipeline.plain.rows
        now = _Mark(cached.rows, plain_rows, cached.nanos, updating, is_filled=mark is not None)
        if mark is None:
            self._marks[root] = now
            return
        rows = cached.rows - mark.rows
        if not rows or root not in self._plain:
            return
        # All rows, as if they had met the caches: what keeps these up to date is for all.
        every = rows + plain_rows - mark.plain_rows
        with_caches = (cached.nanos - mark.nanos) / rows * every + updating - mark.updating
        gain = every * self._plain[root] / max(1.0, with_caches)
        is_a_disaster = gain < DISASTER and with_caches > LOOK
        if rows < JUDGED_ROWS and not is_a_disaster:
            return
        self._marks[root] = now
        if not mark.is_filled and not is_a_disaster:
            return
        pipeline.has_proved = gain >= 1
        self._tell(gain)
        if gain < 1:
            for candidate in own:
                self._loop.drop(candidate)
            self._use()

    def _tell(self, gain: float) -> None:
        if self._expected is not None:
            before, expected = self._expected
            self._expected = None
            self.changes.append(
                CacheChange(before, self._loop.used, expected, gain, is_kept=gain >= 1)
            )

    def _updating(self, candidate: Candidate) -> float:
        """A pipeline's share in what keeps a cache up to date."""
        users = sum(c.shared == candidate.shared for c in self._loop.used)
        return self.caches.of(candidate).counts.updating / users
