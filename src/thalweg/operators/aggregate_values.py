"""What aggregates show of their measures."""

from __future__ import annotations

import decimal as dec
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.evaluate import Failures
from thalweg.functions.aggregates import rounded
from thalweg.functions.cast import WIDE, fit_decimal, fit_integer
from thalweg.functions.registry import Failure
from thalweg.kernels.exact import (
    DIGIT_BITS,
    MINUS,
    NAN,
    PLUS,
    UNIT_BITS,
    carried,
    scaled_doubles,
)
from thalweg.operators.folds import ExactSums
from thalweg.operators.measures import Totals
from thalweg.operators.row_words import decimals, masked
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.text import expression_text
from thalweg.types import BIGINT, BOOLEAN, DOUBLE, DecimalType
from thalweg.vector.column import Mask, Vector, from_values

Numbers = npt.NDArray[Any]

_HALF = 32
_LOW = (1 << _HALF) - 1
# A variance that is at least this part of the mean square is exact enough without care.
_STEEP = 1e-5


def count(counted: Totals) -> Vector:
    return Vector(BIGINT, counted[:, 0].copy())


def all_true(counted: Totals, true: Totals) -> Vector:
    return _shown(BOOLEAN, true[:, 0] == counted[:, 0], counted)


def some_true(counted: Totals, true: Totals) -> Vector:
    return _shown(BOOLEAN, true[:, 0] > 0, counted)


def _shown(type_: Any, data: Numbers, counted: Totals) -> Vector:
    """Values of groups in which something was counted; NULL elsewhere."""
    valid = counted[:, 0] > 0
    return Vector(type_, data, None if valid.all() else valid)


# Whole numbers, in one word or in halves


def _parts(totals: Totals) -> tuple[Totals, Totals]:
    """High and low halves with the carry moved up."""
    if totals.shape[1] == 1:
        return totals[:, 0] >> _HALF, totals[:, 0] & _LOW
    return totals[:, 1] + (totals[:, 0] >> _HALF), totals[:, 0] & _LOW


def _exact(high: Any, low: Any) -> int:
    return (int(high) << _HALF) + int(low)


def whole_total(call: AggregateCall, failures: Failures) -> Callable[[Totals, Totals], Vector]:
    """The sum of integers or intervals; NULL, and noted, where it does not fit."""

    def total(counted: Totals, totals: Totals) -> Vector:
        if totals.shape[1] == 1:
            return _shown(call.type, totals[:, 0].copy(), counted)
        high, low = _parts(totals)
        fits = (high >= -(1 << 31)) & (high < 1 << 31)
        valid = counted[:, 0] > 0
        for row in np.flatnonzero(valid & ~fits):
            try:
                fit_integer(_exact(high[row], low[row]), 64)
            except Failure as failure:
                failures.note(expression_text(call), str(failure), ())
        valid &= fits
        data = (np.where(fits, high, 0) << _HALF) + low
        return Vector(call.type, data, None if valid.all() else valid)

    return total


def whole_mean(counted: Totals, totals: Totals) -> Vector:
    if totals.shape[1] == 1 and _are_doubles(totals):
        return _shown(DOUBLE, totals[:, 0] / np.maximum(counted[:, 0], 1), counted)
    high, low = _parts(totals)
    small = (high >= -(1 << 20)) & (high < 1 << 20)
    number = np.maximum(counted[:, 0], 1)
    data = ((np.where(small, high, 0) << _HALF) + low) / number
    for row in np.flatnonzero(~small):
        data[row] = _exact(high[row], low[row]) / int(number[row])
    return _shown(DOUBLE, data, counted)


def _are_doubles(totals: Totals) -> bool:
    """Whether none of the numbers changes as a DOUBLE."""
    return bool(totals.max(initial=0) <= 1 << 53 and totals.min(initial=0) >= -(1 << 53))


def interval_mean(call: AggregateCall) -> Callable[[Totals, Totals], Vector]:
    """Rounded to the nearest, halves up."""

    def mean(counted: Totals, totals: Totals) -> Vector:
        high, low = _parts(totals)
        small = (high >= -(1 << 29)) & (high < 1 << 29)
        number = np.maximum(counted[:, 0], 1)
        twice = 2 * ((np.where(small, high, 0) << _HALF) + low)
        data = (twice + number) // (2 * number)
        for row in np.flatnonzero(~small):
            n = int(number[row])
            data[row] = (2 * _exact(high[row], low[row]) + n) // (2 * n)
        return _shown(call.type, data, counted)

    return mean


# Decimals


def decimal_total(call: AggregateCall, failures: Failures) -> Callable[[Totals, Totals], Vector]:
    def total(counted: Totals, totals: Totals) -> Vector:
        if totals.shape[1] == 4:
            return _decimals(call, failures, counted, _wide_numbers(totals), None)
        assert isinstance(call.type, DecimalType), "a sum of decimals is one"
        high, low = _parts(totals)
        words = np.column_stack(((high << _HALF) + low, high >> _HALF))
        valid = counted[:, 0] > 0
        return Vector(call.type, masked(decimals(words, call.type), None if valid.all() else valid))

    return total


