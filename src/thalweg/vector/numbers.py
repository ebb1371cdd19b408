"""Operators over columns of fixed width.

Each kernel gives the values and a mask of where they are certain; None means
everywhere. Elsewhere (a possible overflow, a division by zero) the definition
of the function decides row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thalweg.types import BOOLEAN, DOUBLE, FLOAT, INTEGER_BITS, Type, is_integral, is_interval
from thalweg.vector.column import FIXED, Mask, Numbers

Outcome = tuple[Numbers, Mask | None]
Kernel = Callable[..., Outcome]

# Products of numbers below this are certain to fit 64 bits.
_SMALL = 2**31


def kernel_for(function: str, arguments: tuple[Type, ...], result: Type) -> Kernel | None:
    """The kernel of a call, if there is one for its types."""
    if not all(type_ in FIXED for type_ in (*arguments, result)):
        return None
    if function in _COMPARISONS:
        compare = _COMPARISONS[function]
        floats = arguments[0] in (FLOAT, DOUBLE)
        return lambda a, b: (compare(a, b, floats), None)
    if function in _ARITHMETIC or function in _FLOATS:
        if result in (DOUBLE, FLOAT):
            return _FLOATS.get(function)
        if function in _ARITHMETIC and (is_integral(result) or is_interval(result)):
            compute = _ARITHMETIC[function]
            return lambda a, b: compute(a, b, FIXED[result])
    if function == "not" and result == BOOLEAN:
        return lambda a: (~a, None)
    if function == "negative" and result in (DOUBLE, FLOAT):
        return lambda a: (-a, None)
    return None


def cast_kernel(given: Type, wanted: Type) -> Kernel | None:
    """How numbers of one type become another; NULL-free, uncertain where they may not fit."""
    integers = is_integral(given), is_integral(wanted)
    if integers == (True, True):
        return lambda a: _narrowed(a, FIXED[wanted])
    if integers[0] and wanted in (DOUBLE, FLOAT):
        return lambda a: (a.astype(FIXED[wanted]), None)
    if given == FLOAT and wanted == DOUBLE:
        return lambda a: (a.astype(np.float64), None)
    if given in (DOUBLE, FLOAT) and integers[1]:
        bound = 2.0 ** (INTEGER_BITS[wanted] - 1)

        def truncated(a: Numbers) -> Outcome:
            wide = a.astype(np.float64)
            certain = (wide > -bound) & (wide < bound - 1)
            return np.where(certain, wide, 0).astype(FIXED[wanted]), certain

        return truncated
    return None


def equal(a: Numbers, b: Numbers, floats: bool) -> Mask:
    """Equality as Spark has it: NaN equals NaN."""
    if not floats:
        return np.equal(a, b)
    return np.equal(a, b) | (np.isnan(a) & np.isnan(b))


def less(a: Numbers, b: Numbers, floats: bool) -> Mask:
    """NaN is larger than every number."""
    if not floats:
        return np.less(a, b)
    return np.less(a, b) | (np.isnan(b) & ~np.isnan(a))


_COMPARISONS: dict[str, Callable[[Numbers, Numbers, bool], Mask]] = {
    "=": equal,
    "<>": lambda a, b, floats: ~equal(a, b, floats),
    "<": less,
    "<=": lambda a, b, floats: ~less(b, a, floats),
    ">": lambda a, b, floats: less(b, a, floats),
    ">=": lambda a, b, floats: ~less(a, b, floats),
}


def _narrowed(wide: Numbers, dtype: np.dtype[Any]) -> Outcome:
    if wide.dtype.itemsize <= dtype.itemsize:
        return wide.astype(dtype), None
    narrow = wide.astype(dtype)
    return narrow, narrow == wide


def _sum(a: Numbers, b: Numbers, dtype: np.dtype[Any]) -> Outcome:
    if dtype.itemsize < 8:
        return _narrowed(a.astype(np.int64) + b, dtype)
    total = a + b
    return total, ((a ^ total) & (b ^ total)) >= 0


def _difference(a: Numbers, b: Numbers, dtype: np.dtype[Any]) -> Outcome:
    if dtype.itemsize < 8:
        return _narrowed(a.astype(np.int64) - b, dtype)
    rest = a - b
    return rest, ((a ^ b) & (a ^ rest)) >= 0


def _product(a: Numbers, b: Numbers, dtype: np.dtype[Any]) -> Outcome:
    if dtype.itemsize < 8:
        return _narrowed(a.astype(np.int64) * b, dtype)
    small = (a < _SMALL) & (a > -_SMALL) & (b < _SMALL) & (b > -_SMALL)
    return a * b, small


def _remainder(a: Numbers, b: Numbers, dtype: np.dtype[Any]) -> Outcome:
    if b.min(initial=1) > 0:
        return np.fmod(a, b).astype(dtype, copy=False), None
    certain = (b != 0) & (b != -1)
    return np.fmod(a, np.where(certain, b, 1)).astype(dtype, copy=False), certain


_ARITHMETIC: dict[str, Callable[[Numbers, Numbers, np.dtype[Any]], Outcome]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "%": _remainder,
}


def _float_quotient(a: Numbers, b: Numbers) -> Outcome:
    certain = b != 0
    return a / np.where(certain, b, 1).astype(b.dtype), certain


_FLOATS: dict[str, Kernel] = {
    "+": lambda a, b: (a + b, None),
    "-": lambda a, b: (a - b, None),
    "*": lambda a, b: (a * b, None),
    "/": _float_quotient,
}
