"""What a join says of itself: the orders of its pipelines, its caches, and how they came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from thalweg.adapt.caching import Candidate
from thalweg.adapt.decisions import Decision
from thalweg.adapt.drops import Order
from thalweg.adapt.measured import Measured, Step, Tally
from thalweg.operators.cache_watch import CacheWatch
from thalweg.operators.join_pipeline import Cached, Pipeline
from thalweg.plan.nodes import JoinGraph, Plan, QueryScan, StreamScan, TableScan
from thalweg.plan.placed import Received


class JoinReport:
    def __init__(
        self, graph: JoinGraph, pipelines: list[Pipeline], watch: CacheWatch | None
    ) -> None:
        self._names = member_names(graph.members)
        self._pipelines, self._watch = pipelines, watch
        self._told = Counter[int]()
        self._told_caches = 0
        # By pipeline and step: what was told of it.
        self._before: dict[tuple[int, str], Tally] = {}

    def told_as(self, pipeline: Pipeline) -> tuple[str, tuple[str, ...]]:
        """What a pipeline and its look-ups are called."""
        others = tuple(self._names[member] for member in pipeline.others)
        return f"join from {self._names[pipeline.root]}", others

    def decisions(self) -> Iterator[Decision]:
        for pipeline in self._pipelines:
            changes = pipeline.order.changes
            mechanism, _ = self.told_as(pipeline)
            for change in changes[self._told[pipeline.root] :]:
                yield Decision(
                    mechanism,
                    self._members(pipeline, change.before),
                    self._members(pipeline, change.after),
                    change.expected,
                    change.measured,
                    change.is_kept,
                )
            self._told[pipeline.root] = len(changes)
        if self._watch is not None:
            changed = self._watch.changes[self._told_caches :]
            self._told_caches += len(changed)
            for cached in changed:
                yield Decision(
                    "caches",
                    self._caches(cached.before),
                    self._caches(cached.after),
                    cached.expected,
                    cached.measured,
                    cached.is_kept,
                )

    def measured(self) -> Iterator[Measured]:
        for pipeline in self._pipelines:
            steps = tuple(self._steps(pipeline))
            if any(step.rows_in for step in steps):
                yield Measured("join", (), f"from {self._names[pipeline.root]}", steps)

    def _steps(self, pipeline: Pipeline) -> Iterator[Step]:
        for at, member in enumerate(pipeline.members(pipeline.order.order)):
            cached = pipeline.caches.get(at)
            if cached is not None:
                counts = cached.cache.counts
                asked = Tally(counts.probes, counts.found, counts.nanos)
                yield self._step(pipeline, self._segment(cached), asked, self._note(cached))
            yield self._step(pipeline, self._names[member], pipeline.passed[member], "")

    def _step(self, pipeline: Pipeline, name: str, now: Tally, note: str) -> Step:
        then = self._before.get((pipeline.root, name), Tally())
        if now.rows_in < then.rows_in:
            then = Tally()
        self._before[pipeline.root, name] = Tally(now.rows_in, now.rows_out, now.nanos)
        return Step(
            name,
            now.rows_in - then.rows_in,
            now.rows_out - then.rows_out,
            now.nanos - then.nanos,
            note,
        )

    def _note(self, cached: Cached) -> str:
        cache, counts = cached.cache, cached.cache.counts
        hits = counts.hits / max(1, counts.probes)
        return f"{hits:.0%} hits, {cache.entries:,} keys, {cache.size / 1e6:.1f} MB"

    def _members(self, pipeline: Pipeline, order: Order) -> tuple[str, ...]:
        return tuple(self._names[member] for member in pipeline.members(order))

    def _segment(self, cached: Cached) -> str:
        return f"cache of {self._together(cached.cache.segment.members)}"

    def _caches(self, used: Iterable[Candidate]) -> tuple[str, ...]:
        some = sorted(used, key=lambda c: (c.pipeline, c.first))
        return tuple(
            f"{self._together(c.members)} for {self._names[c.pipeline]}" for c in some
        ) or ("none",)

    def _together(self, members: Iterable[int]) -> str:
        return " ⋈ ".join(self._names[member] for member in sorted(members))


def member_names(members: Iterable[Plan]) -> list[str]:
    """What the members of a join read; with a number where several read the same."""
    names = [_name(member) for member in members]
    seen = Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        told.append(f"{name} ({seen[name]})" if names.count(name) > 1 else name)
    return told


def _name(member: Plan) -> str:
    for node in member.walk():
        match node:
            case StreamScan(name=name) | TableScan(name=name) | QueryScan(name=name):
                return name
            case Received(origins=((name, _, _), *_)):
                return name
    return "a row"
