"""The order of a chain of filters.

Filters are timed on the rows of profiles, by the thread's own clock: on a busy machine others
would seem to be the filters' cost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import thread_time_ns

import numpy as np

from thalweg.adapt.adaptive_order import LEAST_ROWS, AdaptiveOrder
from thalweg.adapt.drops import Index, Mask, Order, RefiningPolicy
from thalweg.adapt.evidence import Evidence
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.order_trial import OrderTrial
from thalweg.adapt.outcomes import cost, reaching
from thalweg.adapt.policies import MakePolicy
from thalweg.adapt.sample import Passing, Sample, Timed, survivors, told_apart

# Rows of a profile; fewer, if they would take longer than what it may, and than so many
# nanoseconds.
PROFILE_ROWS, FEWEST_PROFILE_ROWS = 1024, 256
_SHORT_PROFILE = 1_000_000
# Rows of a profile that lie side by side.
_NEIGHBOURS = 128
# Rows on which filters are timed that take but nanoseconds for a row.
_TIMED_ROWS = 2048
# Filters that fewer rows of a profile reach are shown more of them: so many.
_FEW, _ENOUGH = 64, 256


class FilterOrder(AdaptiveOrder):
    def __init__(
        self,
        order: Order,
        make: MakePolicy = AGreedy,
        clock: Callable[[], int] = thread_time_ns,
    ) -> None:
        super().__init__(order, make, clock)
        self._timed = [Timed() for _ in order]
        self._random = np.random.default_rng(len(order))

    def profile(self, rows: Index, passing: Passing) -> None:
        """Learn from some of the rows of a stretch."""
        self._profile(partial(self._asked, rows, passing))

    def _asked(self, rows: Index, passing: Passing) -> Evidence:
        if self.has_changed:
            for timed in self._timed:
                timed.forget()
        sample = Sample(self._some(rows), passing)
        passes = sample.timed_passes(self._timed, self._clock, rows[:_TIMED_ROWS])
        times = told_apart([timed.row for timed in self._timed])

        def rest(order: Order, first: int, wanted: int) -> Mask:
            """Rows that reach a position are looked for among as many as there should be."""
            reached = reaching(passes, order)[first]
            among = wanted * len(passes) // max(1, reached)
            some = survivors(order[:first], rows[:among].copy(), passing)
            if not len(some):
                return passes[:0]
            return Sample(some[:wanted], passing).passes(order[first:])

        return Evidence(passes, times, lambda order: cost(passes, order, times), rest)

    def _refine(self, evidence: Evidence) -> None:
        """Show the last filters rows that reach them, where too few of the sample do."""
        policy = self._policy
        if not isinstance(policy, RefiningPolicy):
            return
        passes, times, order = evidence.passes, evidence.times, policy.order
        assert evidence.rest is not None, "filters can be asked about more rows"
        reached = reaching(passes, order)
        first = next((at for at, rows in enumerate(reached) if rows < _FEW), len(order))
        if not 0 < first < len(order) - 1 or not reached[first]:
            return
        # What it takes to find a row that reaches them, and to ask them about it.
        found = cost(passes, order[:first], times) / reached[first]
        asked = sum(times[number] for number in order[first:])
        wanted = int(min(_ENOUGH, self._may_take() / max(1e-9, found + asked)))
        if wanted < _FEW:
            return
        some = evidence.rest(order, first, wanted)
        if len(some) >= _FEW:
            policy.observe_rest(first, ~some, times)

    def _begin_trial(self, trial: OrderTrial) -> None:
        # Short stretches take longer for a row, unless each row takes long.
        is_alike = self.profiles > 0 or self.total.rows < LEAST_ROWS
        if self._lookout.last is not None and is_alike:
            trial.old.append(self._lookout.last)

    def _some(self, rows: Index) -> Index:
        """Rows from all over a stretch, but neighbours: what is fetched with one serves all."""
        wanted = self._affordable_rows()
        if len(rows) <= wanted:
            return rows
        apart = len(rows) * _NEIGHBOURS // wanted
        starts = np.arange(0, len(rows) - apart + 1, apart)
        starts += self._random.integers(apart - _NEIGHBOURS + 1, size=len(starts))
        some: Index = rows[(starts[:, None] + np.arange(_NEIGHBOURS)).ravel()]
        return some

    def _affordable_rows(self) -> int:
        """So many that all filters together take no longer for them than a profile may."""
        known = [timed.row for timed in self._timed if timed.is_known]
        a_row = sum(known) if len(known) == len(self._timed) else self.total.per_row
        affordable = self._may_take() / max(a_row, 1e-9)
        return int(min(PROFILE_ROWS, max(FEWEST_PROFILE_ROWS, affordable)))

    def _may_take(self) -> float:
        return max(self.profile_share * self.total.nanos, _SHORT_PROFILE)
