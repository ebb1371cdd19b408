"""By which columns the members of a join find each other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from thalweg.plan.nodes import JoinGraph
from thalweg.vector.column import FIXED

# A column of a member: the member and its own number of the column.
Place = tuple[int, int]
# A column that is there already, and the member's own that has to equal it.
Pair = tuple[Place, Place]


@dataclass(frozen=True)
class Lookup:
    """A member is looked up by some of its columns.

    The pairs of `verified` still have to be compared: the index does not have them, its
    hashes are not exact, or both are columns of the member.
    """

    member: int
    index: tuple[int, ...]
    keys: tuple[Pair, ...]
    verified: tuple[Pair, ...]

    @property
    def needs(self) -> frozenset[int]:
        """The members whose columns are read."""
        return frozenset(there[0] for there, _ in (*self.keys, *self.verified)) - {self.member}


class Topology:
    """Key classes as places, the orders without a product, and the indexes for all of them."""

    def __init__(self, graph: JoinGraph, any_order: bool) -> None:
        self._graph = graph
        self.members = range(len(graph.members))
        self._lookups: dict[tuple[int, tuple[int, ...]], Lookup] = {}
        self._offsets = [0, *accumulate(len(member.schema) for member in graph.members)]
        self.classes = [[self.place(c) for c in sorted(key.columns)] for key in graph.keys]
        self._class_of = {p: c for c, places in enumerate(self.classes) for p in places}
        self.indexes: list[set[tuple[int, ...]]] = [set() for _ in self.members]
        self.first_orders = [self._first_order(member) for member in self.members]
        self.neighbours = {m: self._neighbours(m) for m in self.members}
        self.is_connected = self._is_connected()
        ends = sum(len({place[0] for place in places}) for places in self.classes)
        # Whether there may be several ways from a member to another.
        self.has_cycles = ends > len(self.members) + len(self.classes) - 1
        if any_order and self.is_connected:
            for member, others in self.neighbours.items():
                for other in others:
                    columns = (own for _, (_, own) in self._shared(member, (other,)))
                    self.indexes[member].add(tuple(columns))

    def place(self, column: int) -> Place:
        member = bisect_right(self._offsets, column) - 1
        return member, column - self._offsets[member]

    def column(self, place: Place) -> int:
        """The number in the join of a member's column."""
        return self._offsets[place[0]] + place[1]

    def class_of(self, place: Place) -> int:
        """The number of the class that a column belongs to."""
        return self._class_of[place]

    def own_places(self, member: int) -> list[list[Place]]:
        """By class: the member's own columns."""
        own = ([p for p in places if p[0] == member] for places in self.classes)
        return [places for places in own if places]

    def _neighbours(self, member: int) -> tuple[int, ...]:
        return tuple(m for m in self.members if m != member and self._shared(m, (member,)))

    def from_within(self, first: int, members: frozenset[int]) -> tuple[int, ...]:
        """The members that can be looked up from one of them by way of others of them."""
        reached = [first]
        for _ in range(len(members)):
            reached += [
                m
                for m in sorted(members)
                if m not in reached and any(self._usable(m, tuple(reached)))
            ][:1]
        return tuple(reached[1:])

    def are_joined(self, members: frozenset[int]) -> bool:
        """Whether each of the members finds all the others without any further ones."""
        return all(len(self.from_within(m, members)) == len(members) - 1 for m in members)

    def _usable(self, member: int, bound: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """The indexes of a member for columns that are there."""
        shared = {own[1] for _, own in self._shared(member, bound)}
        return (index for index in self.indexes[member] if shared >= set(index))

    def _is_connected(self) -> bool:
        reached = [0]
        for near in reached:
            reached += [m for m in self.neighbours[near] if m not in reached]
        return len(reached) == len(self.members)

    def _first_order(self, first: int) -> tuple[int, ...]:
        """The order to begin with: always the member with the most columns to look it up by."""
        bound, others = [first], [m for m in self.members if m != first]
        while others:
            shared = {m: self._shared(m, bound) for m in others}
            best = max(others, key=lambda m: (len(shared[m]), -m))
            self.indexes[best].add(tuple(own[1] for _, own in shared[best]))
            bound.append(best)
            others.remove(best)
        return tuple(bound[1:])

    def _shared(self, member: int, bound: Sequence[int]) -> list[Pair]:
        """Columns that are there, each with the member's column that equals it."""
        pairs = []
        for places in self.classes:
            there = [place for m in bound for place in places if place[0] == m]
            own = [place for place in places if place[0] == member]
            if there and own:
                pairs.append((there[0], own[0]))
        return pairs

    def lookup(self, member: int, bound: Sequence[int]) -> Lookup:
        """How a member is looked up by what is there, the first to be asked first."""
        key = member, tuple(bound)
        if key not in self._lookups:
            self._lookups[key] = self._new_lookup(*key)
        return self._lookups[key]

    def _new_lookup(self, member: int, bound: tuple[int, ...]) -> Lookup:
        shared = {own[1]: (there, own) for there, own in self._shared(member, bound)}
        index = max(self._usable(member, bound), key=lambda index: (len(index), index))
        keys = tuple(shared[column] for column in index)
        exact = len(keys) == 1 and self._is_fixed(keys[0][1])
        verified = [pair for pair in shared.values() if not exact or pair not in keys]
        for own in self.own_places(member):
            verified += pairwise(own)
        return Lookup(member, index, keys, tuple(verified))

    def _is_fixed(self, place: Place) -> bool:
        return self._graph.members[place[0]].schema[place[1]].type in FIXED

    def lookups(self, root: int, order: Sequence[int]) -> tuple[Lookup, ...]:
        return tuple(self.lookup(m, (root, *order[:at])) for at, m in enumerate(order))
