"""What a policy for the order of filters sees: tuples that were sampled, and dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Index = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Filters by their numbers, the first to be evaluated first.
Order = tuple[int, ...]
DEFAULT_WINDOW = 1000
DEFAULT_GUARD = 0.9


class Times(Protocol):
    """The time that each filter takes for a tuple, in any unit."""

    def __getitem__(self, number: int, /) -> float: ...


@dataclass(frozen=True)
class Drops:
    """Sampled tuples that were dropped, in the order in which they came.

    `at` are the positions of the filters that dropped them, in the order of then.
    `dropped_by` tells of some of them whether another filter would have dropped them,
    too; to ask is what profiling costs. `bits` are all such answers, if they are known anyhow.
    """

    at: Index
    dropped_by: Callable[[int, Index], Mask]
    bits: Mask | None = None

    def __len__(self) -> int:
        return len(self.at)


class Policy(Protocol):
    """Keeps an order. It may be another one after each observation."""

    order: Order

    def observe(self, drops: Drops, times: Times) -> None: ...

    def forget(self) -> None:
        """What was observed holds no more; the order stays until the next observation."""


@runtime_checkable
class RefiningPolicy(Policy, Protocol):
    """One that wants to know more of the filters that few tuples reach."""

    def observe_rest(self, first: int, bits: Mask, times: Times) -> None:
        """By tuple and filter what those from a position on, in the order of now, drop of
        tuples that the filters before it let pass."""


def profile_of(order: Order, drops: Drops) -> Mask:
    """By tuple and filter: whether that filter drops it, or would have. The filters before
    the one that did let it pass."""
    if drops.bits is not None:
        return drops.bits
    bits = np.zeros((len(drops), len(order)), np.bool_)
    for position, number in enumerate(order):
        bits[drops.at == position, number] = True
        behind = np.flatnonzero(drops.at < position)
        if len(behind):
            bits[behind, number] = drops.dropped_by(number, behind)
    return bits


class ProfileWindow:
    """The last so many profiles. Those of one filter lie side by side."""

    def __init__(self, filters: int, size: int) -> None:
        self._size = size
        self._by_filter = np.zeros((filters, 0), np.bool_)

    @property
    def bits(self) -> Mask:
        return self._by_filter.T

    def add(self, bits: Mask) -> None:
        self._by_filter = np.concatenate([self._by_filter, bits.T], axis=1)[:, -self._size :]

    def clear(self) -> None:
        self._by_filter = self._by_filter[:, :0]
