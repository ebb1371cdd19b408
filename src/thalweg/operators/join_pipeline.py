"""What happens to the rows of one input of a join.

They meet the other inputs in an order of their own, which may change between two stretches
of rows: every order finds the same combinations, and the rows that are stored stay as they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from thalweg.adapt.drops import Index, Order
from thalweg.adapt.filter_order import FilterOrder, Spent
from thalweg.adapt.join_order import look_ups, path_to, spanning_tree
from thalweg.adapt.policies import MakePolicy
from thalweg.operators.delta import Delta
from thalweg.operators.join_graph import Lookup, Place, Topology
from thalweg.operators.join_walk import BASE, Partial, Walk
from thalweg.vector.column import Vector

# Rows in a stretch as long as it is not known which order is good.
UNSURE_ROWS = 8192
# With more partners than this for a combination that has any, it pays to look for the
# others' first ones before all are found. (m) Equal at 1.3 to 1.6.
MANY_PARTNERS = 1.5

NewWalk = Callable[[int, Callable[[Place], Vector]], Walk]


@dataclass(frozen=True)
class Path:
    """Look-ups in an order; `can_wait` where no later one depends on what is found."""

    lookups: tuple[Lookup, ...]
    can_wait: tuple[bool, ...]


class Pipeline:
    """`order` is one of the other members, numbered without the root."""

    def __init__(
        self,
        root: int,
        topology: Topology,
        conditioned: frozenset[int],
        new_walk: NewWalk,
        make: MakePolicy,
    ) -> None:
        self.root = root
        self.others = tuple(m for m in topology.members if m != root)
        self._topology, self._new_walk = topology, new_walk
        self._conditioned = conditioned
        first = topology.first_orders[root]
        self._is_free = make is not None and topology.is_connected and len(self.others) > 1
        self._tree = spanning_tree(root, topology.neighbours)
        self.order = FilterOrder(
            tuple(self.others.index(m) for m in first), make if self._is_free else None
        )
        self._paths: dict[Order, Path] = {}
        # By member: the partners of a combination that has any, lately.
        self._partners = dict.fromkeys(self.others, 1.0)
        self.spent = {member: (Spent(), Spent()) for member in self.others}

    def path(self, order: Order) -> Path:
        if order not in self._paths:
            members = tuple(self.others[number] for number in order)
            if self._is_free:
                members = look_ups(members, self._tree)
            lookups = self._topology.lookups(self.root, members)
            needed = [
                frozenset[int]().union(*(x.needs for x in lookups[at:]))
                for at in range(len(lookups))
            ]
            free = tuple(
                x.member not in self._conditioned and x.member not in later
                for x, later in zip(lookups, needed, strict=True)
            )
            self._paths[order] = Path(lookups, free)
        return self._paths[order]

    def run(self, delta: Delta) -> Iterator[tuple[Walk, Partial]]:
        """The combinations of all rows, stretch by stretch."""
        first = 0
        while first < len(delta):
            end = len(delta)
            if self.order.is_unsure:
                end = min(end, first + UNSURE_ROWS)
            yield self._stretch(
                delta if end - first == len(delta) else delta.part(slice(first, end))
            )
            first = end

    def _stretch(self, delta: Delta) -> tuple[Walk, Partial]:
        order = self.order.next()
        path = self.path(order)
        walk = self._new_walk(self.root, lambda place: delta.columns[place[1]])
        began = perf_counter_ns()
        partial = walk.begin(delta.start, delta.end, delta.weight)
        counts, waiting = [len(delta)], []
        for at, (lookup, can_wait) in enumerate(zip(path.lookups, path.can_wait, strict=True)):
            if not len(partial):
                counts.append(0)
                continue
            is_last = at == len(path.lookups) - 1
            before, since = len(partial), perf_counter_ns()
            if can_wait and not is_last and self._partners[lookup.member] > MANY_PARTNERS:
                waiting.append(lookup)
                partial = walk.drop(lookup, partial)
            elif can_wait and waiting and is_last:
                partial = walk.generate([*waiting, lookup], partial)
                waiting = []
            else:
                partial = walk.expand(lookup, partial)
            spent, found = self.spent[lookup.member]
            spent.add(before, perf_counter_ns() - since)
            found.rows += len(partial)
            counts.append(len(partial))
        if waiting and len(partial):
            partial = walk.generate(waiting, partial)
        if self._is_free:
            self.order.ran(order, counts, perf_counter_ns() - began)
            self._learn(walk)
            if self.order.wants_profile:
                self._profile(delta)
        return walk, partial

    def _learn(self, walk: Walk) -> None:
        for member, (owners, partners) in walk.partners.items():
            self._partners[member] = (self._partners[member] + partners / owners) / 2

    def _profile(self, delta: Delta) -> None:
        def passing(number: int, rows: Index) -> Index:
            return self._met(delta, self.others[number], rows)

        self.order.profile(np.arange(len(delta)), passing)

    def _met(self, delta: Delta, member: int, rows: Index) -> Index:
        """The rows for which there is something along the path to a member."""
        walk = self._new_walk(self.root, lambda place: delta.columns[place[1]].take(rows))
        partial = walk.begin(delta.start[rows], delta.end[rows], delta.weight[rows])
        *before, last = self._topology.lookups(self.root, path_to(member, self._tree))
        for lookup in before:
            partial = walk.expand(lookup, partial)
        met = walk.drop(last, partial).rows[BASE]
        if len(before):
            met = np.unique(met)
        return rows[met]
