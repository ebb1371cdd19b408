"""Some rows that filters are asked about: which would each drop, and how long does it take?

A filter that takes but nanoseconds for a row is timed several times over, for what disturbs
it takes longer than itself; that is done anew only if its time may have changed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg.adapt.drops import Index, Mask, Order

# What takes longer, in nanoseconds, is timed well enough at once: for all rows, or for one.
_LONG, _DEAR = 300_000, 100.0
# In how many turns what is short is timed, and how often in each; and at which profiles, beside
# all that are a multiple of the last one.
_TURNS, _RUNS, _TIMED_AT = 2, 2, (1, 4, 16)
# A single time that is so many times the one that is known says that it has changed.
_OTHER_TIME = 2.0
# Nanoseconds that any row takes.
_LEAST = 0.1
# Times that are at most so many times each other cannot be told apart; nor can short ones, in
# nanoseconds for a row, which are for fetching rows and indexes more than for the filter.
_ALIKE, _SHORT, _SHORT_ALIKE = 1.15, 10.0, 1.5

# The rows that pass a filter, of those given; both in order. The latter are written over.
Passing = Callable[[int, Index], Index]
Clock = Callable[[], int]


@dataclass
class Timed:
    """How long a filter takes for a call, and for a row: the least of the last few times, for
    whatever disturbs it makes it longer."""

    call: float = 0.0
    profiles: int = 0
    _rows: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    @property
    def row(self) -> float:
        return min(self._rows, default=1.0)

    @property
    def is_known(self) -> bool:
        return bool(self._rows)

    def is_due(self, once: float) -> bool:
        """Whether it must be timed again, as it has taken so long this time. The short ones
        are due together: one that runs alone finds all it needs in the processor's cache."""
        is_time = self.profiles in _TIMED_AT or self.profiles % _TIMED_AT[-1] == 0
        return is_time or not self._rows or once > max(_DEAR, _OTHER_TIME * self.row)

    def forget(self) -> None:
        """The rows are others now. What is dear may be so for the sake of their values."""
        if self.row > _DEAR:
            self._rows.clear()

    def per_row(self, rows: int, nanos: float) -> float:
        return max(nanos - self.call, _LEAST * rows) / rows

    def add(self, per_row: float) -> None:
        self._rows.append(per_row)


def told_apart(rows: Sequence[float]) -> list[float]:
    """The time of each filter for a row. Times that noise may have made out of one are one:
    else it would decide on the order."""
    alike: list[list[int]] = []
    for number in sorted(range(len(rows)), key=lambda number: rows[number]):
        row = rows[number]
        if alike and row <= (_ALIKE if row > _SHORT else _SHORT_ALIKE) * rows[alike[-1][0]]:
            alike[-1].append(number)
        else:
            alike.append([number])
    times = [0.0] * len(rows)
    for group in alike:
        mean = sum(rows[number] for number in group) / len(group)
        for number in group:
            times[number] = mean
    return times


def survivors(order: Order, rows: Index, passing: Passing) -> Index:
    """The rows that all of these filters let pass."""
    for number in order:
        if len(rows):
            rows = passing(number, rows)
    return rows


class Sample:
    """Rows, of which each filter is asked for all: so their times are those of the same rows.
    Outcomes are by row and filter; those of one filter lie side by side."""

    def __init__(self, rows: Index, passing: Passing) -> None:
        self._rows, self._passing = rows, passing
        self._first = int(rows[0])
        # Where in the sample a row is.
        self._places = np.zeros(int(rows[-1]) - self._first + 1, np.int64)
        self._places[rows - self._first] = np.arange(len(rows))

    def passes(self, numbers: Order) -> Mask:
        """Whether each row passes each of these filters."""
        by_filter = np.zeros((len(numbers), len(self._rows)), np.bool_)
        for i, number in enumerate(numbers):
            passed = self._passing(number, self._rows.copy())
            by_filter[i, self._places[passed - self._first]] = True
        return by_filter.T

    def timed_passes(self, timed: Sequence[Timed], clock: Clock, side_by_side: Index) -> Mask:
        """Whether each row passes each filter; those whose times are wanted are timed with that,
        or on other rows that lie side by side."""

        def run(number: int, rows: Index) -> tuple[Index, int]:
            given = rows.copy()
            began = clock()
            passed = self._passing(number, given)
            return passed, clock() - began

        by_filter = np.zeros((len(timed), len(self._rows)), np.bool_)
        due: dict[int, Timed] = {}
        for number, times in enumerate(timed):
            passed, spent = run(number, self._rows)
            by_filter[number, self._places[passed - self._first]] = True
            times.profiles += 1
            if spent >= _LONG:
                times.add(times.per_row(len(self._rows), spent))
            elif times.is_due(times.per_row(len(self._rows), spent)):
                due[number] = times
        # In turn: what disturbs one of them for a while disturbs all, and not all the time. Several
        # times in a row: the first one fetches what the filter needs.
        least: dict[int, tuple[float, float]] = dict.fromkeys(due, (_LONG, _LONG))
        for _ in range(_TURNS):
            for number, (of_all, of_one) in least.items():
                took = min(run(number, side_by_side)[1] for _ in range(_RUNS))
                one = run(number, side_by_side[:1])[1]
                least[number] = min(of_all, took), min(of_one, one)
        for number, (of_all, of_one) in least.items():
            due[number].call = of_one
            due[number].add(due[number].per_row(len(side_by_side), of_all))
        return by_filter.T
