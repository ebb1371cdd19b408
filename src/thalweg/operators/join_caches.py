"""The caches of a join, and what keeps them right.

At the turn of an input its rows are joined with the other members of every cache that it
belongs to, as far as these are visible then; so a cache is right at the turn of each input,
whatever the orders of the pipelines are. (A cache whose members' pipelines begin with each
other could be kept right by what they find on their way. But they stop at the first partner
where that is enough, and a row whose key is not in the cache needs no joining at all: that
is tested first.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import perf_counter_ns

from thalweg.adapt.cache_memory import Claim, shared_out
from thalweg.adapt.caching import Candidate, Shared
from thalweg.operators.delta import Delta
from thalweg.operators.join_cache import Segment, SegmentCache
from thalweg.operators.join_graph import Place, Topology
from thalweg.operators.join_pipeline import Cached, Pipeline, keep
from thalweg.operators.join_scout import NewWalk
from thalweg.operators.join_walk import Partial, Walk
from thalweg.types import Schema


class CachePool:
    """The memory of all caches of a process."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._claims: dict[SegmentCache, float] = {}

    def claim(self, cache: SegmentCache, saves: float) -> None:
        self._claims[cache] = saves

    def give_back(self, cache: SegmentCache) -> None:
        self._claims.pop(cache, None)

    def share_out(self) -> None:
        """More room for those that save more for a byte; others may have to give some."""
        claims = [Claim(saves, 2 * cache.size) for cache, saves in self._claims.items()]
        rooms = shared_out(claims, self._room)
        for cache, room in zip(self._claims, rooms, strict=True):
            cache.limit(room)


