"""Values in groups, each with the number of times it is there."""

from __future__ import annotations

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.operators.keys import KeyTable
from thalweg.types import BIGINT, Type
from thalweg.vector.column import Columns, Index, Mask, Vector, taken


class Members:
    """A member is a row of values of a group; it is forgotten when its count is zero and
    nothing more is to come."""

    def __init__(self, types: tuple[Type, ...], by_form: bool = False) -> None:
        self.keys = KeyTable((BIGINT, *types), by_form)
        self.counts = np.zeros(self.keys.capacity, np.int64)
        # How many events are still to come.
        self.waiting = np.zeros(self.keys.capacity, np.int64)

    def enter(self, groups: Index, values: Columns, counted: Mask, ending: Mask) -> Index:
        """The members of rows, -1 for rows that do not count.

        Each row is one event to come, and one more if it is `ending`.
        """
        rows = np.flatnonzero(counted)
        members = np.full(len(groups), -1, np.int64)
        own = (Vector(BIGINT, groups[rows]), *taken(values, rows))
        members[rows] = self.keys.assign(own, len(rows))
        if self.keys.capacity > len(self.counts):
            self.counts = grown(self.counts, self.keys.capacity)
            self.waiting = grown(self.waiting, self.keys.capacity)
        np.add.at(self.waiting, members[rows], np.where(ending[rows], 2, 1))
        return members

    def values(self, members: Index) -> Columns:
        return self.keys.take(members)[1:]

    def groups(self, members: Index) -> Index:
        groups: Index = self.keys.take(members)[0].data
        return groups

    def forget(self, members: Index) -> None:
        if len(members):
            self.keys.release(members)
