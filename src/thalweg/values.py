"""One total order and one equality over all values, as Spark has them.

NULL sorts before everything and equals itself here (joins and `=` test for NULL
first); NaN is equal to itself and larger than every number; 0.0 equals -0.0;
text compares by code point; arrays and structs compare part by part.
"""

from __future__ import annotations

import math
from typing import Any

_NULL = (0,)
_NAN = (1, True, 0.0)


def sort_key(value: Any) -> tuple[Any, ...]:
    """A hashable key: keys order, and are equal, as their values are."""
    if value is None:
        return _NULL
    if isinstance(value, float):
        return (1, False, value) if value == value else _NAN
    if isinstance(value, tuple):
        return (1, tuple(map(sort_key, value)))
    return (1, value)


def shown_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The identity of a row as it is shown: as `row_key`, but 0.0 is not -0.0."""
    return tuple(map(_shown, row))


def _shown(value: Any) -> tuple[Any, ...]:
    if isinstance(value, float) and value == 0:
        return (1, False, value, math.copysign(1, value))
    return (1, shown_key(value)) if isinstance(value, tuple) else sort_key(value)


def row_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The identity of a row in a bag, and its place in the order of rows."""
    return tuple(map(sort_key, row))


def compare(left: Any, right: Any) -> int:
    """Negative, zero or positive; neither side is NULL."""
    a, b = sort_key(left), sort_key(right)
    return (a > b) - (a < b)


def normal_zeros(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with 0.0 for -0.0: the one of two equal values that a group shows."""
    return tuple(map(_normal_zero, row))


def _normal_zero(value: Any) -> Any:
    if isinstance(value, float):
        return value + 0.0
    return normal_zeros(value) if isinstance(value, tuple) else value
