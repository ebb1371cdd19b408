"""The inner join of any number of relations.

The rows of every input are in stores. Rows that come are looked up in the stores of
all other inputs, in those of inputs before theirs with the rows of the same batch, in
those behind without; so each combination is found once, by the last of its members to
come. It counts while all its members do: its stretch of time is where theirs meet.
That holds in whatever order rows come, so the inputs need not wait for each other; a
row can go from its store when all other inputs have promised to be past its end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import ClassVar

import numpy as np

from thalweg.adapt.decisions import Decision
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.learned import FoundPlan, Learned
from thalweg.adapt.measured import Measured
from thalweg.adapt.policies import MakePolicy
from thalweg.operators.base import Moment
from thalweg.operators.cache_watch import CacheWatch
from thalweg.operators.delta import Delta, combined
from thalweg.operators.join_caches import CachePool, JoinCaches
from thalweg.operators.join_graph import Place, Topology
from thalweg.operators.join_pipeline import Pipeline
from thalweg.operators.join_report import JoinReport
from thalweg.operators.join_walk import Predicate, Walk
from thalweg.operators.store import equal_values
from thalweg.operators.stored import StoreView
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import JoinGraph
from thalweg.plan.signature import signature
from thalweg.vector.column import Vector
from thalweg.vector.evaluate import VectorCompiler


class JoinRun:
    """`needed` are the columns that somebody above reads; the others stay empty.

    `view_of` gives a member's rows by some of its columns. With a pool of memory, subresults
    are kept.
    """

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        graph: JoinGraph,
        compiler: VectorCompiler,
        needed: frozenset[int],
        view_of: Callable[[int, tuple[int, ...]], StoreView],
        make: MakePolicy = AGreedy,
        pool: CachePool | None = None,
    ) -> None:
        self._graph, self._signature = graph, signature(graph)
        self._needed = needed
        self._topology = topology = Topology(graph, any_order=make is not None)
        self._predicates = [
            Predicate(
                frozenset(topology.place(c)[0] for c in columns_used(predicate)),
                columns_used(predicate),
                compiler.is_true(predicate),
            )
            for predicate in graph.predicates
        ]
        self._views = {
            (member, index): view_of(member, index)
            for member in topology.members
            for index in sorted(topology.indexes[member])
        }
        conditioned = frozenset[int]().union(*(p.members for p in self._predicates))
        self.pipelines = [
            Pipeline(member, topology, conditioned, self._walk, self._any_view, make)
            for member in topology.members
        ]
        self.caches: JoinCaches | None = None
        self.cache_watch: CacheWatch | None = None
        if pool is not None and len(topology.members) > 2:
            asked = needed.union(*(p.columns for p in self._predicates))
            self.caches = JoinCaches(
                topology,
                self.pipelines,
                self._walk,
                graph.schema,
                self._predicates,
                asked,
                pool,
            )
            self.cache_watch = CacheWatch(self.caches)
        self._report = JoinReport(graph, self.pipelines, self.cache_watch)

    def decisions(self) -> list[Decision]:
        return list(self._report.decisions())

    def measured(self) -> list[Measured]:
        return list(self._report.measured())

    def learned(self) -> list[Learned]:
        return [
            Learned(
                self._name(pipeline),
                *self._report.told_as(pipeline),
                pipeline.found(),
                pipeline.order.news(),
            )
            for pipeline in self.pipelines
        ]

    def take_over(self, plans: Mapping[str, FoundPlan]) -> None:
        for pipeline in self.pipelines:
            plan = plans.get(self._name(pipeline))
            if plan is not None:
                pipeline.take_over(plan)

    def _name(self, pipeline: Pipeline) -> str:
        return f"join {self._signature} from {pipeline.root}"

    def _any_view(self, member: int) -> StoreView:
        return self._views[member, min(self._topology.indexes[member])]

    def _walk(self, members: frozenset[int], base: Callable[[Place], Vector], turn: int) -> Walk:
        return Walk(
            members,
            base,
            turn,
            self._topology,
            self._views,
            self._predicates,
            self._graph.schema,
        )

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        results = []
        for member, delta in enumerate(inputs):
            if not len(delta):
                continue
            rows = self._joinable(member, delta)
            for walk, partial in self.pipelines[member].run(rows):
                results.append(walk.result(partial, self._needed))
            if self.caches is not None and self.caches.used:
                self.caches.update(member, rows)
            if self.cache_watch is not None and member in self.cache_watch.wanted:
                self.cache_watch.see(member, rows)
        bounds = [
            min(f for m, f in enumerate(moment.frontiers) if m != member)
            for member in self._topology.members
        ]
        for (member, _), view in self._views.items():
            view.release(bounds[member])
        if self.caches is not None and self.caches.used:
            self.caches.release(moment.frontiers)
        if self.cache_watch is not None:
            self.cache_watch.after_step()
        return combined(results, self._graph.schema)

    def forget(self) -> None:
        """The rows that are stored are others than those that came here."""
        if self.caches is not None:
            self.caches.forget()

    def _joinable(self, member: int, delta: Delta) -> Delta:
        """Rows whose keys are not NULL, and equal where one class has several of their columns."""
        keep = np.ones(len(delta), np.bool_)
        for places in self._topology.own_places(member):
            own = [delta.columns[column] for _, column in places]
            for column in own:
                if column.has_nulls:
                    keep &= column.present()
            for a, b in pairwise(own):
                keep &= equal_values(a, b)
        return Delta(delta.columns, delta.start, delta.end, delta.weight).where(keep)
