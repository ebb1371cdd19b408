"""Windows: elements of a stream as rows with the stretch of time in which they count.

A window by time knows at once when an element will leave it. A window by rows
learns it from the elements that follow, so it takes them in the order of time
and position, and only up to the frontier.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.growing import grown
from thalweg.kernels.queues import push_rows
from thalweg.operators.base import Moment
from thalweg.operators.calendar import Calendar, Events
from thalweg.operators.delta import FOREVER, Delta, Times, later, nothing
from thalweg.operators.keys import KeyTable
from thalweg.operators.row_store import RowStore
from thalweg.plan.nodes import (
    PartitionWindow,
    RangeWindow,
    RowsWindow,
    SlideWindow,
    UnboundedWindow,
    Window,
)
from thalweg.types import Schema
from thalweg.vector.column import Columns, Index, joined, taken


class TimeWindowRun:
    """[RANGE], [RANGE … SLIDE], [NOW] and [UNBOUNDED]."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, window: Window) -> None:
        self._window = window

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (elements,) = inputs
        start, end = lifetimes(self._window, elements.start)
        kept = start < end
        delta = Delta(elements.columns, start, end, elements.weight)
        return delta if kept.all() else delta.where(kept)


def lifetimes(window: Window, time: Times) -> tuple[Times, Times]:
    """When elements enter a window by time, and when they leave it."""
    match window:
        case RangeWindow(span=span):
            return time, later(time, span + 1)
        case SlideWindow(span=span, step=step):
            return _next_multiple(time, step), _next_multiple(later(time, span), step)
        case UnboundedWindow():
            return time, np.full(len(time), FOREVER)
    raise AssertionError(f"{window} is not a window by time")


def _next_multiple(time: Times, step: int) -> Times:
    """The first multiple of the step after each instant."""
    return np.where(time == FOREVER, FOREVER, later(time, step - time % step))


class RowsWindowRun:
    """[ROWS n] and [PARTITION BY … ROWS n].

    Rows inside are kept in a queue per partition. A new row comes after all of them in
    the order of time and position, because the stream has promised so.
    """

    STATE: ClassVar[tuple[str, ...]] = (
        "_waiting",
        "_partitions",
        "_ends",
        "_sizes",
        "_store",
        "_following",
        "_arrivals",
        "_arrived",
    )

    def __init__(self, window: RowsWindow | PartitionWindow, schema: Schema) -> None:
        self._rows = window.rows
        self._keys = window.keys if isinstance(window, PartitionWindow) else ()
        self._schema = schema
        self._waiting = Calendar()
        self._partitions = KeyTable(tuple(schema[i].type for i in self._keys))
        # Of each partition: its first and its last row, and how many it has.
        self._ends = np.zeros((self._partitions.capacity, 2), np.int64)
        self._sizes = np.zeros(self._partitions.capacity, np.int64)
        # Of each row: the next one of its partition, and its place among all arrivals.
        self._store = RowStore(tuple(field.type for field in schema))
        self._following = np.zeros(self._store.capacity, np.int64)
        self._arrivals = np.zeros(self._store.capacity, np.int64)
        self._arrived = 0

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        for part in inputs:
            if len(part):
                assert part.position is not None, "rows are counted in the order of their source"
                numbers = (part.weight, part.position)
                self._waiting.add(Events(part.start, numbers, part.columns))
        ready = self._waiting.due(moment.frontier)
        if ready is None:
            return nothing(self._schema)
        weight, position = ready.numbers
        order = np.lexsort((position, ready.time))
        order = np.repeat(order, weight[order])
        return self._pushed(taken(ready.columns, order), ready.time[order])

    def next_time(self) -> int | None:
        return self._waiting.next_time()

    def _pushed(self, columns: Columns, time: Times) -> Delta:
        """The changes that follow from rows, in their order."""
        numbers, pushed = self._push(columns, len(time))
        pushing = np.flatnonzero(pushed >= 0)
        out = pushed[pushing]
        place = self._arrivals[out] - self._arrived
        new = place >= 0
        leaves = np.full(len(time), FOREVER)
        leaves[place[new]] = time[pushing[new]]
        left, left_at = out[~new], time[pushing[~new]]
        gone = self._store.take(left)
        stays = leaves == FOREVER
        self._store.drop(left)
        self._store.put(numbers[stays], columns, np.flatnonzero(stays))
        self._store.give_back(numbers[~stays])
        self._arrived += len(time)
        entered = np.flatnonzero(time < leaves)
        ones, forever = np.ones(len(entered), np.int64), np.full(len(left), FOREVER)
        return Delta(
            tuple(joined([c.take(entered), g]) for c, g in zip(columns, gone, strict=True)),
            np.r_[time[entered], left_at],
            np.r_[leaves[entered], forever],
            np.r_[ones, np.full(len(left), -1)],
        )

    def _push(self, columns: Columns, length: int) -> tuple[Index, Index]:
        """The numbers of new rows, and of the row that each pushes out, or -1."""
        slots = self._partitions.assign(tuple(columns[i] for i in self._keys), length)
        if self._partitions.capacity > len(self._sizes):
            self._ends = grown(self._ends, self._partitions.capacity)
            self._sizes = grown(self._sizes, self._partitions.capacity)
        numbers = self._store.reserve(length)
        if self._store.capacity > len(self._following):
            self._following = grown(self._following, self._store.capacity)
            self._arrivals = grown(self._arrivals, self._store.capacity)
        self._arrivals[numbers] = np.arange(self._arrived, self._arrived + length)
        pushed = np.empty(length, np.int64)
        push_rows(slots, numbers, self._rows, self._ends, self._sizes, self._following, pushed)
        return numbers, pushed
