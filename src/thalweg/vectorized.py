"""Python functions and aggregates that take whole columns instead of single values."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")

_MARK = "__thalweg_vectorized__"


def vectorized(code: T) -> T:
    """Declare that a function, or `add` of an aggregate, takes pyarrow arrays.

    Each array has the values of one argument, NULLs included. A function gives a column
    of as many values: a pyarrow array, a NumPy array or a pandas Series. What it gives
    for a row must not depend on the other rows, and how many come at once is up to the
    engine.
    """
    setattr(code, _MARK, True)
    return code


def is_vectorized(code: Any) -> bool:
    return bool(getattr(code, _MARK, False))
