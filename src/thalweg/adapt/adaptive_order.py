"""An order that is kept good while it runs.

What passes each filter is counted as rows go by. Some rows are profiled now and then, and at
once when those counts change: each filter tells what it would drop of them, and how long it
took. When the policy then wants another order, both run for a while in turn, and the
better one stays: a decision that does not pay is taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np

from thalweg.adapt.conditions import MOST_FILTERS, Conditions
from thalweg.adapt.drops import Drops, Order
from thalweg.adapt.evidence import Evidence
from thalweg.adapt.lookout import LASTING, Lookout
from thalweg.adapt.order_trial import TOLERABLE, Change, OrderTrial
from thalweg.adapt.outcomes import dropped_at, reaching
from thalweg.adapt.plan_log import PlanLog, Ran
from thalweg.adapt.policies import MakePolicy

# The part of the filters' time that profiling may take when something has changed.
EVENT_SHARE = 0.05
# If changes come and go, the latter is divided by up to that which makes it the former; by no more
# than so many if a change lasts, and at first by this, as if rows take longer.
LASTING_CALM, QUICK = 1.5, 0.5
# How many times longer than for a profile because of a change it is waited for the next one.
SECOND_LOOK = 4.0
# How many times longer the next profile is waited for after a decision that did not pay.
MORE_PATIENCE = 4.0
# Chains that see fewer rows in their life, and take fewer nanoseconds, are not worth a thought.
LEAST_ROWS, LEAST_NANOS = 20_000, 1_000_000
# What is at least so many times as fast was worth a change.
WORTH_IT = 1.05
# What costs at most so many times as much is as good.
_AS_GOOD = 1.02


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


class AdaptiveOrder:
    """`order` is the one of now, `changes` are those so far, and `total` what the filters had
    and took. Without a policy the order is fixed.

    Where one filter implies others, `as_run` has these before it, and many orders are one.
    """

    # The part of the filters' time that profiling may take as long as nothing changes.
    profile_share: ClassVar[float] = 0.005
    # Looks after which a change is lasting, and whether what changed goes on to do so for a
    # while.
    lasting: ClassVar[int] = LASTING
    settles_slowly: ClassVar[bool] = False
    # How many times as fast an order has to be expected to be tried, and found to be kept.
    worth_trying: ClassVar[float] = 0.0
    least_gain: ClassVar[float] = TOLERABLE

    def __init__(
        self,
        order: Order,
        make: MakePolicy,
        clock: Callable[[], int],
        as_run: Callable[[Order], Order] = lambda order: order,
    ) -> None:
        self.order = order
        self.changes: list[Change] = []
        self.total = Spent()
        self.profiled = Spent()
        self.profiles = 0
        self._last_profiles: deque[int] = deque(maxlen=3)
        self._profiled_at = 0
        self._policy = None if make is None or len(order) < 2 else make(order)
        self._clock, self._as_run = clock, as_run
        self._trial: OrderTrial | None = None
        # What was seen, and the orders for it.
        self.log = PlanLog()
        # How many rows of the last profile reach each position, by order.
        self._sampled: dict[Order, list[int]] = {}
        # After a decision that did not pay, the next one waits longer; and so does the next
        # profile because of a change that makes nothing slower, until one of them has paid.
        self._patience = self._calm = 1.0
        self._lookout = self._new_lookout()
        # The nanoseconds of all rows at which a profile is due even if nothing has changed.
        self._due = 0.0
        # How many changes were told of, and the last order that was suggested.
        self._told = 0
        self._suggested: Order | None = None

    def next(self) -> Order:
        """The order for the next stretch."""
        return self.order if self._trial is None else self._trial.turn

    @property
    def is_fixed(self) -> bool:
        """Whether it stays as it is, whatever happens."""
        return self._policy is None

    @property
    def is_unsure(self) -> bool:
        """Whether the next rows may be taken in an order that is much worse than another."""
        return self._policy is not None and not self.profiles

    @property
    def is_trying(self) -> bool:
        """Whether two orders are being compared."""
        return self._trial is not None

    @property
    def has_changed(self) -> bool:
        """Whether rows behave otherwise than when they were last profiled."""
        return self._lookout.has_changed

    def ran(self, order: Order, counts: Sequence[int], nanos: int) -> None:
        """A stretch in an order: its rows, those that each filter let pass, and the time."""
        rows = counts[0]
        self.total.add(rows, nanos)
        if self._policy is None:
            return
        self.log.ran(order, rows)
        if self._trial is not None:
            self._trial.add(order, nanos / max(1, rows))
            if self._trial.is_over:
                self._decide(self._trial.outcome(), self._trial.is_own)
            return
        self._lookout.see(counts, nanos / max(1, rows))

    def _decide(self, change: Change, is_own: bool) -> None:
        self.changes.append(change)
        self._trial = None
        if change.measured >= WORTH_IT:
            self._patience = self._calm = 1.0
        elif is_own:
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

    # What others know

    def news(self) -> tuple[Ran, ...]:
        """What ran under which conditions since this was asked last."""
        return tuple(self.log.news())

    def found(self) -> Order | None:
        """The order of now, if it was tried and kept since this was asked last."""
        fresh = self.changes[self._told :]
        self._told = len(self.changes)
        return self.order if any(change.is_kept for change in fresh) else None

    def suggest(self, order: Order) -> None:
        """An order that was good elsewhere. If nothing is known yet about the one of now, it is
        taken at once; else it is tried for a stretch, and no more often than it is new."""
        if self._policy is None or order == self._suggested:
            return
        self._suggested = order
        if order == self.order:
            return
        if self.is_unsure:
            self.order = self._policy.order = order
        elif self._trial is None:
            self._trial = OrderTrial(self.order, order, 1.0, True, is_own=False)
            self._begin_trial(self._trial)

    # When to profile

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
        return inf if self.settles_slowly else self._calm

    def _new_lookout(self) -> Lookout:
        return Lookout(self._sampled.get(self.order), self.lasting)

    def _another(self) -> int:
        """What a profile will take. One that was disturbed is not to be the last for long."""
        return min(self._last_profiles, default=0)

    def _sooner(self, calm: float) -> float:
        """When a profile is due, if it may take its share of the time from now on divided by
        so many."""
        soon = self.total.nanos + calm * self._another() / EVENT_SHARE
        return min(self._when_due(), soon) if self.settles_slowly else self._when_due()

    def _when_due(self) -> float:
        return (self.profiled.nanos + self._another()) * self._patience / self.profile_share

    # Profiling

    def _profile(self, ask: Callable[[], Evidence], prepared: int = 0) -> None:
        """Learn from some rows; nothing comes of it but knowledge. To prepare it took so many
        nanoseconds."""
        assert self._policy is not None, "a fixed order asks for no profile"
        began, has_changed = self._clock(), self._lookout.has_changed
        if has_changed:
            self._policy.forget()
        evidence = ask()
        self._consider(evidence)
        if has_changed and not self._lookout.is_slower:
            self._calm = min(2 * self._calm, EVENT_SHARE / self.profile_share)
        self._lookout = self._new_lookout()
        took = prepared + self._clock() - began
        self._last_profiles.append(took)
        self._profiled_at = self.total.nanos
        self.profiled.add(len(evidence), took)
        self.profiles += 1
        # The change may not have been over: there is another look at what came of it.
        self._due = self._sooner(SECOND_LOOK) if has_changed else self._when_due()

    def _consider(self, evidence: Evidence) -> None:
        """Whether another order is to be tried."""
        assert self._policy is not None
        passes, times = evidence.passes, evidence.times
        at = dropped_at(passes, self.order)
        dropped = np.flatnonzero(at < len(self.order))
        if not len(dropped):
            return
        bits = ~passes.T[:, dropped].T
        self._policy.observe(
            Drops(at[dropped], lambda number, which: bits[which, number], bits), times
        )
        self._refine(evidence)
        better = self._policy.order
        recalled = self._recalled(evidence, better)
        if recalled is not None:
            better = self._policy.order = recalled
        passed = len(passes) - len(dropped)
        self._sampled = {
            o: [*reaching(passes, self._as_run(o)), passed] for o in (self.order, better)
        }
        if self._as_run(better) == self._as_run(self.order):
            return
        expected = self._expected(evidence, better)
        if expected < self.worth_trying:
            self._policy.order = self.order
            return
        self._trial = OrderTrial(
            self.order, better, expected, recalled is not None, self.least_gain
        )
        self._begin_trial(self._trial)

    def _refine(self, evidence: Evidence) -> None:
        """Find out more about filters that few rows reach, where that pays."""

    def _begin_trial(self, trial: OrderTrial) -> None:
        """Have what is known of the old order."""

    def _expected(self, evidence: Evidence, better: Order) -> float:
        """How many times as fast an order is to be."""
        return evidence.cost(self.order) / max(evidence.cost(better), 1e-9)

    def _recalled(self, evidence: Evidence, better: Order) -> Order | None:
        """The order that was found for such rows before, if it still is as good as another."""
        passes = evidence.passes
        if passes.shape[1] > MOST_FILTERS:
            return None
        rates = tuple(np.count_nonzero(column) / len(passes) for column in passes.T)
        entry = self.log.meet(
            rates, self.order, lambda: Conditions.of(evidence.passes, evidence.times)
        )
        if entry is None or entry.plan == self.order:
            return None
        is_as_good = evidence.cost(entry.plan) <= _AS_GOOD * evidence.cost(better)
        return entry.plan if is_as_good else None
