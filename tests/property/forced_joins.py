"""Joins that are made to change their orders and caches all the time."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from thalweg.adapt import cache_memory
from thalweg.adapt.caching import Candidate, segments
from thalweg.adapt.lookup_order import LookupOrder
from thalweg.operators import join_pipeline
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta
from thalweg.operators.join import JoinRun
from thalweg.operators.join_cache import SegmentCache
from thalweg.operators.join_caches import CachePool, JoinCaches
from thalweg.operators.join_pipeline import Cached, Pipeline
from thalweg.vector.column import Columns

# An empty cache has some 7,000 bytes.
_ROOMS = (0, 9_000, 12_000, 16_000, 1_000_000)


class Forced:
    """Changes at random row boundaries and between batches; counts what it did."""

    def __init__(
        self, patch: pytest.MonkeyPatch, chance: random.Random, check: bool = False
    ) -> None:
        self._chance, self._check = chance, check
        self.did: Counter[str] = Counter()
        self._step, self._next = JoinRun.step, Pipeline._next
        patch.setattr(JoinRun, "step", lambda run, *given: self.step(run, *given))
        patch.setattr(Pipeline, "_next", lambda pipeline, left: self.next(pipeline, left))
        patch.setattr(cache_memory, "PAGE", 256)
        patch.setattr(LookupOrder, "is_unsure", False)
        patch.setattr(join_pipeline, "MANY_PARTNERS", 1.5)
        patch.setattr(join_pipeline, "BYPASS_SHARE", 0.0)

    def step(self, run: JoinRun, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        chance, caches = self._chance, run.caches
        run.cache_watch = None
        join_pipeline.MANY_PARTNERS = chance.choice((0.5, 1.5, 99.0))
        join_pipeline.BYPASS_SHARE = chance.choice((-1.0, -1.0, 0.5))
        if caches is not None:
            if chance.random() < 0.25:
                caches.use(any_caches(caches, chance))
                self.did["caches"] += len(caches.used)
            if chance.random() < 0.1:
                caches.forget()
            if chance.random() < 0.4:
                self.did["rooms"] += 1
                set_room(caches, chance.choice(_ROOMS))
        result = self._step(run, inputs, moment)
        if caches is not None:
            for candidate in caches.used:
                self.did["hits"] += caches.of(candidate).counts.hits
                if candidate.conditions:
                    self.did["compared"] += caches.of(candidate).counts.updates
                self.did["full"] += caches.of(candidate)._is_full
            if self._check:
                check_entries(run, caches)
        return result

    def next(self, pipeline: Pipeline, left: int) -> Any:
        order = pipeline.order
        if self._chance.random() < 0.3 and pipeline._is_free:
            order.order = tuple(self._chance.sample(order.order, len(order.order)))
            self.did["orders"] += 1
        elif pipeline._cached_order is not None and pipeline.caches:
            order.order = pipeline._cached_order
        path, orders, is_plain, rows = self._next(pipeline, left)
        return path, orders, is_plain, self._chance.randint(1, rows)


def set_room(caches: JoinCaches, room: int) -> None:
    pool: CachePool = caches._pool
    pool._room = room
    pool.share_out()


def any_caches(caches: JoinCaches, chance: random.Random) -> list[Candidate]:
    """Some that do not overlap."""
    chosen: list[Candidate] = []
    all_ = [c for c in segments(caches.orders()) if caches.topology.are_joined(c.members)]
    for candidate in chance.sample(all_, len(all_)):
        if chance.random() < 0.7 and not any(candidate.overlaps(c) for c in chosen):
            chosen.append(caches.with_key(candidate))
    return chosen


def check_entries(run: JoinRun, caches: JoinCaches) -> None:
    """Every entry is what its look-ups would find now."""
    for pipeline in run.pipelines:
        for cached in pipeline.caches.values():
            cache = cached.cache
            keys = cache._keys.columns()
            if not cache.entries:
                continue
            fresh = SegmentCache(cache.segment, caches.topology, run._graph.schema, 10**9)
            fresh.release(cache._bound)
            fill(
                pipeline,
                type(cached)(fresh, cached.lookups, cached.there),
                keys,
                cache.entries,
                run,
            )
            keyed = [place in caches.topology._class_of for place in cache.segment.places]
            assert contents(cache, keyed) == contents(fresh, keyed)


def fill(pipeline: Pipeline, cached: Cached, keys: Columns, length: int, run: JoinRun) -> None:
    """At the turn after all others, when all rows are visible."""
    root, pipeline.root = pipeline.root, len(run.pipelines)
    pipeline._fill(cached, keys, length)
    pipeline.root = root


def contents(cache: SegmentCache, keyed: list[bool]) -> Counter[Any]:
    """By key: combinations that may still count. One without a key somewhere never does."""
    store, slots = cache._store, cache._store.ring.slots()
    entries = store.take(0, slots).data
    there = cache.are_there(entries) & (store.index.last(slots) > cache._bound)
    slots, entries = slots[there], entries[there]
    keys = zip(*(key.values() for key in cache._keys.columns()), strict=True)
    names = dict(zip(cache._keys.entries().tolist(), keys, strict=False))
    columns = [store.take(i, slots).values() for i in range(1, len(cache._schema))]
    weights = store.weights(slots)
    counts = np.ones(len(slots), np.int64) * weights
    times = store.index.records[slots, 1:3].tolist()
    found: Counter[Any] = Counter()
    for i, (entry, weight) in enumerate(zip(entries.tolist(), counts.tolist(), strict=True)):
        values = [column[i] for column in columns]
        if not any(v is None and key for v, key in zip(values, keyed, strict=True)):
            found[names.get(entry, ()), *times[i], *values] += weight
    return Counter({key: count for key, count in found.items() if count})
