"""The caches of a join, and what keeps them right.

At the turn of an input its rows are joined with the other members of every cache that it
belongs to, as far as these are visible then; so a cache is right at the turn of each input,
whatever the orders of the pipelines are. (A cache whose members' pipelines begin with each
other could be kept right by what they find on their way. But they stop at the first partner
where that is enough, and a row whose key is not in the cache needs no joining at all: that
is tested first.)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns

import numpy as np

from thalweg.adapt.cache_memory import Claim, shared_out
from thalweg.adapt.caching import Candidate, Shared
from thalweg.operators.delta import Delta, Times
from thalweg.operators.join_cache import Segment, SegmentCache
from thalweg.operators.join_graph import Lookup, Place, Topology
from thalweg.operators.join_pipeline import Cached, Pipeline, keep
from thalweg.operators.join_scout import NewWalk
from thalweg.operators.join_walk import Matches, Partial, Predicate, Walk
from thalweg.operators.row_words import is_nested
from thalweg.types import Schema
from thalweg.vector.column import Vector

# Rows that say what something costs.
ENOUGH_ROWS = 2048
# Combinations and keys of entries that are compared at a time.
_PAIRS = 1_000_000


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


@dataclass(frozen=True)
class _KeySide:
    """Columns that are keys of entries."""

    keys: Mapping[Place, Vector]

    def take(self, place: Place, rows: Times) -> Vector:
        return self.keys[place].take(rows)


class JoinCaches:
    """`used` are those that there are."""

    def __init__(
        self,
        topology: Topology,
        pipelines: Sequence[Pipeline],
        new_walk: NewWalk,
        schema: Schema,
        predicates: Sequence[Predicate],
        asked_for: frozenset[int],
        pool: CachePool,
    ) -> None:
        self.topology, self.pipelines = topology, pipelines
        self._new_walk, self._schema, self._pool = new_walk, schema, pool
        self._predicates = predicates
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
        for cache in self._caches.values():
            if turn in cache.segment.members and cache.entries:
                began = perf_counter_ns()
                self._update(cache, turn, delta)
                cache.counts.updating += perf_counter_ns() - began

    def _update(self, cache: SegmentCache, turn: int, delta: Delta) -> None:
        segment, members = cache.segment, cache.segment.members
        walk = self._new_walk(frozenset((turn,)), lambda p: delta.columns[p[1]], turn)
        partial = walk.testing(segment.conditions).begin(delta.start, delta.end, delta.weight)
        if segment.outer:
            partial = self._combinations(walk, partial, turn, members)
            self._compare(cache, walk, partial)
            return
        places = [self._key_place(number, members, turn) for number in segment.classes]
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

    def _compare(self, cache: SegmentCache, walk: Walk, partial: Partial) -> None:
        """Add combinations to all entries for whose keys the conditions are true."""
        entries, keys = cache.keys()
        outer = dict(zip(cache.segment.outer, keys, strict=True))
        members = frozenset(place[0] for place in outer)
        walk.sides.update(dict.fromkeys(members, _KeySide(outer)))
        every, some = np.arange(len(entries)), max(1, _PAIRS // len(entries))
        for first in range(0, len(partial), some):
            part = partial.take(np.arange(first, min(first + some, len(partial))))
            owners = np.repeat(np.arange(len(part)), len(entries))
            rows = np.tile(every, len(part))
            pairs = Matches(owners, rows, part.start[owners], part.end[owners], 1)
            found = walk.joined(part, pairs, members)
            cache.counts.updates += len(found)
            if len(found):
                keep(cache, walk, found, entries[found.rows[min(members)]])

    def _combinations(
        self, walk: Walk, partial: Partial, turn: int, members: frozenset[int]
    ) -> Partial:
        """Rows of a member with all that they have to do with in the others."""
        for lookup in self._within(turn, members):
            partial = walk.expand(lookup, partial)
        return partial

    def _within(self, turn: int, members: frozenset[int]) -> tuple[Lookup, ...]:
        """From one member of a cache to all the others."""
        return self.topology.lookups(turn, self.topology.from_within(turn, members))

    def updating(self, members: frozenset[int], turn: int, delta: Delta) -> tuple[float, float]:
        """The nanoseconds that it takes for a row of a member to find what would have to be
        added to a cache, and how many combinations that is. So few rows take longer than many:
        what look-ups take is asked of the pipeline, as far as it knows."""
        walk = self._new_walk(frozenset((turn,)), lambda p: delta.columns[p[1]], turn)
        partial = walk.begin(delta.start, delta.end, delta.weight)
        total = 0.0
        for lookup in self._within(turn, members):
            came, began = len(partial), perf_counter_ns()
            partial = walk.expand(lookup, partial)
            nanos: float = perf_counter_ns() - began
            passed = self.pipelines[turn].passed[lookup.member]
            if passed.rows_in >= ENOUGH_ROWS:
                nanos = min(nanos, came * passed.nanos / passed.rows_in)
            total += nanos
        return total / len(delta), len(partial) / len(delta)

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
        for shared in wanted - self._caches.keys():
            cache = SegmentCache(self._segment(*shared), self.topology, self._schema, 0)
            self._caches[shared] = cache
            self._pool.claim(cache, 0.0)
        self._pool.share_out()
        for pipeline in self.pipelines:
            own = (c for c in self.used if c.pipeline == pipeline.root)
            caches = {candidate.first: self._cached(candidate) for candidate in own}
            if caches != pipeline.caches:
                pipeline.use(caches)

    def _segment(
        self, members: frozenset[int], key: frozenset[int], conditions: frozenset[int]
    ) -> Segment:
        assert self.topology.are_joined(members), "every member finds the others by itself"
        compared = [self._predicates[number] for number in sorted(conditions)]
        within = [p for p in self._predicates if p.members <= members]
        return Segment(
            members,
            tuple(sorted(key)),
            self._outer(members, conditions),
            (*within, *compared),
            tuple(place for place in self._asked_for if place[0] in members),
        )

    def _outer(self, members: frozenset[int], conditions: frozenset[int]) -> tuple[Place, ...]:
        """The columns of others that conditions compare members with."""
        columns = {c for number in conditions for c in self._predicates[number].columns}
        places = sorted(self.topology.place(column) for column in columns)
        return tuple(place for place in places if place[0] not in members)

    def claim(self, candidate: Candidate, saves: float) -> None:
        self._pool.claim(self.of(candidate), saves)
        self._pool.share_out()

    def orders(self) -> dict[int, tuple[int, ...]]:
        return {p.root: p.members(p.order.order) for p in self.pipelines}

    def with_key(self, candidate: Candidate) -> Candidate:
        """The candidate by all that the look-ups ahead of it and its own have in common; by
        conditions only if nothing is equal."""
        ahead, members = self._ahead(candidate), candidate.members
        key = frozenset(
            number
            for number, places in enumerate(self.topology.classes)
            if any(place[0] in ahead for place in places)
            and any(place[0] in members for place in places)
        )
        if key:
            return replace(candidate, key=key)
        conditions = frozenset(
            number
            for number, predicate in enumerate(self._predicates)
            if predicate.members <= members.union(ahead)
            and not predicate.members <= members
            and not predicate.members.isdisjoint(members)
        )
        outer = self._outer(members, conditions)
        if any(is_nested(self._schema[self.topology.column(place)].type) for place in outer):
            return candidate
        return replace(candidate, conditions=conditions)

    def key_places(self, candidate: Candidate) -> tuple[Place, ...]:
        """The columns to ask a cache by, each of the first member that has one."""
        ahead = self._ahead(candidate)
        if candidate.conditions:
            return self._outer(candidate.members, candidate.conditions)
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
