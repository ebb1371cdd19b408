"""The inner join of any number of relations.

Every input keeps its rows in a store. Rows that come are first looked up in the
stores of all other inputs, then kept in their own, so each combination is found
once, by the last of its members to come. It counts while all its members do: its
stretch of time is where theirs meet. That holds in whatever order rows come, so
the inputs need not wait for each other; a row can go from its store when all
other inputs have promised to be past its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thalweg.kernels.probe import link_rows, probe_index
from thalweg.kernels.slots import grown, hash_rows
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta, Times, combined, nothing
from thalweg.operators.identity import Identity
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import JoinGraph
from thalweg.types import Schema
from thalweg.vector.column import Columns, Mask, Vector, taken
from thalweg.vector.evaluate import VectorCompiler

Classes = tuple[int, ...]


class Index:
    """The rows of a store by the values of some key classes."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._words = np.zeros((64, identity.width), np.int64)
        self._hashes = np.zeros(64, np.int64)
        self._following = np.zeros(64, np.int64)
        self._heads = np.full(128, -1, np.int64)
        self._length = 0

    def add(self, keys: Columns, length: int) -> None:
        end = self._length + length
        if end > len(self._hashes):
            capacity = max(2 * len(self._hashes), end)
            self._words = grown(self._words, capacity)
            self._hashes = grown(self._hashes, capacity)
            self._following = grown(self._following, capacity)
        first = self._length
        words = self._identity.words(keys, length)
        self._words[first:end] = words
        self._hashes[first:end] = hash_rows(words)
        self._length = end
        if 2 * end > len(self._heads):
            self._heads = _no_heads(end)
            first = 0
        link_rows(self._hashes, self._heads, self._following, first, end)

    def keep(self, rows: Times) -> None:
        """Forget all other rows."""
        length = len(rows)
        capacity = max(64, 2 * length)
        words = np.zeros((capacity, self._identity.width), np.int64)
        words[:length] = self._words[rows]
        hashes = np.zeros(capacity, np.int64)
        hashes[:length] = self._hashes[rows]
        self._words, self._hashes, self._length = words, hashes, length
        self._following = np.zeros(capacity, np.int64)
        self._heads = _no_heads(length)
        link_rows(self._hashes, self._heads, self._following, 0, length)

    def probe(
        self, keys: Columns, start: Times, end: Times, starts: Times, ends: Times
    ) -> tuple[Times, Times]:
        words = self._identity.words(keys, len(start))
        found: tuple[Times, Times] = probe_index(
            words,
            hash_rows(words),
            start,
            end,
            self._words,
            self._hashes,
            starts,
            ends,
            self._heads,
            self._following,
        )
        return found


def _no_heads(rows: int) -> Times:
    """Empty chains for some rows, and for as many again."""
    return np.full(max(128, 1 << (4 * rows).bit_length()), -1, np.int64)


