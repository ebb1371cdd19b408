"""The same functions and aggregates twice: of single values, and of whole columns.

Each raises, or gives something that does not fit, for some of its arguments.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from thalweg import vectorized


def _refuse(is_wrong: bool) -> None:
    if is_wrong:
        raise ValueError("refused")


def _any(mask: Any) -> bool:
    return bool(pc.any(mask).as_py())


def scaled(x: float | None, n: int | None) -> float | None:
    _refuse(n == 3)
    return None if x is None or n is None else x * n


@vectorized
def scaled_columns(x: pa.Array, n: pa.Array) -> pa.Array:
    _refuse(_any(pc.equal(n, 3)))
    return pc.multiply(x, n.cast(pa.float64()))


def increased(n: int | None) -> int | None:
    return None if n is None else n + 1


@vectorized
def increased_columns(n: pa.Array) -> pa.Array:
    return pc.add(n.cast(pa.int64()), 1)  # of an INT: the largest one does not fit any more


def root(x: float | None) -> float:
    return math.nan if x is None or not x >= 0 else math.sqrt(x)


@vectorized
def root_columns(x: pa.Array) -> Any:
    with np.errstate(invalid="ignore"):
        return np.sqrt(x.to_numpy(zero_copy_only=False))


def shouted(s: str | None) -> str | None:
    _refuse(s == "")
    return None if s is None else s.upper() + "!"


@vectorized
def shouted_columns(s: pa.Array) -> Any:
    _refuse(_any(pc.equal(s, "")))
    return pd.Series(s.to_pandas(), dtype=object).str.upper() + "!"


def day_after(d: dt.date | None) -> dt.date | None:
    return None if d is None else d + dt.timedelta(days=1)


@vectorized
def day_after_columns(d: pa.Array) -> pa.Array:
    return pc.add(d.cast(pa.int32()), pa.scalar(1, pa.int32())).cast(pa.date32())


def listed(n: int | None, s: str | None) -> dict[str, Any] | None:
    return None if n is None else {"n": [n, n], "s": s}


@vectorized
def listed_columns(n: pa.Array, s: pa.Array) -> list[Any]:
    return [listed(*pair) for pair in zip(n.to_pylist(), s.to_pylist(), strict=True)]


class Range:
    def __init__(self) -> None:
        self.seen: list[int] = []

    def add(self, n: int | None, s: str | None) -> None:
        _refuse(s == "")
        if n is not None and s is not None:
            self.seen.append(n + len(s))

    def result(self) -> int | None:
        return max(self.seen) - min(self.seen) if self.seen else None


@vectorized
class RangeOfColumns:
    def __init__(self) -> None:
        self.seen: list[pa.Array] = []

    def add(self, n: pa.Array, s: pa.Array) -> None:
        _refuse(_any(pc.equal(s, "")))
        self.seen.append(pc.add(n.cast(pa.int64()), pc.utf8_length(s).cast(pa.int64())))

    def result(self) -> Any:
        if not self.seen:
            return None
        ends = pc.min_max(pa.chunked_array(self.seen))
        return pc.subtract(ends["max"], ends["min"])


@vectorized
class MergingRange(RangeOfColumns):
    def merge(self, other: MergingRange) -> None:
        self.seen += other.seen


# By name: parameters, result, the form of values and that of columns.
FUNCTIONS: dict[str, tuple[str, str, Callable[..., Any], Callable[..., Any]]] = {
    "scaled": ("x DOUBLE, n INT", "DOUBLE", scaled, scaled_columns),
    "increased": ("n INT", "INT", increased, increased_columns),
    "root": ("x DOUBLE", "DOUBLE", root, root_columns),
    "shouted": ("s STRING", "STRING", shouted, shouted_columns),
    "day_after": ("d DATE", "DATE", day_after, day_after_columns),
    "listed": ("n INT, s STRING", "STRUCT<n: ARRAY<INT>, s: STRING>", listed, listed_columns),
}