def decimal_mean(call: AggregateCall, failures: Failures) -> Callable[[Totals, Totals], Vector]:
    """Rounded half up, as far from zero as that is."""
    result, argument = call.type, call.arguments[0].type
    assert isinstance(result, DecimalType), "a mean of decimals is one"
    assert isinstance(argument, DecimalType), "a mean of decimals is one of decimals"
    factor = 10 ** (result.scale - argument.scale) if result.scale >= argument.scale else 0

    def mean(counted: Totals, totals: Totals) -> Vector:
        number = np.maximum(counted[:, 0], 1)
        if totals.shape[1] == 4:
            return _decimals(call, failures, counted, _wide_numbers(totals), number)
        high, low = _parts(totals)
        if not factor or (np.abs(high) >= 1 << 14).any():
            exact = [_exact(*halves) for halves in zip(high, low, strict=True)]
            return _decimals(call, failures, counted, exact, number)
        scaled = ((high << _HALF) + low) * factor
        size = (2 * np.abs(scaled) + number) // (2 * number)
        words = (np.sign(scaled) * size)[:, None]
        valid = counted[:, 0] > 0
        return Vector(result, masked(decimals(words, result), None if valid.all() else valid))

    return mean


def _wide_numbers(totals: Totals) -> list[int]:
    return [sum(piece << (_HALF * i) for i, piece in enumerate(row)) for row in totals.tolist()]


def _decimals(
    call: AggregateCall,
    failures: Failures,
    counted: Totals,
    numbers: list[int],
    divisors: Totals | None,
) -> Vector:
    """Sums or means of decimals by their definition."""
    result, argument = call.type, call.arguments[0].type
    assert isinstance(result, DecimalType), "a decimal is shown"
    assert isinstance(argument, DecimalType), "decimals are added up"
    values: list[dec.Decimal | None] = []
    for row, number in enumerate(numbers):
        value = None
        if counted[row, 0] > 0:
            total = dec.Decimal(number).scaleb(-argument.scale, WIDE)
            if divisors is not None:
                total = WIDE.divide(total, dec.Decimal(int(divisors[row])))
            try:
                value = fit_decimal(total, result)
            except Failure as failure:
                failures.note(expression_text(call), str(failure), ())
        values.append(value)
    return from_values(values, result)


# DOUBLEs


def double_total(counted: Totals, sums: ExactSums) -> Vector:
    numbers, exponents = _scaled(sums, UNIT_BITS)
    return _shown(DOUBLE, _with_odd(_powers(numbers, exponents), sums), counted)


def double_mean(counted: Totals, sums: ExactSums) -> Vector:
    numbers, exponents = _scaled(sums, UNIT_BITS)
    means = _powers(numbers / np.maximum(counted[:, 0], 1), exponents)
    return _shown(DOUBLE, _with_odd(means, sums), counted)


def _scaled(sums: ExactSums, unit_bits: int) -> tuple[Numbers, Numbers]:
    """Sums as DOUBLEs and the powers of two to multiply them by."""
    words = sums.words.copy()
    numbers, exponents = np.empty(len(words), np.int64), np.empty(len(words), np.int32)
    signs = carried(words)
    scaled_doubles(words, signs, sums.base * DIGIT_BITS - unit_bits, numbers, exponents)
    return numbers.astype(np.float64), exponents


def _powers(numbers: Numbers, exponents: Numbers) -> Numbers:
    with np.errstate(over="ignore", under="ignore"):
        powers: Numbers = np.ldexp(numbers, exponents)
    return powers


def _with_odd(finite: Numbers, sums: ExactSums) -> Numbers:
    """An infinity or NaN in the place of a sum that has one."""
    plus, minus, nan = (sums.odd[:, i] > 0 for i in (PLUS, MINUS, NAN))
    if not (plus | minus | nan).any():
        return finite
    infinite = np.where(minus, -np.inf, np.where(plus, np.inf, finite))
    return np.where(nan | (plus & minus), np.nan, infinite)


def spread(sample: bool, root: bool) -> Callable[[Totals, ExactSums, ExactSums], Vector]:
    """Variance or standard deviation: exact where differences of large numbers need it."""

    def value(counted: Totals, sums: ExactSums, squares: ExactSums) -> Vector:
        n = counted[:, 0]
        divisor = n - 1 if sample else n
        valid: Mask = divisor > 0
        data = _variances(np.maximum(n, 1), np.maximum(divisor, 1), sums, squares, valid)
        data[(sums.odd > 0).any(axis=1)] = np.nan
        return Vector(DOUBLE, np.sqrt(data) if root else data, None if valid.all() else valid)

    return value


def _variances(
    n: Totals, divisor: Totals, sums: ExactSums, squares: ExactSums, valid: Mask
) -> Numbers:
    total = _powers(*_scaled(sums, UNIT_BITS))
    square = _powers(*_scaled(squares, 2 * UNIT_BITS))
    with np.errstate(all="ignore"):
        away = square - total * total / n
        steep = np.isfinite(away) & (away > _STEEP * square) & (square > 1e-290)
        data = np.where(steep, away / divisor, 0.0)
    for row in np.flatnonzero(valid & ~steep & (n > 1)).tolist():
        both = _number(sums, row) ** 2
        exact = int(n[row]) * _number(squares, row) - both
        data[row] = rounded(Fraction(exact, int(n[row]) * int(divisor[row])) / 2 ** (2 * UNIT_BITS))
    return data


def _number(sums: ExactSums, row: int) -> int:
    """An exact sum in its unit."""
    digits = sums.words[row].tolist()
    return sum(digit << (DIGIT_BITS * (sums.base + i)) for i, digit in enumerate(digits))
