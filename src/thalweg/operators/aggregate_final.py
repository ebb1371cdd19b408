"""Aggregates that are sums: groups as running totals.

What comes in are sums already, of one row or of many that share a group and a
stretch of time. The totals of a group over time are differences of one
cumulative sum. The first total is the number of rows inside.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.slots import grown
from thalweg.operators.aggregate_sums import Sums
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta, nothing
from thalweg.operators.groups import Groups, Shown
from thalweg.plan.nodes import Aggregate


class FinalAggregateRun:
    STATE: ClassVar[tuple[str, ...]] = ("_groups", "_totals")

    def __init__(self, plan: Aggregate, sums: Sums, always_there: bool) -> None:
        self._plan = plan
        self._sums = sums
        self._groups = Groups(plan, always_there)
        # Beside the sums, how many events a group has seen: it exists from the first on.
        self._totals = np.zeros((self._groups.capacity, sums.width + 1), np.int64)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        width = len(self._plan.keys)
        if len(delta):
            numbers = tuple(delta.weight * column.data for column in delta.columns[width:])
            self._groups.enter(delta.columns[:width], numbers, (), delta)
        self._groups.begin(moment, self._sums.width, ())
        touched = self._groups.due(moment.frontier)
        if touched is None:
            return nothing(self._plan.schema)
        if self._groups.capacity > len(self._totals):
            self._totals = grown(self._totals, self._groups.capacity)
        added = np.empty((len(touched.slot), self._sums.width + 1), np.int64)
        added[:, 0] = 1
        for i, number in enumerate(touched.numbers):
            added[:, i + 1] = number
        total = np.cumsum(added, axis=0)
        starts = np.flatnonzero(touched.new)
        base = np.zeros((len(starts), added.shape[1]), np.int64)
        base[1:] = total[starts[1:] - 1]
        group = np.cumsum(touched.new)[touched.at] - 1
        was = self._totals[touched.groups]
        now = total[touched.at] - base[group] + was[group]
        self._totals[touched.groups] = now[touched.last]
        changes = self._groups.changes(touched, self._shown(was), self._shown(now))
        gone = self._groups.released(touched, now[touched.last, 1] == 0)
        self._totals[gone] = 0
        return changes

    def _shown(self, totals: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Shown:
        # Without keys, a group that has begun exists while it is empty.
        exists = totals[:, 1] > 0 if self._plan.keys else totals[:, 0] > 0
        return Shown(exists, self._sums.values(totals[:, 1:]))
