"""A-Greedy: every filter drops most, for its time, of what those before it let pass.

V[i, j] counts the profiles that the filter at position j drops, among those that no
filter before position i drops. The order is kept such that on the window's profiles
V[i, i] / time ≥ V[i, j] / time for all j behind i; it is then at most four times as dear
as the best one. A guard below 1 leaves alone what is only a little worse, unless the
window's profiles are enough to be sure that it is worse.
"""

from __future__ import annotations

from math import sqrt

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
from thalweg.adapt.outcomes import costs

View = npt.NDArray[np.int64]

# What the guard would leave alone must be cheaper by so many standard errors, and by more than
# the times of filters can be told apart.
STANDARD_ERRORS = 3.0
LEAST_GAIN = 0.01


def matrix_view(bits: Mask, order: Order) -> View:
    """V, counted over profiles."""
    view, left = np.zeros((len(order), len(order)), np.int64), bits.T
    for i, number in enumerate(order):
        # Counted filter by filter: a product of matrices would be shared among threads, which
        # wait for each other.
        view[i, i:] = [np.count_nonzero(left[other]) for other in order[i:]]
        left = left[:, ~left[number]]
    return view


def violated(view: View, order: Order, times: Times, guard: float) -> int | None:
    """The first position at which another filter would do better.

    By products: a time may be zero, and so may a whole row, which violates nothing.
    """
    own = np.array([times[number] for number in order])
    is_better = np.outer(view.diagonal(), own) < guard * view * own[:, None]
    at = np.flatnonzero(np.triu(is_better, 1).any(axis=1))
    return int(at[0]) if len(at) else None


def corrected(bits: Mask, order: Order, times: Times, at: int = 0) -> Order:
    """The order with the best filter at a position, and at all behind it. Of equals the one
    that was first remains so."""
    numbers = list(order)
    left = bits.T[:, ~bits[:, numbers[:at]].any(axis=1)]
    for position in range(at, len(numbers) - 1):
        best, dropped = position, np.count_nonzero(left[numbers[position]])
        for other in range(position + 1, len(numbers)):
            mine, its = numbers[best], numbers[other]
            others = np.count_nonzero(left[its])
            if others * times[mine] > dropped * times[its]:
                best, dropped = other, others
        numbers.insert(position, numbers.pop(best))
        left = left[:, ~left[numbers[position]]]
    return tuple(numbers)


def is_surely_cheaper(bits: Mask, order: Order, than: Order, times: Times) -> bool:
    """Whether that is no chance of the profiles, and worth the change. Tuples that all filters
    let pass cost the same in every order, so those of the window tell the difference."""
    before = costs(~bits, than, times)
    saved = before - costs(~bits, order, times)
    enough = max(
        STANDARD_ERRORS * float(saved.std()) / sqrt(max(1, len(bits))),
        LEAST_GAIN * float(before.mean()),
    )
    return float(saved.mean()) > enough


class _Profiling:
    """A policy that has whole profiles, the last so many."""

    def __init__(
        self, order: Order, window: int = DEFAULT_WINDOW, guard: float = DEFAULT_GUARD
    ) -> None:
        self.order = order
        self._guard = guard
        self.window = ProfileWindow(len(order), window)

    def forget(self) -> None:
        self.window.clear()


class AGreedy(_Profiling):
    def observe(self, drops: Drops, times: Times) -> None:
        self.window.add(profile_of(self.order, drops))
        bits = self.window.bits
        strict = corrected(bits, self.order, times)
        if strict != self.order and (
            violated(matrix_view(bits, self.order), self.order, times, self._guard) is not None
            or is_surely_cheaper(bits, strict, self.order, times)
        ):
            self.order = strict

    def observe_rest(self, first: int, bits: Mask, times: Times) -> None:
        rest = self.order[first:]
        own = [times[number] for number in rest]
        before = tuple(range(len(rest)))
        after = corrected(bits, before, own)
        if after != before and is_surely_cheaper(bits, after, before, own):
            self.order = (*self.order[:first], *(rest[i] for i in after))


class Independent(_Profiling):
    """By what each filter drops of all: right if filters have nothing to do with each other."""

    def observe(self, drops: Drops, times: Times) -> None:
        self.window.add(profile_of(self.order, drops))
        dropped = self.window.bits.sum(axis=0)
        own = [(int(dropped[number]), times[number]) for number in self.order]
        if any(a * t < self._guard * b * s for i, (a, s) in enumerate(own) for b, t in own[i:]):
            worth = {n: dropped[n] / max(times[n], 1e-12) for n in self.order}
            self.order = tuple(sorted(self.order, key=lambda number: -worth[number]))
