"""Windows: elements of a stream as rows with the stretch of time in which they count.

A window by time knows at once when an element will leave it. A window by rows
learns it from the elements that follow, so it takes them in the order of time
and position, and only up to the frontier.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.slots import SlotTable
from thalweg.operators.base import Moment
from thalweg.operators.delta import FOREVER, Delta, Times, combined, later, nothing
from thalweg.operators.identity import Identity
from thalweg.plan.nodes import (
    PartitionWindow,
    RangeWindow,
    RowsWindow,
    SlideWindow,
    UnboundedWindow,
    Window,
)
from thalweg.types import Schema


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
    """[ROWS n] and [PARTITION BY … ROWS n]."""

    STATE: ClassVar[tuple[str, ...]] = ("_identity", "_slots", "_waiting", "_inside")

    def __init__(self, window: RowsWindow | PartitionWindow, schema: Schema) -> None:
        self._rows = window.rows
        self._keys = window.keys if isinstance(window, PartitionWindow) else ()
        self._identity = Identity(tuple(schema[i].type for i in self._keys))
        self._slots = SlotTable(self._identity.width)
        self._schema = schema
        self._waiting = nothing(schema)
        self._inside = nothing(schema)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        waiting = combined([self._waiting, *inputs], self._schema)
        ready = waiting.start < moment.frontier
        self._waiting = waiting.where(~ready)
        new = waiting.where(ready)
        if not len(new):
            return nothing(self._schema)
        new = _one_by_one(new)
        both = combined([self._inside, new], self._schema)
        is_new = np.r_[np.zeros(len(self._inside), np.bool_), np.ones(len(new), np.bool_)]
        assert both.position is not None, "rows are counted in the order of their source"
        keys = tuple(both.columns[i] for i in self._keys)
        slots = self._slots.assign(self._identity.words(keys, len(both)))
        order = np.lexsort((both.position, both.start, slots))
        both, is_new, slots = both.take(order), is_new[order], slots[order]
        leaves = np.full(len(both), FOREVER)
        n = self._rows
        if n < len(both):
            pushed = slots[n:] == slots[:-n]
            leaves[:-n] = np.where(pushed, both.start[n:], FOREVER)
        self._inside = both.where(leaves == FOREVER)
        entered = np.flatnonzero(is_new & (both.start < leaves))
        left = np.flatnonzero(~is_new & (leaves < FOREVER))
        index = np.r_[entered, left]
        changes = both.take(index)
        forever = np.full(len(left), FOREVER)
        return Delta(
            changes.columns,
            np.r_[both.start[entered], leaves[left]],
            np.r_[leaves[entered], forever],
            np.r_[np.ones(len(entered), np.int64), np.full(len(left), -1)],
        )


def _one_by_one(elements: Delta) -> Delta:
    """Equal elements of one instant as several."""
    if (elements.weight == 1).all():
        return elements
    repeated = elements.take(np.repeat(np.arange(len(elements)), elements.weight))
    return Delta(
        repeated.columns,
        repeated.start,
        repeated.end,
        np.ones(len(repeated), np.int64),
        repeated.position,
    )
