"""The order in which a chain of filters is evaluated, kept good while it runs.

What passes each filter is counted as rows go by. Some rows are profiled now and then, and at
once when those counts change: each filter tells what it would drop of them, and how long it
took. When the policy then wants another order, both run for a while in turn, and the
better one stays: a decision that does not pay is taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from time import thread_time_ns

import numpy as np

from thalweg.adapt.drops import Drops, Index, Mask, Order, RefiningPolicy, Times
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.order_trial import Change, OrderTrial
from thalweg.adapt.outcomes import cost, dropped_at, reaching
from thalweg.adapt.plan_log import PlanLog
from thalweg.adapt.policies import MakePolicy
from thalweg.adapt.sample import Passing, Sample, Timed, survivors, told_apart

# The part of the filters' time that profiling may take, and may when something has changed.
PROFILE_SHARE, EVENT_SHARE = 0.01, 0.05
# Rows of a profile; fewer, if they would take longer than what it may, and than so many
# nanoseconds.
PROFILE_ROWS, FEWEST_PROFILE_ROWS = 1024, 256
_SHORT_PROFILE = 1_000_000
# Chains that see fewer rows in their life, and take fewer nanoseconds, are not worth a thought.
LEAST_ROWS, LEAST_NANOS = 20_000, 1_000_000
# Another part of the rows that reach a filter, and pass it, is a change, if so many rows are
# looked at. Of few that reach it, chance makes the part another one: by half of this divided by
# the root of their number, on average.
_CHANGE, _LOOK_ROWS, _CHANCE = 0.03, 8192, 2.0
_FEWEST_TO_LOOK_AT = 256
# Rows of a profile that lie side by side.
_NEIGHBOURS = 128
# What costs at most so many times as much is as good.
_AS_GOOD = 1.02
# Rows on which filters are timed that take but nanoseconds for a row.
_TIMED_ROWS = 2048
# Filters that fewer rows of a profile reach are shown more of them: so many.
_FEW, _ENOUGH = 64, 256


@dataclass
class Spent:
    rows: int = 0
    nanos: int = 0

    def add(self, rows: int, nanos: int) -> None:
        self.rows += rows
        self.nanos += nanos

    @property
    def per_row(self) -> float:
        return self.nanos / max(1, self.rows)


def _differ(then: Sequence[int], now: Sequence[int]) -> bool:
    """Whether some filter lets another part of the rows pass that reach it, by the rows that
    reach each position and leave the last one."""
    for position in range(len(now) - 1):
        reached, before = now[position], then[position]
        if reached < _FEWEST_TO_LOOK_AT or not before:
            return False
        change = abs(now[position + 1] / reached - then[position + 1] / before)
        if change > _CHANGE and change > _CHANGE + _CHANCE * sqrt(1 / reached + 1 / before):
            return True
    return False


class FilterOrder:
    """`order` is the one of now, `changes` are those so far, and `total` what the filters had
    and took. `log` has what was seen, and the orders for it. Without a policy the order is fixed.

    The clock is the thread's own: on a busy machine others would seem to be the filters' cost.
    """

    def __init__(
        self,
        order: Order,
        make: MakePolicy = AGreedy,
        clock: Callable[[], int] = thread_time_ns,
    ) -> None:
        self.order = order
        self.changes: list[Change] = []
        self.total = Spent()
        self.profiled = Spent()
        self.profiles = 0
        self._last_profiles: deque[int] = deque(maxlen=3)
        self._profiled_at = 0
        self._policy = None if make is None or len(order) < 2 else make(order)
        self._clock = clock
        self._trial: OrderTrial | None = None
        self._timed = [Timed() for _ in order]
        self.log = PlanLog()
        # The same of the last profile's rows, by order.
        self._sampled: dict[Order, list[int]] = {}
        # After a decision that did not pay, the next one waits longer; and so does the next
        # profile because of a change, after one that led to nothing.
        self._patience = self._calm = 1.0
        self._random = np.random.default_rng(len(order))
        self._last = 0.0
        self._begin_look()

    def _begin_look(self) -> None:
        # Rows that reach each position and that leave the last one, as long as they are few; and
        # those of when all filters were last asked.
        self._seen: Sequence[int] | None = None
        self._known: Sequence[int] | None = None
        self._has_changed = False

    def next(self) -> Order:
        """The order for the next stretch."""
        return self.order if self._trial is None else self._trial.turn

    @property
    def is_unsure(self) -> bool:
        """Whether the next rows may be taken in an order that is much worse than another."""
        return self._policy is not None and not self.profiles

    @property
    def is_trying(self) -> bool:
        """Whether two orders are being compared."""
        return self._trial is not None

    def ran(self, order: Order, counts: Sequence[int], nanos: int) -> None:
        """A stretch in an order: its rows, those that each filter let pass, and the time."""
        self.total.add(counts[0], nanos)
        if self._policy is None:
            return
        self.log.ran(counts[0])
        if self._trial is not None:
            self._trial.add(order, nanos / max(1, counts[0]))
            if self._trial.is_over:
                self._decide(self._trial.outcome())
            return
        self._last = nanos / max(1, counts[0])
        if self._seen is not None:
            counts = [a + b for a, b in zip(self._seen, counts, strict=True)]
        self._seen = None if counts[0] >= _LOOK_ROWS else counts
        if self._seen is None:
            self._look(counts)

    def _look(self, seen: Sequence[int]) -> None:
        # At first by what the last profile has shown: a change may have come with a trial.
        known = self._known or self._sampled.get(self.order)
        self._has_changed = known is not None and _differ(known, seen)
        if self._known is None and not self._has_changed:
            self._known = seen

    def _decide(self, change: Change) -> None:
        self.changes.append(change)
        self._trial = None
        self._patience = 1.0 if change.is_kept else 4 * self._patience
        if change.is_kept:
            self.order = change.after
        elif self._policy is not None:
            self._policy.order = change.before
        self.log.take(self.order)
        self._begin_look()

    # Profiling

    @property
    def wants_profile(self) -> bool:
        if self._policy is None or self._trial is not None:
            return False
        if self.total.rows < LEAST_ROWS and self.total.nanos < LEAST_NANOS:
            return False
        # Another one must still be within its share: of all time, or if something has changed,
        # of the time since the last one. One that was disturbed is not to be the last for long.
        another = min(self._last_profiles, default=0)
        needed = self.profiled.nanos + another
        if needed * self._patience <= PROFILE_SHARE * self.total.nanos:
            return True
        if not self._has_changed:
            return False
        since = self.total.nanos - self._profiled_at
        is_affordable = needed * self._calm <= EVENT_SHARE * self.total.nanos
        return is_affordable or another * self._calm <= EVENT_SHARE * since

    def profile(self, rows: Index, passing: Passing) -> None:
        """Learn from some of the rows of a stretch; nothing comes of it but knowledge."""
        assert self._policy is not None, "a fixed order asks for no profile"
        began = self._clock()
        if self._has_changed:
            self._policy.forget()
            for timed in self._timed:
                timed.forget()
        self._observe(rows, passing)
        if self._has_changed:
            is_new = self._trial is not None
            self._calm = 1.0 if is_new else min(2 * self._calm, EVENT_SHARE / PROFILE_SHARE)
        self._begin_look()
        took = self._clock() - began
        self._last_profiles.append(took)
        self._profiled_at = self.total.nanos
        self.profiled.add(len(rows), took)
        self.profiles += 1

    def _observe(self, rows: Index, passing: Passing) -> None:
        assert self._policy is not None
        sample = Sample(self._some(rows), passing)
        passes = sample.timed_passes(self._timed, self._clock, rows[:_TIMED_ROWS])
        times = told_apart(self._timed)
        at = dropped_at(passes, self.order)
        dropped = np.flatnonzero(at < len(self.order))
        if not len(dropped):
            return
        bits = ~passes.T[:, dropped].T
        self._policy.observe(
            Drops(at[dropped], lambda number, which: bits[which, number], bits), times
        )
        if isinstance(self._policy, RefiningPolicy):
            self._refine(self._policy, passes, times, rows, passing)
        better = self._policy.order
        known = self._recalled(passes, times, better)
        if known is not None:
            better = self._policy.order = known
        passed = int(np.count_nonzero(at == len(self.order)))
        self._sampled = {o: [*reaching(passes, o), passed] for o in (self.order, better)}
        if better != self.order:
            expected = cost(passes, self.order, times) / max(cost(passes, better, times), 1e-9)
            self._trial = OrderTrial(self.order, better, expected, known is not None)
            if self.profiles or self.total.rows < LEAST_ROWS:
                # Short stretches take longer for a row, unless each row takes long.
                self._trial.old.append(self._last)

    def _recalled(self, passes: Mask, times: list[float], better: Order) -> Order | None:
        """The order that was found for such rows before, if it still is as good as another."""
        rates = tuple(np.count_nonzero(column) / len(passes) for column in passes.T)

        def cost_of_row(order: Order) -> float:
            return cost(passes, order, times) / len(passes)

        entry = self.log.meet(rates, self.order, cost_of_row)
        if entry is None or entry.plan == self.order:
            return None
        is_as_good = cost_of_row(entry.plan) <= _AS_GOOD * cost_of_row(better)
        return entry.plan if is_as_good else None

    def _refine(
        self, policy: RefiningPolicy, passes: Mask, times: Times, rows: Index, passing: Passing
    ) -> None:
        """Show the last filters rows that reach them, where too few of the sample do."""
        order, reached = policy.order, reaching(passes, policy.order)
        first = next((at for at, rows in enumerate(reached) if rows < _FEW), len(order))
        if not 0 < first < len(order) - 1:
            return
        # What it takes to find a row that reaches them, and to ask them about it.
        found = cost(passes, order[:first], times) / max(1, reached[first])
        asked = sum(times[number] for number in order[first:])
        wanted = int(min(_ENOUGH, self._may_take() / max(1e-9, found + asked)))
        if wanted < _FEW or not reached[first]:
            return
        among = wanted * len(passes) // reached[first]
        some = survivors(order[:first], rows[:among].copy(), passing)
        if len(some) >= _FEW:
            bits = ~Sample(some[:wanted], passing).passes(order[first:])
            policy.observe_rest(first, bits, times)

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
        return max(PROFILE_SHARE * self.total.nanos, _SHORT_PROFILE)