class Store:
    """The rows of one input that may still meet others."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.rows = nothing(schema)
        self.indexes: dict[Classes, Index] = {}

    def add(self, delta: Delta, keys: Callable[[Classes, Columns], Columns]) -> None:
        self.rows = combined([self.rows, delta], self._schema)
        for classes, index in self.indexes.items():
            index.add(keys(classes, delta.columns), len(delta))

    def purge(self, before: int) -> None:
        """Drop rows that ended; rebuilt when half of them have."""
        live = self.rows.end > before
        if 2 * int(live.sum()) > len(live) or not len(live):
            return
        kept = np.flatnonzero(live)
        self.rows = self.rows.take(kept)
        for index in self.indexes.values():
            index.keep(kept)


@dataclass(frozen=True)
class Predicate:
    """A condition, and the members whose columns it reads."""

    members: frozenset[int]
    is_true: Callable[[Columns, int], Mask]


@dataclass(frozen=True)
class Partial:
    """Combinations of rows of some members: row numbers of each, stretch and weight."""

    rows: dict[int, Times]
    start: Times
    end: Times
    weight: Times


class JoinRun:
    def __init__(self, graph: JoinGraph, compiler: VectorCompiler) -> None:
        self._graph = graph
        self._stores = [Store(member.schema) for member in graph.members]
        self._offsets = np.cumsum([0, *(len(member.schema) for member in graph.members)]).tolist()
        # columns[class][member]: the member's column of a key class.
        self._columns = [
            {self._member(c): c - self._offsets[self._member(c)] for c in sorted(key.columns)}
            for key in graph.keys
        ]
        self._same_member = self._repeated_keys()
        self._identities: dict[Classes, Identity] = {}
        self._predicates = [
            Predicate(
                frozenset(self._member(c) for c in columns_used(predicate)),
                compiler.is_true(predicate),
            )
            for predicate in graph.predicates
        ]
        self._paths = [self._path(member) for member in range(len(graph.members))]

    def _member(self, column: int) -> int:
        return int(np.searchsorted(self._offsets, column, side="right")) - 1

    def _repeated_keys(self) -> list[list[tuple[int, int]]]:
        """Per member: pairs of its own columns that a key class makes equal."""
        pairs: list[list[tuple[int, int]]] = [[] for _ in self._graph.members]
        for key in self._graph.keys:
            seen: dict[int, int] = {}
            for column in sorted(key.columns):
                member = self._member(column)
                local = column - self._offsets[member]
                if member in seen:
                    pairs[member].append((seen[member], local))
                seen[member] = local
        return pairs

    def _path(self, first: int) -> list[tuple[int, Classes]]:
        """In which order rows of a member look the others up, and by which key classes."""
        bound, path = {first}, []
        others = [m for m in range(len(self._graph.members)) if m != first]
        while others:
            shared = {m: self._shared(m, bound) for m in others}
            best = max(others, key=lambda m: (len(shared[m]), -m))
            path.append((best, shared[best]))
            self._index(best, shared[best])
            bound.add(best)
            others.remove(best)
        return path

    def _shared(self, member: int, bound: set[int]) -> Classes:
        return tuple(
            number
            for number, members in enumerate(self._columns)
            if member in members and not bound.isdisjoint(members)
        )

    def _index(self, member: int, classes: Classes) -> None:
        if classes not in self._identities:
            types = [
                self._graph.schema[min(self._graph.keys[number].columns)].type for number in classes
            ]
            self._identities[classes] = Identity(tuple(types))
        indexes = self._stores[member].indexes
        if classes not in indexes:
            indexes[classes] = Index(self._identities[classes])

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        results = []
        for member, delta in enumerate(inputs):
            if not len(delta):
                continue
            delta = self._joinable(member, delta)
            results.append(self._matches(member, delta))
            self._stores[member].add(
                delta,
                lambda classes, columns, m=member: tuple(  # type: ignore[misc]
                    columns[self._columns[number][m]] for number in classes
                ),
            )
        for member, store in enumerate(self._stores):
            others = [f for m, f in enumerate(moment.frontiers) if m != member]
            store.purge(min(others))
        return combined(results, self._graph.schema)

    def _joinable(self, member: int, delta: Delta) -> Delta:
        """Rows without a NULL among their keys; NULL equals nothing."""
        keep = np.ones(len(delta), np.bool_)
        for members in self._columns:
            if member in members:
                keep &= delta.columns[members[member]].present()
        for a, b in self._same_member[member]:
            keep &= delta.columns[a].present() & delta.columns[b].present()
            keep &= _equal_columns(delta.columns[a], delta.columns[b])
        return Delta(delta.columns, delta.start, delta.end, delta.weight).where(keep)

    def _matches(self, member: int, delta: Delta) -> Delta:
        partial = Partial({member: np.arange(len(delta))}, delta.start, delta.end, delta.weight)
        sources: dict[int, Columns] = {member: delta.columns}
        partial = self._tested(partial, sources, frozenset())
        for other, classes in self._paths[member]:
            if not len(partial.start):
                break
            store = self._stores[other]
            done = frozenset(partial.rows)
            keys = tuple(self._key(number, partial, sources) for number in classes)
            left, right = store.indexes[classes].probe(
                keys, partial.start, partial.end, store.rows.start, store.rows.end
            )
            sources[other] = store.rows.columns
            partial = Partial(
                {**{m: rows[left] for m, rows in partial.rows.items()}, other: right},
                np.maximum(partial.start[left], store.rows.start[right]),
                np.minimum(partial.end[left], store.rows.end[right]),
                partial.weight[left] * store.rows.weight[right],
            )
            partial = self._tested(partial, sources, done)
        if not len(partial.start):
            return nothing(self._graph.schema)
        columns = tuple(
            column
            for m in range(len(self._stores))
            for column in taken(sources[m], partial.rows[m])
        )
        return Delta(columns, partial.start, partial.end, partial.weight)

    def _key(self, number: int, partial: Partial, sources: dict[int, Columns]) -> Vector:
        members = self._columns[number]
        bound = next(m for m in members if m in partial.rows)
        column: Vector = sources[bound][members[bound]]
        return column.take(partial.rows[bound])

    def _tested(
        self, partial: Partial, sources: dict[int, Columns], before: frozenset[int]
    ) -> Partial:
        """Keep combinations on which every condition is true that can be tested now."""
        now = frozenset(partial.rows)
        for predicate in self._predicates:
            if not predicate.members <= now or (before and predicate.members <= before):
                continue
            length = len(partial.start)
            if not length:
                break
            columns = self._wide(partial, sources, predicate.members)
            keep = predicate.is_true(columns, length)
            if not keep.all():
                partial = Partial(
                    {m: rows[keep] for m, rows in partial.rows.items()},
                    partial.start[keep],
                    partial.end[keep],
                    partial.weight[keep],
                )
        return partial

    def _wide(
        self, partial: Partial, sources: dict[int, Columns], members: frozenset[int]
    ) -> Columns:
        """Columns of the whole join; those of members that are not asked for stand empty."""
        wide: list[Vector] = []
        for m, member in enumerate(self._graph.members):
            if m in members:
                wide += taken(sources[m], partial.rows[m])
            else:
                wide += [Vector(field.type, np.empty(0)) for field in member.schema]
        return tuple(wide)


def _equal_columns(a: Vector, b: Vector) -> Mask:
    words = Identity((a.type,))
    left, right = words.words((a,), len(a)), words.words((b,), len(b))
    return (left == right).all(axis=1)  # type: ignore[no-any-return]
