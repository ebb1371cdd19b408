"""Sweep and LocalSwaps: less is asked of a dropped tuple, and the order comes round later."""

from __future__ import annotations

import numpy as np

from thalweg.adapt.drops import DEFAULT_GUARD, DEFAULT_WINDOW, Drops, Index, Order, Times

DEFAULT_STAGE = 500
# So many tuples must speak for or against a swap.
_ENOUGH = 50


class Sweep:
    """One position is profiled at a time, in turn, and its filter may move forward.

    A tuple that an earlier filter dropped is shown to this one filter alone. `_own[i]` and
    `_its[i]` are V[i, i] and V[i, position] over the stage; they are compared when it ends,
    for of few tuples the next one would upset the order.
    """

    def __init__(
        self, order: Order, stage: int = DEFAULT_STAGE, guard: float = DEFAULT_GUARD
    ) -> None:
        self.order = order
        self._guard, self._length = guard, stage
        self.position = 1
        self._begin(1)

    def _begin(self, position: int) -> None:
        self.position = position if position < len(self.order) else 1
        self._own = np.zeros(self.position + 1, np.int64)
        self._its = np.zeros(self.position + 1, np.int64)
        self._count = 0

    def observe(self, drops: Drops, times: Times) -> None:
        first = 0
        while first < len(drops) and len(self.order) > 1:
            some = np.arange(first, min(len(drops), first + self._length - self._count))
            first += len(some)
            self._add(drops, some)
            if self._count < self._length:
                return
            better = self._better(times)
            if better is not None:
                numbers = list(self.order)
                numbers.insert(better, numbers.pop(self.position))
                self.order = tuple(numbers)
            self._begin(self.position + 1)
            if better is not None:
                return  # what follows was dropped in another order

    def forget(self) -> None:
        self._begin(self.position)

    def _add(self, drops: Drops, some: Index) -> None:
        at = drops.at[some]
        here = at == self.position
        before = some[at < self.position]
        dropped = drops.dropped_by(self.order[self.position], before)
        hits = np.concatenate([drops.at[before[dropped]], at[here]])
        self._own += np.bincount(at[at <= self.position], minlength=self.position + 1)
        at_hits = np.bincount(hits, minlength=self.position + 1)
        self._its += at_hits[::-1].cumsum()[::-1]
        self._count += len(some)

    def _better(self, times: Times) -> int | None:
        """The first position at which the filter would do better than the one there."""
        own = times[self.order[self.position]]
        for i in range(self.position):
            there = times[self.order[i]]
            if self._own[i] * own < self._guard * self._its[i] * there:
                return i
        return None


class LocalSwaps:
    """A tuple is shown to the filter behind the one that dropped it, and neighbours swap."""

    def __init__(
        self, order: Order, window: int = DEFAULT_WINDOW, guard: float = DEFAULT_GUARD
    ) -> None:
        self.order = order
        self._guard, self._size = guard, window
        self.forget()

    def forget(self) -> None:
        self._at = np.zeros(0, np.int64)
        self._next = np.zeros(0, np.bool_)

    def observe(self, drops: Drops, times: Times) -> None:
        asked = np.zeros(len(drops), np.bool_)
        for position in range(len(self.order) - 1):
            here = np.flatnonzero(drops.at == position)
            if len(here):
                asked[here] = drops.dropped_by(self.order[position + 1], here)
        self._at = np.concatenate([self._at, drops.at])[-self._size :]
        self._next = np.concatenate([self._next, asked])[-self._size :]
        while self._swap(times):
            pass

    def _swap(self, times: Times) -> bool:
        count = len(self.order)
        own = np.bincount(self._at, minlength=count)
        also = np.bincount(self._at[self._next], minlength=count)
        for i in range(count - 1):
            mine, its = times[self.order[i]], times[self.order[i + 1]]
            rival = own[i + 1] + also[i]
            if own[i] + rival >= _ENOUGH and own[i] * its < self._guard * rival * mine:
                numbers = list(self.order)
                numbers[i], numbers[i + 1] = numbers[i + 1], numbers[i]
                self.order = tuple(numbers)
                # Too little is known of the tuples dropped around here to count them anew.
                far = (self._at < i - 1) | (self._at > i + 2)
                self._at, self._next = self._at[far], self._next[far]
                return True
        return False
