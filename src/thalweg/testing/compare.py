"""Whether two answers are the same: equal bags at every instant.

The order of records within an instant says nothing. DOUBLE and FLOAT values are
equal within 1e-9 of their size, all others exactly. 0.0 and -0.0 are equal values
that show differently, and which of them shows is defined: they are told apart.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from thalweg.answers import Change
from thalweg.functions.cast import to_text
from thalweg.types import Schema
from thalweg.values import sort_key

_TOLERANCE = 1e-9


def differences(expected: Iterable[Change], actual: Iterable[Change], columns: Schema) -> list[str]:
    """One line per record that only one side has, in the order of time; empty if none."""
    wanted, got = _by_instant(expected), _by_instant(actual)
    lines: list[str] = []
    for time in sorted(wanted.keys() | got.keys()):
        missing, surplus = _unmatched(wanted[time], got[time])
        lines += [f"missing:    {record_text(c, columns)}" for c in missing]
        lines += [f"unexpected: {record_text(c, columns)}" for c in surplus]
    return lines


def record_text(change: Change, columns: Schema) -> str:
    cells = (
        "NULL" if value is None else to_text(value, column.type, "UTC")
        for value, column in zip(change.values, columns, strict=True)
    )
    return " | ".join([str(change.time), change.sign, *cells])


def _by_instant(changes: Iterable[Change]) -> dict[int, list[Change]]:
    grouped: dict[int, list[Change]] = defaultdict(list)
    for change in changes:
        grouped[change.time].append(change)
    return grouped


def _unmatched(wanted: list[Change], got: list[Change]) -> tuple[list[Change], list[Change]]:
    remaining = sorted(got, key=_order)
    missing = []
    for change in sorted(wanted, key=_order):
        for i, candidate in enumerate(remaining):
            if change.sign == candidate.sign and same_row(change.values, candidate.values):
                del remaining[i]
                break
        else:
            missing.append(change)
    return missing, remaining


def _order(change: Change) -> Any:
    return change.sign, sort_key(change.values)


def same_row(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(map(same_value, a, b))


def same_value(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        if a != a or b != b:
            return a != a and b != b
        if a == b == 0:
            return math.copysign(1, a) == math.copysign(1, b)
        return math.isclose(a, b, rel_tol=_TOLERANCE)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return same_row(a, b)
    return bool(a == b)
