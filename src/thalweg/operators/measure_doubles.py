"""Sums of DOUBLEs and of their squares, exact until they are shown.

The rows of a part are added up into a sum and what its roundings lost. Where that
would be rounded again, what is lost is left over and given as a part of its own.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from thalweg.kernels import read_only
from thalweg.kernels.exact import PLAIN, SQUARE, TO_SQUARE
from thalweg.kernels.parts import add_exactly
from thalweg.operators.measures import (
    Added,
    Given,
    LeftOver,
    Numbers,
    Parts,
    as_mask,
    vectors,
    where,
)
from thalweg.types import DOUBLE, Type
from thalweg.vector.column import Columns, Mask, Vector

Doubles = npt.NDArray[np.float64]

# Between these sizes the square of a DOUBLE is the sum of two DOUBLEs.
_SQUARES_FROM, _SQUARES_TO = 2.0**-480, 2.0**500
_SPLITTER = 2.0**27 + 1


class DoubleSum(Numbers):
    """The sum of DOUBLEs: that of two columns and of what is left over."""

    types: ClassVar[tuple[Type, ...]] = (DOUBLE, DOUBLE)
    meant: ClassVar[tuple[int, ...]] = (PLAIN, PLAIN)

    def columns(self, given: Given) -> Columns:
        numbers = where(self.counted(given), self.column(given).data)
        return Vector(DOUBLE, numbers), Vector(DOUBLE, np.zeros(given.length, np.float64))

    def added(self, given: Given, parts: Parts) -> Added:
        totals = np.zeros((len(parts), 2), np.float64)
        left = _LeftOver(given.length)
        left.add(parts, self.column(given).data, as_mask(self.counted(given)), totals)
        return Added(vectors(totals, DOUBLE), left.columns())


class SquareSum(Numbers):
    """The sum of the squares of DOUBLEs: that of two columns, of the squares of a third,
    and of what is left over."""

    types: ClassVar[tuple[Type, ...]] = (DOUBLE, DOUBLE, DOUBLE)
    meant: ClassVar[tuple[int, ...]] = (SQUARE, SQUARE, TO_SQUARE)

    def columns(self, given: Given) -> Columns:
        zeros = Vector(DOUBLE, np.zeros(given.length, np.float64))
        return zeros, zeros, Vector(DOUBLE, where(self.counted(given), self.column(given).data))

    def added(self, given: Given, parts: Parts) -> Added:
        counted, numbers = self.counted(given), self.column(given).data
        size = np.abs(numbers)
        exact = ((size > _SQUARES_FROM) & (size < _SQUARES_TO)) | (size == 0)
        totals = np.zeros((len(parts), 3), np.float64)
        left = _LeftOver(2 * given.length)
        for some in _squared(np.where(exact, numbers, 0.0)):
            left.add(parts, some, as_mask(counted), totals)
        others = np.flatnonzero(~exact if counted is None else counted & ~exact)
        raw = LeftOver(parts.slots[others].astype(np.int64), numbers[others], 2)
        return Added(vectors(totals, DOUBLE), (*left.columns(), raw))


def _squared(numbers: Doubles) -> tuple[Doubles, Doubles]:
    """Squares, and what their rounding lost (Dekker's product)."""
    squares = numbers * numbers
    carried = _SPLITTER * numbers
    high = carried - (carried - numbers)
    low = numbers - high
    return squares, ((high * high - squares) + 2 * high * low) + low * low


class _LeftOver:
    """What is left over when DOUBLEs are added up: at most so many numbers."""

    def __init__(self, most: int) -> None:
        self._parts = np.empty(most, np.int64)
        self._numbers = np.empty(most, np.float64)
        self._found = 0

    def add(self, parts: Parts, numbers: Doubles, counted: Mask, totals: Doubles) -> None:
        self._found = add_exactly(
            parts.slots,
            read_only(numbers),
            counted,
            totals,
            self._parts,
            self._numbers,
            self._found,
        )

    def columns(self) -> tuple[LeftOver, ...]:
        found = self._found
        return (LeftOver(self._parts[:found], self._numbers[:found], 0),) if found else ()
