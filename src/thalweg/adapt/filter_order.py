"""The order in which a chain of filters is evaluated, kept good while it runs.

What passes each filter is counted as rows go by. Some rows are profiled now and then, and at
once when those counts change: each filter tells what it would drop of them, and how long it
took. When the policy then wants another order, both run for a while in turn, and the
better one stays: a decision that does not pay is taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from time import thread_time_ns

import numpy as np

from thalweg.adapt.drops import Drops, Index, Mask, Order, RefiningPolicy, Times
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.lookout import LASTING, Lookout
from thalweg.adapt.order_trial import TOLERABLE, Change, OrderTrial
from thalweg.adapt.outcomes import cost, dropped_at, reaching
from thalweg.adapt.plan_log import PlanLog
from thalweg.adapt.policies import MakePolicy
from thalweg.adapt.sample import Passing, Sample, Timed, survivors, told_apart

# The part of the filters' time that profiling may take, and may when something has changed.
PROFILE_SHARE, EVENT_SHARE = 0.005, 0.05
# If changes come and go, the latter is divided by up to that which makes it the former; by no more
# than so many if a change lasts, and at first by this, as if rows take longer.
LASTING_CALM, QUICK = 1.5, 0.5
# Looks after which a change is lasting where filters look into stores.
LASTING_STORED = 2
# How many times longer than for a profile because of a change it is waited for the next one.
SECOND_LOOK = 4.0
# How many times longer the next profile is waited for after a decision that did not pay.
MORE_PATIENCE = 4.0
# Rows of a profile; fewer, if they would take longer than what it may, and than so many
# nanoseconds.
PROFILE_ROWS, FEWEST_PROFILE_ROWS = 1024, 256
_SHORT_PROFILE = 1_000_000
# Chains that see fewer rows in their life, and take fewer nanoseconds, are not worth a thought.
LEAST_ROWS, LEAST_NANOS = 20_000, 1_000_000
# Rows of a profile that lie side by side.
_NEIGHBOURS = 128
# What is at least so many times as fast was worth a change. Where filters look into stores, less
# than that is not: what one of them finds at hand, others do not. There, only what is to be faster
# by so much is tried.
WORTH_IT, WORTH_TRYING = 1.05, 1.05
# What costs at most so many times as much is as good.
_AS_GOOD = 1.02
# Rows on which filters are timed that take but nanoseconds for a row.
_TIMED_ROWS = 2048
# Filters that fewer rows of a profile reach are shown more of them: so many.
_FEW, _ENOUGH = 64, 256
# Where times are but guessed, so many times the rows of a profile are the most for that.
_MOST_REFINED = 8
_NONE: Mapping[int, float] = {}


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


class FilterOrder:
    """`order` is the one of now, `changes` are those so far, and `total` what the filters had
    and took. Without a policy the order is fixed.

    The clock is the thread's own: on a busy machine others would seem to be the filters' cost.
    Where one filter implies others, `as_run` has these before it, and many orders are one.
    `are_stored`: the filters look into stores, so what they take depends on how large these are,
    and on what is at hand; it is known of those only that most rows meet.
    """

    def __init__(
        self,
        order: Order,
        make: MakePolicy = AGreedy,
        clock: Callable[[], int] = thread_time_ns,
        as_run: Callable[[Order], Order] = lambda order: order,
        are_stored: bool = False,
    ) -> None:
        self.order = order
        self.changes: list[Change] = []
        self.total = Spent()
        self.profiled = Spent()
        self.profiles = 0
        self._last_profiles: deque[int] = deque(maxlen=3)
        self._profiled_at = 0
        self._policy = None if make is None or len(order) < 2 else make(order)
        self._clock, self._as_run, self._are_stored = clock, as_run, are_stored
        self._trial: OrderTrial | None = None
        self._timed = [Timed() for _ in order]
        # By filter: what a row took where most rows met it, and so all that it needs was at hand.
        # The same of the last stretch alone.
        self._in_place: dict[int, float] = {}
        self._last_in_place = _NONE
        self._log = PlanLog()
        # The same of the last profile's rows, by order.
        self._sampled: dict[Order, list[int]] = {}
        # After a decision that did not pay, the next one waits longer; and so does the next
        # profile because of a change that makes nothing slower, until one of them has paid.
        self._patience = self._calm = 1.0
        self._random = np.random.default_rng(len(order))
        self._lookout = self._new_lookout()
        # The nanoseconds of all rows at which a profile is due even if nothing has changed.
        self._due = 0.0
        self._logged = 0

    def next(self) -> Order:
        """The order for the next stretch."""
        return self.order if self._trial is None else self._trial.turn

    @property
    def log(self) -> PlanLog:
        """What was seen, and the orders for it."""
        self._log.ran(self.total.rows - self._logged)
        self._logged = self.total.rows
        return self._log

    @property
    def is_unsure(self) -> bool:
        """Whether the next rows may be taken in an order that is much worse than another."""
        return self._policy is not None and not self.profiles

    @property
    def is_trying(self) -> bool:
        """Whether two orders are being compared."""
        return self._trial is not None

    def ran(
        self,
        order: Order,
        counts: Sequence[int],
        nanos: int,
        in_place: Mapping[int, float] = _NONE,
    ) -> None:
        """A stretch in an order: its rows, those that each filter let pass, and the time; and
        what a row took of those filters that most rows met."""
        rows = counts[0]
        self.total.rows += rows
        self.total.nanos += nanos
        if self._policy is None:
            return
        self._last_in_place = in_place
        for number, took in in_place.items():
            self._in_place[number] = (self._in_place.get(number, took) + took) / 2
        if self._trial is not None:
            self._trial.add(order, nanos / max(1, rows))
            if self._trial.is_over:
                self._decide(self._trial.outcome())
            return
        self._lookout.see(counts, nanos / max(1, rows))

    def _decide(self, change: Change) -> None:
        self.changes.append(change)
        self._trial = None
        if change.measured >= WORTH_IT:
            self._patience = self._calm = 1.0
        else:
            self._patience *= MORE_PATIENCE
        if change.is_kept:
            self.order = change.after
        elif self._policy is not None:
            self._policy.order = change.before
        self.log.take(self.order)
        self._lookout = self._new_lookout()
        # A trial may have been too early for windows that still change: there is another one soon,
        # and if that does not pay either, not so soon.
        self._due = self._sooner(self._patience / MORE_PATIENCE)

    # Profiling

    @property
    def wants_profile(self) -> bool:
        if self._policy is None or self._trial is not None:
            return False
        if self.total.nanos < self._due and not self._lookout.has_changed:
            return False
        if self.total.rows < LEAST_ROWS and self.total.nanos < LEAST_NANOS:
            return False
        if self.total.nanos >= self._due:
            return True
        # Because of a change, another one must still be within its share of all time, or of the
        # time since the last one.
        another, calm = self._another(), self._calm_now
        since = self.total.nanos - self._profiled_at
        is_affordable = (self.profiled.nanos + another) * calm <= EVENT_SHARE * self.total.nanos
        return is_affordable or another * calm <= EVENT_SHARE * since

    @property
    def _calm_now(self) -> float:
        """What the share of profiles because of a change is divided by."""
        if self._lookout.is_slower:
            return QUICK
        if self._lookout.is_lasting:
            return min(QUICK * self._calm, LASTING_CALM)
        # What is in windows changes little by little: wait until it has.
        return inf if self._are_stored else self._calm

    def _new_lookout(self) -> Lookout:
        lasting = LASTING_STORED if self._are_stored else LASTING
        return Lookout(self._sampled.get(self.order), lasting)

    def _another(self) -> int:
        """What a profile will take. One that was disturbed is not to be the last for long."""
        return min(self._last_profiles, default=0)

    def _sooner(self, calm: float) -> float:
        """When a profile is due, if it may take its share of the time from now on divided by
        so many. Nothing but what is stored goes on to change for a while."""
        soon = self.total.nanos + calm * self._another() / EVENT_SHARE
        return min(self._when_due(), soon) if self._are_stored else self._when_due()

    def _when_due(self) -> float:
        return (self.profiled.nanos + self._another()) * self._patience / PROFILE_SHARE

    def profile(self, rows: Index, passing: Passing, prepared: int = 0) -> None:
        """Learn from some of the rows of a stretch; nothing comes of it but knowledge. To prepare
        it took so many nanoseconds."""
        assert self._policy is not None, "a fixed order asks for no profile"
        began = self._clock()
        if self._lookout.has_changed:
            self._policy.forget()
            for timed in self._timed:
                timed.forget(is_dear_only=not self._are_stored)
            self._in_place = dict(self._last_in_place)
        self._observe(rows, passing)
        has_changed = self._lookout.has_changed
        if has_changed and not self._lookout.is_slower:
            self._calm = min(2 * self._calm, EVENT_SHARE / PROFILE_SHARE)
        self._lookout = self._new_lookout()
        took = prepared + self._clock() - began
        self._last_profiles.append(took)
        self._profiled_at = self.total.nanos
        self.profiled.add(len(rows), took)
        self.profiles += 1
        # The change may not have been over: there is another look at what came of it.
        self._due = self._sooner(SECOND_LOOK) if has_changed else self._when_due()

    def _observe(self, rows: Index, passing: Passing) -> None:
        assert self._policy is not None
        sample = Sample(self._some(rows), passing)
        to_time = [None if n in self._in_place else t for n, t in enumerate(self._timed)]
        again = None if self._are_stored else rows[:_TIMED_ROWS]
        passes = sample.timed_passes(to_time, self._clock, again)
        known = [self._in_place.get(n, timed.row) for n, timed in enumerate(self._timed)]
        times = told_apart(known)
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
        recalled = self._recalled(passes, times, better)
        if recalled is not None:
            better = self._policy.order = recalled
        passed = int(np.count_nonzero(at == len(self.order)))
        self._sampled = {
            o: [*reaching(passes, self._as_run(o)), passed] for o in (self.order, better)
        }
        expected = cost(passes, self.order, times) / max(cost(passes, better, times), 1e-9)
        if self._are_stored and expected < WORTH_TRYING:
            self._policy.order = self.order
        elif self._as_run(better) != self._as_run(self.order):
            least = WORTH_IT if self._are_stored else TOLERABLE
            self._trial = OrderTrial(self.order, better, expected, recalled is not None, least)
            last = self._lookout.last
            # Short stretches take longer for a row, unless each row takes long.
            is_alike = self.profiles > 0 or self.total.rows < LEAST_ROWS
            if last is not None and is_alike and not self._are_stored:
                self._trial.old.append(last)

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
        if self._are_stored and among > _MOST_REFINED * len(passes):
            return
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