class JoinCaches:
    """`used` are those that there are."""

    def __init__(
        self,
        topology: Topology,
        pipelines: Sequence[Pipeline],
        new_walk: NewWalk,
        schema: Schema,
        asked_for: frozenset[int],
        pool: CachePool,
    ) -> None:
        self.topology, self.pipelines = topology, pipelines
        self._new_walk, self._schema, self._pool = new_walk, schema, pool
        asked = {topology.place(column) for column in asked_for}
        asked.update(place for places in topology.classes for place in places)
        self._asked_for = sorted(asked)
        self.used: frozenset[Candidate] = frozenset()
        self._caches: dict[Shared, SegmentCache] = {}

    def of(self, candidate: Candidate) -> SegmentCache:
        return self._caches[candidate.shared]

    # Being right

    def update(self, turn: int, delta: Delta) -> None:
        """Rows of an input come, whose keys are not NULL."""
        for (members, _), cache in self._caches.items():
            if turn in members and cache.entries:
                began = perf_counter_ns()
                self._update(cache, turn, delta)
                cache.counts.updating += perf_counter_ns() - began

    def _update(self, cache: SegmentCache, turn: int, delta: Delta) -> None:
        members = cache.segment.members
        places = [self._key_place(number, members, turn) for number in cache.segment.classes]
        walk = self._new_walk(frozenset((turn,)), lambda p: delta.columns[p[1]], turn)
        partial = walk.begin(delta.start, delta.end, delta.weight)
        if all(place[0] == turn for place in places):
            _, keys = walk.keys(places, partial)
            partial = partial.where(cache.find(keys, len(partial)) >= 0)
        partial = self._combinations(walk, partial, turn, members)
        partial, keys = walk.keys(places, partial)
        entries = cache.find(keys, len(partial))
        there = entries >= 0
        partial, entries = partial.where(there), entries[there]
        cache.counts.updates += len(partial)
        if len(partial):
            keep(cache, walk, partial, entries)

    def _combinations(
        self, walk: Walk, partial: Partial, turn: int, members: frozenset[int]
    ) -> Partial:
        """Rows of a member with all that they have to do with in the others."""
        bound = [turn]
        for member in self.topology.from_within(turn, members):
            partial = walk.expand(self.topology.lookup(member, bound), partial)
            bound.append(member)
        return partial

    def updating(self, members: frozenset[int], turn: int, delta: Delta) -> tuple[float, float]:
        """The nanoseconds that it takes for a row of a member to find what would have to be
        added to a cache, and how many combinations that is."""
        began = perf_counter_ns()
        walk = self._new_walk(frozenset((turn,)), lambda p: delta.columns[p[1]], turn)
        partial = walk.begin(delta.start, delta.end, delta.weight)
        found = self._combinations(walk, partial, turn, members)
        nanos = perf_counter_ns() - began
        return nanos / len(delta), len(found) / len(delta)

    def _key_place(self, number: int, members: frozenset[int], first: int) -> Place:
        """A column of a class in a member of a cache: the given one, if it has one."""
        places = [place for place in self.topology.classes[number] if place[0] in members]
        return min(places, key=lambda place: place[0] != first)

    def release(self, frontiers: Sequence[int]) -> None:
        """Rows that come are not before these instants."""
        for shared, cache in self._caches.items():
            asking = (c.pipeline for c in self.used if c.shared == shared)
            cache.release(min(frontiers[pipeline] for pipeline in asking))

    def forget(self) -> None:
        """What the caches hold may not be of the rows that are stored."""
        for cache in self._caches.values():
            cache.clear()

    # Coming and going

    def use(self, chosen: Iterable[Candidate]) -> None:
        """Have these caches and no others; new ones are empty. So is one that serves another
        pipeline too from now on: it may have forgotten what that still has to meet."""
        before, self.used = self.used, frozenset(chosen)
        wanted = {candidate.shared for candidate in self.used}
        for candidate in self.used - before:
            if candidate.shared in self._caches:
                self._pool.give_back(self._caches.pop(candidate.shared))
        for shared in self._caches.keys() - wanted:
            self._pool.give_back(self._caches.pop(shared))
        for members, key in wanted - self._caches.keys():
            assert self.topology.are_joined(members), "every member finds the others by itself"
            places = tuple(place for place in self._asked_for if place[0] in members)
            segment = Segment(members, tuple(sorted(key)), places)
            cache = SegmentCache(segment, self.topology, self._schema, 0)
            self._caches[members, key] = cache
            self._pool.claim(cache, 0.0)
        self._pool.share_out()
        for pipeline in self.pipelines:
            own = (c for c in self.used if c.pipeline == pipeline.root)
            caches = {candidate.first: self._cached(candidate) for candidate in own}
            if caches != pipeline.caches:
                pipeline.use(caches)

    def claim(self, candidate: Candidate, saves: float) -> None:
        self._pool.claim(self.of(candidate), saves)
        self._pool.share_out()

    def orders(self) -> dict[int, tuple[int, ...]]:
        return {p.root: p.members(p.order.order) for p in self.pipelines}

    def with_key(self, candidate: Candidate) -> Candidate:
        """The candidate by all that the look-ups ahead of it and its own have in common."""
        ahead = self._ahead(candidate)
        key = (
            number
            for number, places in enumerate(self.topology.classes)
            if any(place[0] in ahead for place in places)
            and any(place[0] in candidate.members for place in places)
        )
        return replace(candidate, key=frozenset(key))

    def key_places(self, candidate: Candidate) -> tuple[Place, ...]:
        """The columns to ask a cache by, each of the first member that has one."""
        ahead = self._ahead(candidate)
        return tuple(
            next(p for member in ahead for p in self.topology.classes[number] if p[0] == member)
            for number in sorted(candidate.key)
        )

    def _ahead(self, candidate: Candidate) -> list[int]:
        order = self.orders()[candidate.pipeline]
        return [candidate.pipeline, *order[: candidate.first]]

    def _cached(self, candidate: Candidate) -> Cached:
        order = self.orders()[candidate.pipeline]
        lookups = self.topology.lookups(candidate.pipeline, order)
        replaced = lookups[candidate.first : candidate.last + 1]
        return Cached(self.of(candidate), replaced, self.key_places(candidate))
