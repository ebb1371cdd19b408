"""The order of the look-ups of a join's pipeline.

"There is something along the path to R" is a filter on rows. What a look-up takes is known from
those that many rows met: it depends on how large a store is, and on what of it is at hand. And
what is stored changes little by little, so there is another look after every change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import ClassVar

from thalweg.adapt.adaptive_order import AdaptiveOrder
from thalweg.adapt.drops import Order
from thalweg.adapt.evidence import Evidence
from thalweg.adapt.lookout import Lookout
from thalweg.adapt.policies import MakePolicy

# Combinations of which a look-up must have had so many to know what it takes for one.
TIMED_ROWS = 2048
# (m) Nanoseconds of a look-up for a combination, as long as nothing is known of any.
_TYPICAL = 15.0
# How often what a look-up takes is remembered; the middle one counts.
_REMEMBERED = 5
# What a look-up takes that few combinations meet is so much of what it takes when it is tried on
# some: most of what it needs may be at hand where many meet it. If it is not, a trial tells.
_OPTIMISM = 0.6
# What is expected to be saved is at most so much of what rows take now.
_MOST_SAVED = 0.9


class LookupTimes:
    """By member the nanoseconds that it takes to look up its partners for a combination."""

    def __init__(self, members: Iterable[int]) -> None:
        self._known: dict[int, deque[float]] = {
            member: deque(maxlen=_REMEMBERED) for member in members
        }
        self._fresh: set[int] = set()

    def add(self, member: int, combinations: int, nanos: int) -> None:
        if combinations >= TIMED_ROWS:
            self._known[member].append(nanos / combinations)
            self._fresh.add(member)

    def forget(self) -> None:
        """What was known of those that few combinations meet now may be so no more."""
        for member, known in self._known.items():
            if member not in self._fresh:
                known.clear()
        self._fresh.clear()

    def of(self, member: int, tried: float | None) -> float:
        """What it takes where many combinations meet it; else by what it took when it was tried,
        or by what others take."""
        if self._known[member]:
            return _middle(self._known[member])
        if tried is not None:
            return _OPTIMISM * tried
        others = [_middle(known) for known in self._known.values() if known]
        return _middle(others) if others else _TYPICAL

    @property
    def are_known(self) -> bool:
        return all(self._known.values())


def _middle(values: Iterable[float]) -> float:
    some = sorted(values)
    return some[len(some) // 2]


class LookupOrder(AdaptiveOrder):
    profile_share: ClassVar[float] = 0.003
    lasting: ClassVar[int] = 2
    settles_slowly: ClassVar[bool] = True
    # What one look-up finds at hand, others do not: a little faster may be slower.
    worth_trying: ClassVar[float] = 1.05
    least_gain: ClassVar[float] = 1.05

    def __init__(
        self,
        order: Order,
        make: MakePolicy,
        as_run: Callable[[Order], Order] = lambda order: order,
    ) -> None:
        super().__init__(order, make, perf_counter_ns, as_run)

    def profile(self, ask: Callable[[], Evidence], prepared: int = 0) -> None:
        """Learn from some rows of a stretch."""
        self._profile(ask, prepared)

    def _new_lookout(self) -> Lookout:
        # Combinations are counted as they go by, and a profile counts rows.
        return Lookout(None, self.lasting)

    @property
    def per_row(self) -> float:
        """The nanoseconds that a row took lately."""
        last = self._lookout.last
        return self.total.per_row if last is None else last

    def _expected(self, evidence: Evidence, better: Order) -> float:
        """By what look-ups save of all that rows take: much of it is the same in every order."""
        saved = evidence.cost_of_row(self.order) - evidence.cost_of_row(better)
        now = max(self.per_row, 1e-9)
        return now / (now - min(saved, _MOST_SAVED * now))
