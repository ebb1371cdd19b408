"""A-Greedy: every filter drops most, for its time, of what those before it let pass.

V[i, j] counts the profiles that the filter at position j drops, among those that no
filter before position i drops. The order is kept such that on the window's profiles
V[i, i] / time ≥ V[i, j] / time for all j behind i; it is then at most four times as dear
as the best one. A guard below 1 leaves alone what is only a little worse.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thalweg.adapt.drops import (
    DEFAULT_GUARD,
    DEFAULT_WINDOW,
    Drops,
    Mask,
    Order,
    ProfileWindow,
    Times,
    profile_of,
)

View = npt.NDArray[np.int64]


def matrix_view(bits: Mask, order: Order) -> View:
    """V, counted over profiles. Every profile has a filter that drops it."""
    ordered = bits[:, list(order)]
    # By position of the first filter that drops: as a product of matrices, which is fast.
    is_first = ordered.argmax(axis=1)[:, None] == np.arange(len(order))
    by_first = is_first.T.astype(np.float64) @ ordered.astype(np.float64)
    view: View = by_first[::-1].cumsum(axis=0)[::-1].astype(np.int64)
    return view


def violated(view: View, order: Order, times: Times, guard: float) -> int | None:
    """The first position at which another filter would do better.

    By products: a time may be zero, and so may a whole row, which violates nothing.
    """
    own = np.array([times[number] for number in order])
    for i in range(len(order) - 1):
        if (view[i, i] * own[i + 1 :] < guard * view[i, i + 1 :] * own[i]).any():
            return i
    return None


def corrected(bits: Mask, order: Order, times: Times, at: int) -> Order:
    """The order with the best filter at a position, and at those that this has upset."""
    numbers, upset = list(order), at
    position = at
    while position <= upset:
        view = matrix_view(bits, tuple(numbers))[position]
        best = position
        for other in range(position + 1, len(numbers)):
            if view[other] * times[numbers[best]] > view[best] * times[numbers[other]]:
                best = other
        upset = max(upset, best)
        numbers.insert(position, numbers.pop(best))
        position += 1
    return tuple(numbers)


def repaired(bits: Mask, order: Order, times: Times, guard: float) -> Order:
    """The order once nothing is violated any more. One correction may leave a violation
    behind all that it has upset."""
    while (at := violated(matrix_view(bits, order), order, times, guard)) is not None:
        order = corrected(bits, order, times, at)
    return order


class _Profiling:
    """A policy that has whole profiles, the last so many."""

    def __init__(
        self, order: Order, window: int = DEFAULT_WINDOW, guard: float = DEFAULT_GUARD
    ) -> None:
        self.order = order
        self._guard = guard
        self.window = ProfileWindow(len(order), window)


class AGreedy(_Profiling):
    def observe(self, drops: Drops, times: Times) -> None:
        self.window.add(profile_of(self.order, drops))
        self.order = repaired(self.window.bits, self.order, times, self._guard)


class Independent(_Profiling):
    """By what each filter drops of all: right if filters have nothing to do with each other."""

    def observe(self, drops: Drops, times: Times) -> None:
        self.window.add(profile_of(self.order, drops))
        dropped = self.window.bits.sum(axis=0)
        own = [(int(dropped[number]), times[number]) for number in self.order]
        if any(a * t < self._guard * b * s for i, (a, s) in enumerate(own) for b, t in own[i:]):
            worth = {n: dropped[n] / max(times[n], 1e-12) for n in self.order}
            self.order = tuple(sorted(self.order, key=lambda number: -worth[number]))
