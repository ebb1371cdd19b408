"""Exact sums against fractions, and parts against the rows they stand for."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from thalweg.functions.aggregates import rounded
from thalweg.kernels import parts as kernels
from thalweg.kernels import read_only
from thalweg.kernels.exact import (
    DIGIT_BITS,
    PLAIN,
    SQUARE,
    TO_SQUARE,
    UNIT_BITS,
    add_doubles,
    carried,
    digit_range,
    scaled_doubles,
)
from thalweg.operators.delta import FOREVER
from thalweg.operators.measure_doubles import DoubleSum, SquareSum
from thalweg.operators.measures import Given, Parts
from thalweg.operators.windows import lifetimes
from thalweg.plan.expressions import Column
from thalweg.plan.nodes import SingleRow, SlideWindow
from thalweg.types import DOUBLE
from thalweg.vector.column import Vector

SEEDS = range(40)
X = Column(type=DOUBLE, index=0, name="x")


def some_doubles(rng: random.Random, count: int) -> list[float]:
    """Of all sizes, or of one size; some the opposite of another."""
    spread = rng.choice((0, 3, 60, 2000))
    middle = rng.randrange(-1000, 950)
    numbers: list[float] = []
    for _ in range(count):
        power = min(1020, max(-1074, middle + rng.randrange(-spread, spread + 1)))
        number = rng.uniform(-2, 2) * 2.0**power
        numbers.append(-rng.choice(numbers) if numbers and rng.random() < 0.2 else number)
        if rng.random() < 0.1:
            numbers[-1] = rng.choice((0.0, -0.0, 5e-324, 1.7e308, -1.7e308, 1.0))
    return numbers


def as_events(numbers: list[float], weights: list[int]) -> Any:
    events = np.zeros((len(numbers), 4), np.int64)
    events[:, 2] = weights
    events[:, 3] = np.array(numbers, np.float64).view(np.int64)
    return events


def summed(events: Any, meant: int, interpreted: bool) -> tuple[Any, int]:
    """The digits of the sum of events, and the place of the first."""
    columns, how = np.array([3]), np.array([meant])
    low, high = digit_range(events, columns, how)
    words, odd = np.zeros((1, high - low + 1), np.int64), np.zeros((1, 3), np.int64)
    add = add_doubles.py_func if interpreted else add_doubles  # type: ignore[attr-defined]
    entry = np.zeros(len(events), np.int64)
    weights = np.ascontiguousarray(events[:, 2])
    now, now_odd = np.zeros_like(words), np.zeros_like(odd)
    add(events, weights, columns, how, entry, words, odd, low, now, now_odd)
    assert now.tolist() == words.tolist()
    return words, low


def number_of(words: Any, low: int) -> int:
    return sum(int(d) << (DIGIT_BITS * (low + i)) for i, d in enumerate(words[0]))


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_are_exact_and_rounded_once(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(20):
        numbers = some_doubles(rng, rng.randrange(1, 30))
        weights = [rng.choice((1, 1, 1, -1, 3)) for _ in numbers]
        exact = sum((w * Fraction(x) for x, w in zip(numbers, weights, strict=True)), Fraction(0))
        words, low = summed(as_events(numbers, weights), PLAIN, interpreted=seed % 4 == 0)
        assert Fraction(number_of(words, low), 2**UNIT_BITS) == exact
        signs = carried(words)
        mantissa, exponent = np.empty(1, np.int64), np.empty(1, np.int32)
        scaled_doubles(words, signs, low * DIGIT_BITS - UNIT_BITS, mantissa, exponent)
        with np.errstate(all="ignore"):
            assert np.ldexp(mantissa.astype(np.float64), exponent)[0] == rounded(exact)


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_squares_are_exact(seed: int) -> None:
    rng = random.Random(seed)
    numbers = some_doubles(rng, rng.randrange(1, 30))
    weights = [rng.choice((1, 1, -1)) for _ in numbers]
    exact = sum((w * Fraction(x) ** 2 for x, w in zip(numbers, weights, strict=True)), Fraction(0))
    words, low = summed(as_events(numbers, weights), TO_SQUARE, interpreted=seed % 4 == 0)
    assert Fraction(number_of(words, low), 2 ** (2 * UNIT_BITS)) == exact


def test_what_was_added_can_be_taken_away() -> None:
    """1e300 leaves no trace in a sum of small numbers."""
    events = as_events([0.1, 1e300, 5e-324, 1e300], [1, 1, 1, -1])
    words, low = summed(events, PLAIN, interpreted=False)
    expected = Fraction(0.1) + Fraction(5e-324)
    assert Fraction(number_of(words, low), 2**UNIT_BITS) == expected


@pytest.mark.parametrize("squares", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_of_doubles_are_exact(seed: int, squares: bool) -> None:
    """The columns of a part and what is left over are, together, the sum of its rows."""
    rng = random.Random(seed)
    numbers = some_doubles(rng, 200)
    slots = np.array([rng.randrange(5) for _ in numbers], np.int32)
    parts = Parts(read_only(slots), np.arange(5), np.zeros(5, np.int64))
    given = Given(lambda _: Vector(DOUBLE, np.array(numbers)), len(numbers), lambda *_: None)
    measure = (SquareSum if squares else DoubleSum)((X,))
    power = 2 if squares else 1
    expected = [Fraction(0)] * 5
    for slot, number in zip(slots.tolist(), numbers, strict=True):
        expected[slot] += Fraction(number) ** power
    added = measure.added(given, parts)
    found = [Fraction(0)] * 5
    for column, meant in zip(added.columns, measure.meant, strict=True):
        for part, number in enumerate(column.data.tolist()):
            found[part] += Fraction(number) ** (2 if meant == TO_SQUARE else 1)
    for left in added.left_over:
        meant = measure.meant[left.column]
        for part, number in zip(left.parts.tolist(), left.numbers.tolist(), strict=True):
            found[part] += Fraction(number) ** (2 if meant == TO_SQUARE else 1)
    assert found == expected
    assert SQUARE in measure.meant or not squares


def test_infinities_are_left_over() -> None:
    numbers = np.array([1.0, np.inf, 2.0, np.nan, -np.inf, 1.7e308, 1.7e308])
    left, slots = np.empty(7), np.empty(7, np.int64)
    totals, everything = np.zeros((1, 2)), read_only(np.zeros(0, np.bool_))
    found = kernels.add_exactly(np.zeros(7, np.int32), numbers, everything, totals, slots, left, 0)
    assert np.array_equal(left[:found], [np.inf, np.nan, -np.inf, 1.7e308], equal_nan=True)
    assert Fraction(totals[0, 0]) + Fraction(totals[0, 1]) == 3 + Fraction(1.7e308)


@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_are_groups_of_panes(seed: int, interpreted: bool) -> None:
    """All rows of a part have its key and its stretch of time; in one run a key has one part."""
    rng = random.Random(seed)
    window = SlideWindow(SingleRow(), span=rng.randrange(1, 12), step=rng.randrange(1, 6))
    count = rng.randrange(1, 300)
    times = np.sort(np.array([rng.randrange(-40, 40) for _ in range(count)], np.int64))
    if rng.random() < 0.3:
        times = np.array(rng.sample(times.tolist(), count), np.int64)
    words = np.array(
        [[rng.randrange(9) for _ in times] for _ in range(rng.randrange(3))], np.uint64
    )
    words = words.reshape(-1, count)
    firsts = np.empty(count, np.int64)
    find, assign, enter = (
        k.py_func if interpreted else k  # type: ignore[attr-defined]
        for k in (kernels.find_runs, kernels.assign_parts, kernels.enter_parts)
    )
    firsts = firsts[: find(times, window.span, window.step, firsts)]
    stretches = list(zip(*(some.tolist() for some in lifetimes(window, times)), strict=True))
    starts = [i for i in range(count) if i == 0 or stretches[i] != stretches[i - 1]]
    assert firsts.tolist() == starts
    table, at = np.full(4, -1, np.int32), np.zeros(4, np.int64)
    rows, sizes, slots = (np.empty(count, kind) for kind in (np.int64, np.int64, np.int32))
    ends = np.r_[firsts[1:], count]
    with np.errstate(over="ignore"):
        while not assign(words, ends, table, shift(table), rows, sizes, slots, at):
            table = np.full(2 * len(table), -1, np.int32)
            enter(words, rows, at[kernels.BASE], at[kernels.PARTS], table, shift(table))
    found = defaultdict[tuple[Any, ...], set[int]](set)
    for row, slot in enumerate(slots.tolist()):
        run = int(np.searchsorted(firsts, row, "right"))
        found[(run, *words[:, row].tolist())].add(slot)
    assert all(len(parts) == 1 for parts in found.values())
    assert len({slot for parts in found.values() for slot in parts}) == len(found)
    assert at[kernels.PARTS] == len(found)
    assert sizes[: len(found)].tolist() == np.bincount(slots).tolist()
    assert rows[: len(found)].tolist() == [int(np.argmax(slots == i)) for i in range(len(found))]


def shift(table: Any) -> np.uint64:
    return np.uint64(65 - len(table).bit_length())


def test_runs_at_the_ends_of_time() -> None:
    window = SlideWindow(SingleRow(), span=10**18, step=7)
    times = np.array([-(2**63) + 2, -(2**63) + 3, 0, FOREVER - 3, FOREVER - 2], np.int64)
    firsts = np.empty(5, np.int64)
    found = firsts[: kernels.find_runs(times, window.span, window.step, firsts)]
    start, end = lifetimes(window, times)
    differ = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
    assert set(np.flatnonzero(differ) + 1) <= set(found.tolist())
