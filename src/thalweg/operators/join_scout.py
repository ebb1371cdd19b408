"""What a few rows tell about the ways through a join.

Along each path of the join's graph, for which rows is there something at its end? Look-ups that
paths have in common are made once. Nothing comes of it but knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from time import perf_counter_ns

import numpy as np

from thalweg.adapt.drops import Mask
from thalweg.adapt.join_order import Tree, path_to, spanning_tree
from thalweg.adapt.lookup_order import LookupTimes
from thalweg.operators.delta import Delta
from thalweg.operators.join_graph import Place, Topology
from thalweg.operators.join_walk import BASE, Partial, Walk
from thalweg.operators.stored import StoreView
from thalweg.vector.column import Vector

# Rows that tell how many partners those of a member have, and by how much they have to be
# fewer on another way.
FEWEST_ROWS, FEW_ROWS, CLEARLY_BETTER = 4, 128, 1.25
# Partners that are found to tell how many there are.
_FEW_PARTNERS = 512
# (m) Nanoseconds that a look-up takes before it has seen a combination; and so many of these tell
# what it takes for one.
_CALL, TIMED_ROWS = 25_000, 1024
# What takes longer tells of fewer, too.
_DEAR = 250_000

# Combinations that begin with rows which stand for some members, at the turn of one.
NewWalk = Callable[[frozenset[int], Callable[[Place], Vector], int], Walk]


@dataclass(frozen=True)
class Scouted:
    """By member and row whether there is something at the end of the path; by member the
    combinations that came to its look-up, for a row, and where that is known the nanoseconds
    of that for each, and the partners of a combination that has any."""

    passes: Mask
    came: Mapping[int, float]
    nanos: Mapping[int, float]
    partners: Mapping[int, float]

    def times(self, members: Iterable[int], tree: Tree, times: LookupTimes) -> list[float]:
        """What it takes for a row to find out whether there is something at the end of each
        path. What is on all of them is looked up in any case, and counts for itself alone."""
        gate = gate_of(tree)
        found = []
        for member in members:
            way = [m for m in path_to(member, tree) if m == member or m != gate]
            found.append(sum(self.came.get(m, 0.0) * self.time(m, times) for m in way))
        return found

    def time(self, member: int, times: LookupTimes) -> float:
        return times.of(member, self.nanos.get(member))


def gate_of(tree: Tree) -> int | None:
    """The member that is on the way to all others: it is looked up first in every order."""
    nears = set(tree.values()) - tree.keys()
    first = [member for member, near in tree.items() if near in nears]
    return first[0] if len(first) == 1 else None


class Scout:
    """For the rows of one input, `root`. What is `conditioned` must be looked up to be tested."""

    def __init__(
        self,
        root: int,
        topology: Topology,
        conditioned: frozenset[int],
        new_walk: NewWalk,
        view_of: Callable[[int], StoreView],
    ) -> None:
        self._root, self._topology, self._conditioned = root, topology, conditioned
        self._new_walk, self._view_of = new_walk, view_of
        self._others = [m for m in topology.members if m != root]

    def _begun(self, rows: Delta) -> tuple[Walk, Partial]:
        columns = rows.columns
        walk = self._new_walk(frozenset((self._root,)), lambda p: columns[p[1]], self._root)
        return walk, walk.begin(rows.start, rows.end, rows.weight)

    def along(self, tree: Tree, rows: Delta) -> Scouted:
        """What there is for rows on every path."""
        walk, begun = self._begun(rows)
        passes = np.zeros((len(self._others), len(rows)), np.bool_)
        came: dict[int, float] = {}
        nanos: dict[int, float] = {}
        partners: dict[int, float] = {}
        ahead: dict[int, tuple[tuple[int, ...], Partial]] = {self._root: ((self._root,), begun)}
        nears = set(tree.values())
        for far, near in _outward(tree, self._root):
            bound, there = ahead[near]
            lookup = self._topology.lookup(far, bound)
            is_exact = far in nears or far in self._conditioned or bool(lookup.verified)
            began = perf_counter_ns()
            found = (walk.expand if is_exact else walk.drop)(lookup, there)
            if len(there):
                came[far] = len(there) / len(rows)
                took = perf_counter_ns() - began
                if len(there) >= TIMED_ROWS or took > _DEAR:
                    nanos[far] = max(0, took - _CALL) / len(there)
            if far in walk.partners:
                owners, count = walk.partners[far]
                partners[far] = count / owners
            passes[self._others.index(far), found.rows[BASE]] = True
            ahead[far] = ((*bound, far), found)
        return Scouted(passes.T, came, nanos, partners)

    # Where there are several ways

    def best_tree(self, tree: Tree, rows: Delta) -> tuple[Tree, float]:
        """Where there are several ways to a member, those that multiply rows least; and how many
        times fewer partners than by the ways of now that makes."""
        known: dict[tuple[int, int], float] = {}

        def fan_out(near: int, far: int) -> float:
            if (near, far) not in known:
                known[near, far] = self._fan_out(rows, near, far)
            return known[near, far]

        best = spanning_tree(self._root, self._topology.neighbours, fan_out)
        gain = sum(fan_out(tree[m], m) for m in best) / sum(fan_out(best[m], m) for m in best)
        return best, gain

    def _fan_out(self, rows: Delta, near: int, far: int) -> float:
        """How many partners a row of a member has in another, by a few of them: the fewer, the
        more these have."""
        some = self._partners_of(rows, near, far, FEWEST_ROWS)
        more = min(FEW_ROWS, int(_FEW_PARTNERS / some))
        return some if more <= FEWEST_ROWS else self._partners_of(rows, near, far, more)

    def _partners_of(self, rows: Delta, near: int, far: int, count: int) -> float:
        lookup = self._topology.lookup(far, (near,))
        if near == self._root:
            walk, partial = self._begun(rows.part(slice(0, count)))
        else:
            view = self._view_of(near)
            slots, start, end = view.some(count)
            walk = self._new_walk(frozenset((near,)), lambda p: view.take(p[1], slots), self._root)
            partial = walk.begin(start, end, np.ones(len(slots), np.int64))
        if not len(partial):
            return 1.0
        return len(walk.expand(lookup, partial)) / len(partial) + 0.01


def _outward(tree: Tree, root: int) -> list[tuple[int, int]]:
    """The edges of a tree, from the root outward."""
    edges, reached = [], [root]
    for near in reached:
        own = [member for member, its in tree.items() if its == near]
        edges += [(member, near) for member in own]
        reached += own
    return edges
