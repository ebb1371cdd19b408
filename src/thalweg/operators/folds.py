"""How measures follow from the events of their groups, in the order of time.

A fold keeps what it must know of every group, takes the events that are due, and
says what its measure was before the first event of each group and is after each
entry of its course. What it keeps is arrays that are changed in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.kernels.exact import add_doubles, digit_range
from thalweg.kernels.growing import grown
from thalweg.kernels.timeline import Course, Events, add_numbers
from thalweg.operators.measures import Totals


@dataclass(frozen=True, slots=True)
class Around:
    """A measure before the first entry of each group, and after each entry."""

    before: Any
    after: Any


class TotalsFold:
    """Sums of whole numbers."""

    def __init__(self, columns: list[int]) -> None:
        self._columns = np.array(columns, np.int64)
        self.totals = np.zeros((0, len(columns)), np.int64)

    def make_room(self, groups: int) -> None:
        if groups > len(self.totals):
            self.totals = grown(self.totals, groups)

    def fold(self, events: Events, weights: Totals, course: Course) -> Around:
        before = self.totals.take(course.slot[course.first], axis=0)
        after = np.empty((len(course), len(self._columns)), np.int64)
        add_numbers(events, weights, self._columns, course.entry, self.totals, after)
        return Around(before, after)


@dataclass(frozen=True, slots=True)
class ExactSums:
    """Exact sums: digits from the place `base` on, and how many infinities and NaNs."""

    words: Totals
    odd: Totals
    base: int


class ExactFold:
    """Exact sums of DOUBLEs, or of their squares."""

    def __init__(self, columns: list[int], meant: tuple[int, ...]) -> None:
        self._columns = np.array(columns, np.int64)
        self._meant = np.array(meant, np.int64)
        self._words = np.zeros((0, 0), np.int64)
        self._odd = np.zeros((0, 3), np.int64)
        self._base = 0

    def make_room(self, groups: int) -> None:
        if groups > len(self._words):
            self._words = grown(self._words, groups)
            self._odd = grown(self._odd, groups)

    def fold(self, events: Events, weights: Totals, course: Course) -> Around:
        self._make_digits(*digit_range(events, self._columns, self._meant))
        slots = course.slot[course.first]
        before = ExactSums(
            self._words.take(slots, axis=0), self._odd.take(slots, axis=0), self._base
        )
        words = np.empty((len(course), self._words.shape[1]), np.int64)
        odd = np.empty((len(course), 3), np.int64)
        add_doubles(
            events,
            weights,
            self._columns,
            self._meant,
            course.entry,
            self._words,
            self._odd,
            self._base,
            words,
            odd,
        )
        return Around(before, ExactSums(words, odd, self._base))

    def _make_digits(self, low: int, high: int) -> None:
        """Have words for the digits of numbers that are still smaller, or larger."""
        width = self._words.shape[1]
        first, end = (self._base, self._base + width) if width else (low, low)
        if high < low or (first <= low and high < end):
            return
        base, top = min(first, low), max(end, high + 1)
        words = np.zeros((len(self._words), top - base), np.int64)
        words[:, first - base : end - base] = self._words
        self._words, self._base = words, base
