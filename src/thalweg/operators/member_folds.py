"""How measures of values follow from the events of their groups.

An event names a member of its group, or -1. Members that are gone for good are
remembered until `forget`, because what they were may still have to be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.kernels.members import (
    GONE,
    IDLE,
    LIVE,
    add_distinct,
    count_listed,
    fold_extremes,
    linked,
    renew_heaps,
    text_prefixes,
)
from thalweg.kernels.slots import NO_BYTES, NO_PLACES
from thalweg.kernels.timeline import Course, Events
from thalweg.operators.folds import Around
from thalweg.operators.measures import (
    Bag,
    Distinct,
    Extreme,
    States,
    Totals,
    nulled,
    order_words,
)
from thalweg.operators.members import Members
from thalweg.operators.row_words import text_bytes
from thalweg.types import BINARY, STRING
from thalweg.vector.column import Columns, Index, Mask, Vector, from_values

# The value of an aggregate on different argument rows, and how often each is there.
Define = Callable[[Columns, Index], Any]

# Heaps are made anew when they hold so many more values that are gone than values.
_IDLE = 64


class DistinctFold:
    """Events by how they change the number of distinct values."""

    def __init__(self, measure: Distinct, column: int) -> None:
        self._members = Members(measure.types)
        self._column = column
        self._gone = np.empty(0, np.int64)

    def make_room(self, groups: int) -> None:
        """Nothing is kept by group."""

    def enter(self, groups: Index, columns: Columns, ending: Mask) -> Index:
        return self._members.enter(groups, columns, columns[0].present(), ending)

    def weights(self, events: Events) -> Totals:
        weights, gone = np.empty(len(events), np.int64), np.empty(len(events), np.int64)
        counts, waiting = self._members.counts, self._members.waiting
        found = add_distinct(events, self._column, counts, waiting, weights, gone)
        self._gone = gone[:found]
        return weights

    def forget(self) -> None:
        self._members.forget(self._gone)


class ExtremeFold:
    """The least or the greatest value of each group."""

    def __init__(self, measure: Extreme, column: int) -> None:
        self._type = measure.argument.type
        self._greatest = measure.greatest
        self._members = Members(measure.types)
        self._column = column
        self._roots = np.full(0, -1, np.int32)
        self._order = np.zeros(0, np.int64)
        self._inside = np.zeros(0, np.bool_)
        self._child = np.zeros(0, np.int32)
        self._sibling = np.zeros(0, np.int32)
        self._tally = np.array([0, 0, -1], np.int64)

    def make_room(self, groups: int) -> None:
        known = len(self._roots)
        if groups > known:
            self._roots = grown(self._roots, groups, -1)

    def enter(self, groups: Index, columns: Columns, ending: Mask) -> Index:
        (values,) = columns
        members = self._members.enter(groups, columns, values.present(), ending)
        capacity = self._members.keys.capacity
        if capacity > len(self._order):
            self._order = grown(self._order, capacity)
            self._inside = grown(self._inside, capacity)
            self._child = grown(self._child, capacity)
            self._sibling = grown(self._sibling, capacity)
        there = members >= 0
        self._order[members[there]] = self._ordered(values)[there]
        return members

    def _ordered(self, values: Vector) -> Totals:
        if self._type in (STRING, BINARY):
            texts = text_bytes(values.data)
            prefixes: Totals = text_prefixes(texts.content, texts.offsets)
            return prefixes
        return order_words(values)

    def fold(self, events: Events, course: Course) -> Around:
        before = self._roots[course.slot[course.first]].astype(np.int64)
        after = np.empty(len(course), np.int64)
        fold_extremes(
            events,
            self._column,
            course.entry,
            self._members.counts,
            self._members.waiting,
            self._inside,
            self._child,
            self._sibling,
            self._roots,
            self._order,
            *self._texts(),
            self._greatest,
            self._tally,
            after,
        )
        return Around(self._values(before), self._values(after))

    def _values(self, members: Index) -> Vector:
        there = members >= 0
        if not there.any():
            return from_values([None] * len(members), self._type)
        some = int(members[np.argmax(there)])
        (values,) = self._members.values(np.where(there, members, some))
        return nulled(values, None if there.all() else there)

    def _texts(self) -> tuple[Any, Any]:
        pool = self._members.keys.slots.texts
        return (NO_BYTES, NO_PLACES) if pool is None else (pool.bytes, pool.places)

    def forget(self) -> None:
        if self._tally[IDLE] > self._tally[LIVE] + _IDLE:
            members = np.flatnonzero(self._inside)
            renew_heaps(
                members,
                self._members.groups(members),
                self._members.counts,
                self._members.waiting,
                self._inside,
                self._child,
                self._sibling,
                self._roots,
                self._order,
                *self._texts(),
                self._greatest,
                self._tally,
            )
        self._members.forget(linked(int(self._tally[GONE]), self._sibling))
        self._tally[GONE] = -1


class BagFold:
    """The value of an aggregate by its definition, from all rows of each group, or from what
    it has come to on parts of them."""

    def __init__(self, measure: Bag | States, column: int) -> None:
        self._type = measure.call.type
        self._members = Members(measure.types[1:], by_form=True)
        self._column = column
        self._heads = np.full(0, -1, np.int32)
        self._following = np.zeros(0, np.int32)
        self._preceding = np.zeros(0, np.int32)
        self._gone = np.empty(0, np.int64)

    def make_room(self, groups: int) -> None:
        known = len(self._heads)
        if groups > known:
            self._heads = grown(self._heads, groups, -1)

    def enter(self, groups: Index, columns: Columns, ending: Mask) -> Index:
        counted, *values = columns
        members = self._members.enter(
            groups, tuple(values), counted.data & counted.present(), ending
        )
        capacity = self._members.keys.capacity
        if capacity > len(self._following):
            self._following = grown(self._following, capacity)
            self._preceding = grown(self._preceding, capacity)
        return members

    def fold(self, events: Events, course: Course, define: Define) -> Around:
        slots = course.slot[course.first]
        before = [define(*self._rows(slot)) for slot in slots.tolist()]
        after = []
        order = np.argsort(course.entry, kind="stable")
        events = events[order]
        ends = np.searchsorted(course.entry[order], np.arange(len(course)), "right").tolist()
        self._gone = np.empty(len(events), np.int64)
        first = found = 0
        for slot, end in zip(course.slot.tolist(), ends, strict=True):
            found = count_listed(
                events[first:end],
                self._column,
                self._members.counts,
                self._members.waiting,
                self._heads,
                self._following,
                self._preceding,
                self._gone,
                found,
            )
            after.append(define(*self._rows(slot)))
            first = end
        self._gone = self._gone[:found]
        return Around(from_values(before, self._type), from_values(after, self._type))

    def _rows(self, group: int) -> tuple[Columns, Index]:
        members = linked(int(self._heads[group]), self._following)
        return self._members.values(members), self._members.counts[members]

    def forget(self) -> None:
        self._members.forget(self._gone)
