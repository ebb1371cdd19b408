"""From rows of a join's input to combinations with rows of the others, look-up by look-up.

A look-up either finds all partners of a combination, or in a first phase only whether there
is one: a combination without any is dropped before anything is multiplied. The partners of
those that are left are found in the second phase, beginning where the first one ended, and
side by side: no look-up is repeated for what another one has multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from thalweg.kernels.probe import cross
from thalweg.operators.delta import Delta, Times
from thalweg.operators.join_graph import Lookup, Place, Topology
from thalweg.operators.store import equal_values
from thalweg.operators.stored import StoreView
from thalweg.types import Schema
from thalweg.vector.column import Columns, Mask, Vector, empty

# The rows to begin with, among the members whose rows are looked up.
BASE = -1


@dataclass(frozen=True)
class Predicate:
    """A condition, the members it needs, and the columns of the join that it reads."""

    members: frozenset[int]
    columns: frozenset[int]
    is_true: Callable[[Columns, int], Mask]


class Side(Protocol):
    """Where the rows of a member that were found lie."""

    def take(self, place: Place, rows: Times) -> Vector: ...


@dataclass(frozen=True)
class StoreSide:
    view: StoreView
    with_new: bool

    def take(self, place: Place, rows: Times) -> Vector:
        return self.view.take(place[1], rows)


@dataclass(frozen=True)
class Partial:
    """Combinations: for each the row numbers of the members, the stretch of time, the weight,
    and the first partners in members whose others are not looked for yet."""

    rows: dict[int, Times]
    start: Times
    end: Times
    weight: Times
    waiting: dict[int, Times] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    def where(self, keep: Mask) -> Partial:
        return self if keep.all() else self.take(np.flatnonzero(keep))

    def take(self, some: Times) -> Partial:
        return Partial(
            {member: rows.take(some) for member, rows in self.rows.items()},
            self.start.take(some),
            self.end.take(some),
            self.weight.take(some),
            {member: slots.take(some) for member, slots in self.waiting.items()},
        )


@dataclass(frozen=True)
class Matches:
    """Pairs of a combination, by number in ascending order, and a row that was found."""

    owners: Times
    rows: Times
    start: Times
    end: Times
    weight: Times | int

    def where(self, keep: Mask) -> Matches:
        weight = self.weight if isinstance(self.weight, int) else self.weight[keep]
        return Matches(self.owners[keep], self.rows[keep], self.start[keep], self.end[keep], weight)


class Walk:
    """Combinations that begin with some rows.

    `base` gives a column of theirs, `members` are those it stands for. `turn` is the input
    whose rows they are: of the inputs before it the new rows count already.
    """

    def __init__(
        self,
        members: frozenset[int],
        base: Callable[[Place], Vector],
        turn: int,
        topology: Topology,
        views: Mapping[tuple[int, tuple[int, ...]], StoreView],
        predicates: Sequence[Predicate],
        schema: Schema,
    ) -> None:
        self._members, self._base, self._turn = members, base, turn
        self._topology, self._views = topology, views
        self._predicates, self._schema = predicates, schema
        self.sides: dict[int, Side] = {}
        self._all = np.empty(0, np.int64)
        # By member: the combinations that had partners in it, and how many.
        self.partners: dict[int, tuple[int, int]] = {}

    def testing(self, conditions: Sequence[Predicate]) -> Walk:
        """The same, with these conditions and no others."""
        self._predicates = conditions
        return self

    def copy(self) -> Walk:
        """The same rows, to find others in another way."""
        other = copy(self)
        other.sides, other.partners = dict(self.sides), {}
        return other

    def begin(self, start: Times, end: Times, weight: Times) -> Partial:
        self._all = np.arange(len(start))
        return self._tested(Partial({BASE: self._all}, start, end, weight), None)

    def column(self, place: Place, partial: Partial) -> Vector:
        side = self.sides.get(place[0])
        if side is None:
            own, rows = self._base(place), partial.rows[BASE]
            return own if rows is self._all else own.take(rows)
        return side.take(place, partial.rows[place[0]])

    # One look-up

    def expand(self, lookup: Lookup, partial: Partial) -> Partial:
        """All partners of every combination."""
        partial, keys = self._keys(lookup, partial)
        return self.joined(partial, self._matches(lookup, partial, keys), (lookup.member,))

    def drop(self, lookup: Lookup, partial: Partial) -> Partial:
        """The combinations that may have a partner. All of theirs are to be found later."""
        partial, keys = self._keys(lookup, partial)
        side = self._side(lookup)
        slots = side.view.first(keys, partial.start, partial.end, side.with_new)
        left = np.flatnonzero(slots >= 0)
        kept = partial if len(left) == len(partial) else partial.take(left)
        return Partial(
            kept.rows,
            kept.start,
            kept.end,
            kept.weight,
            {**kept.waiting, lookup.member: slots.take(left)},
        )

    def _keys(self, lookup: Lookup, partial: Partial) -> tuple[Partial, Columns]:
        return self.keys([there for there, _ in lookup.keys], partial)

    def keys(self, places: Sequence[Place], partial: Partial) -> tuple[Partial, Columns]:
        """Combinations whose columns at some places are not NULL, and these columns."""
        keys = tuple(self.column(place, partial) for place in places)
        if any(key.has_nulls for key in keys):
            there = np.logical_and.reduce([key.present() for key in keys])
            return partial.where(there), tuple(key.where(there) for key in keys)
        return partial, keys

    def _side(self, lookup: Lookup) -> StoreSide:
        view = self._views[lookup.member, lookup.index]
        side = StoreSide(view, with_new=lookup.member < self._turn)
        self.sides[lookup.member] = side
        return side

    def _matches(self, lookup: Lookup, partial: Partial, keys: Columns) -> Matches:
        side = self._side(lookup)
        begin = partial.waiting.get(lookup.member)
        owners, rows, start, end = side.view.probe(
            keys, partial.start, partial.end, side.with_new, begin
        )
        if len(owners):
            owning = 1 + int(np.count_nonzero(owners[1:] != owners[:-1]))
            self.partners[lookup.member] = owning, len(owners)
        found = Matches(owners, rows, start, end, side.view.weights(rows))
        for there, own in lookup.verified:
            mine = side.take(own, found.rows)
            if there[0] == lookup.member:
                other = side.take(there, found.rows)
            else:
                other = self.column(there, partial).take(found.owners)
            same = equal_values(other, mine)
            if not same.all():
                found = found.where(same)
        return found

    def joined(
        self,
        partial: Partial,
        found: Matches,
        members: Iterable[int],
        known: Sequence[Predicate] = (),
    ) -> Partial:
        """Combinations with what was found for them in some members. Of some conditions it is
        known that they are true."""
        before = self._bound(partial)
        rows = {m: numbers.take(found.owners) for m, numbers in partial.rows.items()}
        waiting = {m: slots.take(found.owners) for m, slots in partial.waiting.items()}
        weight = partial.weight.take(found.owners) * found.weight
        rows.update(dict.fromkeys(members, found.rows))
        return self._tested(Partial(rows, found.start, found.end, weight, waiting), before, known)

    # The second phase

    def generate(self, lookups: Sequence[Lookup], partial: Partial) -> Partial:
        """All partners in members that nothing else depends on. Of the last one none is known."""
        *known, last = lookups
        partial, keys = self._keys(last, partial)
        found = self._matches(last, partial, keys)
        some = np.unique(found.owners)
        if len(some) < len(partial):
            partial = partial.take(some)
            found = Matches(
                np.searchsorted(some, found.owners),
                found.rows,
                found.start,
                found.end,
                found.weight,
            )
        rows, weight = {last.member: found.rows}, partial.weight.take(found.owners) * found.weight
        owners, start, end = found.owners, found.start, found.end
        for lookup in reversed(known):
            partial_keys = tuple(self.column(there, partial) for there, _ in lookup.keys)
            more = self._matches(lookup, partial, partial_keys)
            mine, theirs = _crossed(owners, start, end, more, len(partial))
            rows = {m: numbers.take(mine) for m, numbers in rows.items()}
            rows[lookup.member] = more.rows.take(theirs)
            weight = weight.take(mine)
            weight *= more.weight if isinstance(more.weight, int) else more.weight.take(theirs)
            start = np.maximum(start.take(mine), more.start.take(theirs))
            end = np.minimum(end.take(mine), more.end.take(theirs))
            owners = owners.take(mine)
        rows.update({m: numbers.take(owners) for m, numbers in partial.rows.items()})
        return Partial(rows, start, end, weight)

    # Conditions

    def _bound(self, partial: Partial) -> frozenset[int]:
        return self._members | (partial.rows.keys() - {BASE})

    def _tested(
        self,
        partial: Partial,
        before: frozenset[int] | None,
        known: Sequence[Predicate] = (),
    ) -> Partial:
        """Keep combinations on which every condition is true that can be tested now."""
        now = self._bound(partial)
        for predicate in self._predicates:
            if not predicate.members <= now or (before is not None and predicate.members <= before):
                continue
            if predicate in known:
                continue
            if not len(partial):
                break
            columns = self.wide(partial, predicate.columns)
            partial = partial.where(predicate.is_true(columns, len(partial)))
        return partial

    def wide(self, partial: Partial, needed: frozenset[int]) -> Columns:
        """Columns of the whole join; those that are not needed stand empty."""
        return tuple(
            self.column(self._topology.place(i), partial) if i in needed else empty(f.type)
            for i, f in enumerate(self._schema)
        )

    def result(self, partial: Partial, needed: frozenset[int]) -> Delta:
        return Delta(self.wide(partial, needed), partial.start, partial.end, partial.weight)


def _crossed(
    owners: Times, start: Times, end: Times, more: Matches, count: int
) -> tuple[Times, Times]:
    """Pairs of combinations of one owner that meet in time."""
    firsts = np.searchsorted(more.owners, np.arange(count + 1))
    room = int(np.diff(firsts).take(owners).sum())
    mine, theirs = np.empty(room, np.int64), np.empty(room, np.int64)
    found = cross(owners, start, end, firsts, more.start, more.end, mine, theirs)
    return mine[:found], theirs[:found]
