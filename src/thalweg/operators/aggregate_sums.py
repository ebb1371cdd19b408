"""Aggregates that are sums at heart, as columns of whole numbers to add up.

A 64-bit number is added in two halves, so that no sum of up to 2^31 of them can
overflow, and the exact total is known when it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.evaluate import Failures
from thalweg.functions.cast import fit_integer
from thalweg.functions.registry import Failure
from thalweg.operators.delta import Times
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.nodes import Aggregate
from thalweg.plan.text import expression_text
from thalweg.types import BIGINT, DOUBLE, is_integral
from thalweg.vector.column import Columns, Mask, Vector

Totals = npt.NDArray[np.int64]

_HALF = 32
_LOW = (1 << _HALF) - 1
# Up to here a whole number is exact as a DOUBLE.
_EXACT = 2**53


@dataclass(frozen=True)
class Sum:
    """One aggregate: how many columns it adds up, and what it shows of their totals."""

    call: AggregateCall
    width: int
    value: Callable[[Totals], Vector]


class Sums:
    """The aggregates of a node as one row of sums; the first counts the rows."""

    def __init__(self, sums: list[Sum]) -> None:
        self._sums = sums
        self.width = 1 + sum(part.width for part in sums)

    def contributions(
        self, weight: Times, counted: Sequence[Mask | None], columns: Columns
    ) -> Totals:
        """What each row adds to each sum; `counted` are the FILTER clauses."""
        added = np.zeros((len(weight), self.width), np.int64)
        added[:, 0] = weight
        place, argument = 1, 0
        for number, part in enumerate(self._sums):
            where = counted[number]
            amount = weight if where is None else np.where(where, weight, 0)
            for column in columns[argument : argument + len(part.call.arguments)]:
                if column.has_nulls:
                    amount = np.where(column.present(), amount, 0)
            added[:, place] = amount
            if part.width == 3:
                numbers = columns[argument].data.astype(np.int64)
                added[:, place + 1] = amount * (numbers & _LOW)
                added[:, place + 2] = amount * (numbers >> _HALF)
            place += part.width
            argument += len(part.call.arguments)
        return added

    def values(self, totals: Totals) -> tuple[Vector, ...]:
        shown, place = [], 1
        for part in self._sums:
            shown.append(part.value(totals[:, place : place + part.width]))
            place += part.width
        return tuple(shown)


def sums_of(plan: Aggregate, failures: Failures) -> Sums | None:
    """The aggregates of a node as sums; None if one of them is not."""
    parts = [_sum_of(call, failures) for call in plan.calls]
    found = [part for part in parts if part is not None]
    return Sums(found) if len(found) == len(parts) else None


def sum_columns(plan: Aggregate) -> int | None:
    """How many columns the aggregates of a node add up; None if one of them is no sum."""
    sums = sums_of(plan, Failures())
    return None if sums is None else sums.width


def _sum_of(call: AggregateCall, failures: Failures) -> Sum | None:
    if call.distinct or call.path is not None:
        return None
    if call.function == "count":
        return Sum(call, 1, lambda totals: Vector(BIGINT, totals[:, 0].copy()))
    if len(call.arguments) == 1 and is_integral(call.arguments[0].type):
        if call.function == "sum" and call.type == BIGINT:
            return Sum(call, 3, lambda totals: _total(totals, call, failures))
        if call.function in ("avg", "mean") and call.type == DOUBLE:
            return Sum(call, 3, _mean)
    return None


def _parts(totals: Totals) -> tuple[Totals, Totals]:
    """High and low halves with the carry moved up."""
    return totals[:, 2] + (totals[:, 1] >> _HALF), totals[:, 1] & _LOW


def _exact(high: Any, low: Any) -> int:
    return (int(high) << _HALF) + int(low)


def _total(totals: Totals, call: AggregateCall, failures: Failures) -> Vector:
    high, low = _parts(totals)
    fits = (high >= -(1 << 31)) & (high < 1 << 31)
    valid = totals[:, 0] > 0
    for row in np.flatnonzero(valid & ~fits):
        try:
            fit_integer(_exact(high[row], low[row]), 64)
        except Failure as failure:
            failures.note(expression_text(call), str(failure), ())
    data = (np.where(fits, high, 0) << _HALF) + low
    valid &= fits
    return Vector(BIGINT, data, None if valid.all() else valid)


def _mean(totals: Totals) -> Vector:
    high, low = _parts(totals)
    count = totals[:, 0]
    valid = count > 0
    small = (high >= -(1 << 20)) & (high < 1 << 20)
    data = ((np.where(small, high, 0) << _HALF) + low) / np.where(valid, count, 1)
    for row in np.flatnonzero(valid & ~small):
        data[row] = _exact(high[row], low[row]) / int(count[row])
    return Vector(DOUBLE, data, None if valid.all() else valid)
