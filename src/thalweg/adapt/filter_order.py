"""The order in which a chain of filters is evaluated, kept good while it runs.

What passes each filter is counted as rows go by. Some rows are profiled now and then, and at
once when those counts change: each filter tells what it would drop of them, and how long it
took. When the policy then wants another order, both run for a while in turn, and the
better one stays: a decision that does not pay is taken back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy as np

from thalweg.adapt.drops import Drops, Index, Mask, Order
from thalweg.adapt.greedy import AGreedy
from thalweg.adapt.policies import MakePolicy

# The part of the filters' time that profiling may take, and may when something has changed.
PROFILE_SHARE, EVENT_SHARE = 0.01, 0.05
PROFILE_ROWS = 2048
# Chains that see fewer rows in their life are not worth a thought.
LEAST_ROWS = 20_000
# Stretches that each of two orders has before they are compared.
TRIAL_STRETCHES = 4
# A new order stays if it is not dearer than the old one by more than noise.
TOLERANCE = 1.02
# Another part of all rows that passes some filter is a change.
_CHANGE = 0.03
# Rows of a profile that lie side by side.
_NEIGHBOURS = 128
# What takes longer, in nanoseconds, is timed well enough at once.
_WORTH_REPEATING = 1_000_000

# The rows that pass a filter, of those given; both in order. The latter are written over.
Passing = Callable[[int, Index], Index]


@dataclass(frozen=True, slots=True)
class Change:
    """An order instead of another one: how many times faster it was to be, and was. If it was
    not, it was taken back."""

    before: Order
    after: Order
    expected: float
    measured: float
    is_kept: bool


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


@dataclass
class _Trial:
    before: Order
    after: Order
    expected: float
    stretches: int = 0
    spent: dict[Order, Spent] = field(default_factory=dict)

    @property
    def turn(self) -> Order:
        """Old, new, new, old: a machine that becomes slower meets both."""
        return self.after if self.stretches % 4 in (1, 2) else self.before


@dataclass
class _Timed:
    """How long a filter takes for a call, and for a row: the least of the last few times, for
    whatever disturbs it makes it longer."""

    call: float = float("inf")
    _rows: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    def add(self, rows: int, nanos: int) -> None:
        self._rows.append(max(nanos - self.call, 0.1 * rows) / rows)

    @property
    def row(self) -> float:
        return min(self._rows, default=1.0)


class FilterOrder:
    """`order` is the one of now, `changes` are those so far, and `total` what the filters had
    and took. Without a policy the order is fixed."""

    def __init__(
        self,
        order: Order,
        make: MakePolicy = AGreedy,
        clock: Callable[[], int] = perf_counter_ns,
    ) -> None:
        self.order = order
        self.changes: list[Change] = []
        self.total = Spent()
        self.profiled = Spent()
        self.profiles = 0
        self._last_profile = 0
        self._policy = None if make is None or len(order) < 2 else make(order)
        self._clock = clock
        self._trial: _Trial | None = None
        self._timed = [_Timed() for _ in order]
        # After a decision that did not pay, the next one waits longer.
        self._patience = 1.0
        self._random = np.random.default_rng(len(order))
        # The part of all rows that passes each position: lately, and when it was last looked at.
        self._lately: list[float] | None = None
        self._known: list[float] | None = None

    def next(self) -> Order:
        """The order for the next stretch."""
        return self.order if self._trial is None else self._trial.turn

    @property
    def is_unsure(self) -> bool:
        """Whether the next rows may be taken in an order that is much worse than another."""
        return self._trial is not None or (self._policy is not None and not self.profiles)

    def ran(self, order: Order, counts: Sequence[int], nanos: int) -> None:
        """A stretch in an order: its rows, those that each filter let pass, and the time."""
        self.total.add(counts[0], nanos)
        if self._trial is None:
            parts = [count / counts[0] for count in counts[1:]]
            lately = self._lately or parts
            self._lately = [(a + b) / 2 for a, b in zip(lately, parts, strict=True)]
            self._known = self._known or parts
            return
        self._trial.spent.setdefault(order, Spent()).add(counts[0], nanos)
        self._trial.stretches += 1
        if self._trial.stretches == 2 * TRIAL_STRETCHES:
            self._decide(self._trial)

    def _decide(self, trial: _Trial) -> None:
        gain = trial.spent[trial.before].per_row / max(trial.spent[trial.after].per_row, 1e-9)
        is_kept = gain * TOLERANCE >= 1
        self.changes.append(Change(trial.before, trial.after, trial.expected, gain, is_kept))
        self._trial = self._lately = self._known = None
        self._patience = 1.0 if is_kept else 4 * self._patience
        if is_kept:
            self.order = trial.after
        elif self._policy is not None:
            self._policy.order = trial.before

    # Profiling

    @property
    def wants_profile(self) -> bool:
        if self._policy is None or self._trial is not None or self.total.rows < LEAST_ROWS:
            return False
        # Another one like the last must still be within its share.
        needed = self.profiled.nanos + self._last_profile
        if needed * self._patience <= PROFILE_SHARE * self.total.nanos:
            return True
        return self._has_changed() and needed <= EVENT_SHARE * self.total.nanos

    def _has_changed(self) -> bool:
        if self._lately is None or self._known is None:
            return False
        both = zip(self._lately, self._known, strict=True)
        return any(abs(now - then) > _CHANGE for now, then in both)

    def profile(self, rows: Index, passing: Passing) -> None:
        """Learn from some of the rows of a stretch; nothing comes of it but knowledge."""
        assert self._policy is not None, "a fixed order asks for no profile"
        began = self._clock()
        sample = _Sample(self._some(rows), passing, self._timed, self._clock)
        at = sample.dropped_at(self.order)
        dropped = np.flatnonzero(at < len(self.order))
        if len(dropped):
            drops = Drops(at[dropped], lambda number, which: sample.drops(number, dropped[which]))
            self._policy.observe(drops, _Times(self._timed))
            if self._policy.order != self.order:
                expected = sample.cost(self.order) / max(sample.cost(self._policy.order), 1e-9)
                self._trial = _Trial(self.order, self._policy.order, expected)
        self._known = self._lately
        self._last_profile = self._clock() - began
        self.profiled.add(len(rows), self._last_profile)
        self.profiles += 1

    def _some(self, rows: Index) -> Index:
        """Rows from all over a stretch, but neighbours: what is fetched with one serves all."""
        if len(rows) <= PROFILE_ROWS:
            return rows
        apart = len(rows) * _NEIGHBOURS // PROFILE_ROWS
        starts = np.arange(0, len(rows) - apart + 1, apart)
        starts += self._random.integers(apart - _NEIGHBOURS + 1, size=len(starts))
        some: Index = rows[(starts[:, None] + np.arange(_NEIGHBOURS)).ravel()]
        return some


class _Sample:
    """Some rows, and what filters make of them. A filter is asked once, of all rows: so the
    times of filters are those of the same rows."""

    def __init__(
        self, rows: Index, passing: Passing, timed: list[_Timed], clock: Callable[[], int]
    ) -> None:
        self._rows, self._passing, self._timed, self._clock = rows, passing, timed, clock
        self._known: dict[int, Mask] = {}

    def drops(self, number: int, which: Index) -> Mask:
        dropped: Mask = ~self._passes(number)[which]
        return dropped

    def dropped_at(self, order: Order) -> Index:
        """The position of the filter that drops each row, behind the last if none does."""
        at = np.full(len(self._rows), len(order))
        for position in reversed(range(len(order))):
            at[~self._passes(order[position])] = position
        return at

    def cost(self, order: Order) -> float:
        """The time that an order would take for the rows."""
        spent, left = 0.0, np.ones(len(self._rows), np.bool_)
        for number in order:
            spent += int(left.sum()) * self._timed[number].row
            left &= self._passes(number)
        return spent

    def _passes(self, number: int) -> Mask:
        known = self._known.get(number)
        if known is not None:
            return known
        timed, one = self._timed[number], self._rows[:1]
        for _ in range(2):
            timed.call = min(timed.call, self._run(number, one)[1])
        passed, spent = self._run(number, self._rows)
        if spent < _WORTH_REPEATING:
            spent = min(spent, *(self._run(number, self._rows)[1] for _ in range(2)))
        timed.add(len(self._rows), spent)
        first = int(self._rows[0])
        found = np.zeros(int(self._rows[-1]) - first + 1, np.bool_)
        found[passed - first] = True
        self._known[number] = found[self._rows - first]
        return self._known[number]

    def _run(self, number: int, rows: Index) -> tuple[Index, int]:
        given = rows.copy()
        began = self._clock()
        passed = self._passing(number, given)
        return passed, self._clock() - began


class _Times:
    """The time of each filter for a row, as far as it is known by now."""

    def __init__(self, timed: list[_Timed]) -> None:
        self._timed = timed

    def __getitem__(self, number: int) -> float:
        return self._timed[number].row
