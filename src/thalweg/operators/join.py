"""The inner join of any number of relations.

The rows of every input are in stores. Rows that come are looked up in the stores of
all other inputs, in those of inputs before theirs with the rows of the same batch, in
those behind without; so each combination is found once, by the last of its members to
come. It counts while all its members do: its stretch of time is where theirs meet.
That holds in whatever order rows come, so the inputs need not wait for each other; a
row can go from its store when all other inputs have promised to be past its end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import ClassVar

import numpy as np

from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta, Times, combined, nothing
from thalweg.operators.store import equal_values
from thalweg.operators.stored import StoreView
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import JoinGraph
from thalweg.vector.column import FIXED, Columns, Mask, Vector, empty
from thalweg.vector.evaluate import VectorCompiler

# A column of a member: the member and its own number of the column.
Place = tuple[int, int]


@dataclass(frozen=True)
class Predicate:
    """A condition, the members it needs, and the columns of the join that it reads."""

    members: frozenset[int]
    columns: frozenset[int]
    is_true: Callable[[Columns, int], Mask]


@dataclass(frozen=True)
class Lookup:
    """One step of a path: a member is looked up by some of its columns.

    `keys` are pairs of a column that is there already and the member's own. The pairs
    of `verified` still have to be compared: their hashes are not exact, or both are
    columns of the member.
    """

    member: int
    index: tuple[int, ...]
    keys: tuple[tuple[Place, Place], ...]
    verified: tuple[tuple[Place, Place], ...]


@dataclass(frozen=True)
class Partial:
    """Combinations of rows of some members: row numbers of each, stretch and weight."""

    rows: dict[int, Times]
    start: Times
    end: Times
    weight: Times

    def where(self, keep: Mask) -> Partial:
        if keep.all():
            return self
        return Partial(
            {member: rows[keep] for member, rows in self.rows.items()},
            self.start[keep],
            self.end[keep],
            self.weight[keep],
        )


class JoinRun:
    """`needed` are the columns that somebody above reads; the others stay empty.

    `view_of` gives a member's rows by some of its columns.
    """

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        graph: JoinGraph,
        compiler: VectorCompiler,
        needed: frozenset[int],
        view_of: Callable[[int, tuple[int, ...]], StoreView],
    ) -> None:
        self._graph = graph
        self._needed = needed
        self._offsets = [0, *accumulate(len(member.schema) for member in graph.members)]
        self._classes = [[self._place(c) for c in sorted(key.columns)] for key in graph.keys]
        self._predicates = [
            Predicate(
                frozenset(self._place(c)[0] for c in columns_used(predicate)),
                columns_used(predicate),
                compiler.is_true(predicate),
            )
            for predicate in graph.predicates
        ]
        self._paths = [self._path(member) for member in range(len(graph.members))]
        lookups = chain.from_iterable(self._paths)
        places = dict.fromkeys((lookup.member, lookup.index) for lookup in lookups)
        self._views = {place: view_of(*place) for place in places}

    def _place(self, column: int) -> Place:
        member = bisect_right(self._offsets, column) - 1
        return member, column - self._offsets[member]

    def _path(self, first: int) -> list[Lookup]:
        """In which order rows of a member look the others up, and by which columns."""
        bound, path = [first], []
        others = [m for m in range(len(self._graph.members)) if m != first]
        while others:
            shared = {m: self._shared(m, bound) for m in others}
            best = max(others, key=lambda m: (len(shared[m]), -m))
            path.append(self._lookup(best, shared[best]))
            bound.append(best)
            others.remove(best)
        return path

    def _shared(self, member: int, bound: list[int]) -> list[tuple[Place, Place]]:
        """Columns that are there, each with the member's column that equals it."""
        pairs = []
        for places in self._classes:
            there = [place for m in bound for place in places if place[0] == m]
            own = [place for place in places if place[0] == member]
            if there and own:
                pairs.append((there[0], own[0]))
        return pairs

    def _lookup(self, member: int, keys: list[tuple[Place, Place]]) -> Lookup:
        columns = tuple(own[1] for _, own in keys)
        exact = len(keys) == 1 and self._type_is_fixed(keys[0][1])
        verified = () if exact else tuple(keys)
        for places in self._classes:
            own = [place for place in places if place[0] == member]
            verified += tuple(pairwise(own))
        return Lookup(member, columns, tuple(keys), verified)

    def _type_is_fixed(self, place: Place) -> bool:
        return self._graph.members[place[0]].schema[place[1]].type in FIXED

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        results = []
        for member, delta in enumerate(inputs):
            if not len(delta):
                continue
            delta = self._joinable(member, delta)
            results.append(self._matches(member, delta))
        for (member, _), view in self._views.items():
            view.release(min(f for m, f in enumerate(moment.frontiers) if m != member))
        return combined(results, self._graph.schema)

    def _joinable(self, member: int, delta: Delta) -> Delta:
        """Rows whose keys are not NULL, and equal where one class has several of their columns."""
        keep = np.ones(len(delta), np.bool_)
        for places in self._classes:
            own = [delta.columns[column] for m, column in places if m == member]
            for column in own:
                if column.has_nulls:
                    keep &= column.present()
            for a, b in pairwise(own):
                keep &= equal_values(a, b)
        return Delta(delta.columns, delta.start, delta.end, delta.weight).where(keep)

    def _matches(self, member: int, delta: Delta) -> Delta:
        partial = Partial({member: np.arange(len(delta))}, delta.start, delta.end, delta.weight)

        def column(place: Place, rows: Partial) -> Vector:
            which, number = place
            if which == member:
                return delta.columns[number].take(rows.rows[which])
            return views[which].take(number, rows.rows[which])

        views = {
            lookup.member: self._views[lookup.member, lookup.index]
            for lookup in self._paths[member]
        }
        partial = self._tested(partial, column, frozenset())
        for lookup in self._paths[member]:
            if not len(partial.start):
                break
            done = frozenset(partial.rows)
            view = views[lookup.member]
            keys = tuple(column(there, partial) for there, _ in lookup.keys)
            if any(key.has_nulls for key in keys):
                there = np.logical_and.reduce([key.present() for key in keys])
                partial = partial.where(there)
                keys = tuple(key.where(there) for key in keys)
            left, right, start, end = view.probe(
                keys, partial.start, partial.end, with_new=lookup.member < member
            )
            rows = {m: numbers[left] for m, numbers in partial.rows.items()}
            weight = partial.weight[left] * view.weights(right)
            partial = Partial({**rows, lookup.member: right}, start, end, weight)
            for there, own in lookup.verified:
                same = equal_values(column(there, partial), column(own, partial))
                partial = partial.where(same)
            partial = self._tested(partial, column, done)
        if not len(partial.start):
            return nothing(self._graph.schema)
        columns = self._wide(partial, column, self._needed)
        return Delta(columns, partial.start, partial.end, partial.weight)

    def _tested(
        self, partial: Partial, column: Callable[[Place, Partial], Vector], before: frozenset[int]
    ) -> Partial:
        """Keep combinations on which every condition is true that can be tested now."""
        now = frozenset(partial.rows)
        for predicate in self._predicates:
            if not predicate.members <= now or (before and predicate.members <= before):
                continue
            if not len(partial.start):
                break
            columns = self._wide(partial, column, predicate.columns)
            partial = partial.where(predicate.is_true(columns, len(partial.start)))
        return partial

    def _wide(
        self,
        partial: Partial,
        column: Callable[[Place, Partial], Vector],
        needed: frozenset[int],
    ) -> Columns:
        """Columns of the whole join; those that are not needed stand empty."""
        return tuple(
            column(self._place(i), partial) if i in needed else empty(field.type)
            for i, field in enumerate(self._graph.schema)
        )
