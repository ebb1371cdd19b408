"""Bags of rows: their differences, and the order of the rows they are made of.

A relation is a bag: equal rows are interchangeable, except that each carries its
place in the total order Σ, which a `[ROWS n]` window over a derived stream sees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from thalweg.plan.nodes import SortKey
from thalweg.values import normal_zeros, row_key, shown_key, sort_key

Values = tuple[Any, ...]
# A row's place in the total order Σ: one part per base row, in the order of FROM.
Order = tuple[tuple[Any, ...], ...]

# The part of a base row that an outer join did not find.
NO_ROW: Order = ((-1,),)


@dataclass(frozen=True, slots=True)
class Row:
    values: Values
    order: Order = ()


def net_difference(after: list[Row], before: list[Row]) -> tuple[list[Row], list[Row]]:
    """What entered and what left a bag, equal rows cancelled.

    Of equal rows that entered, those latest in Σ remain; which copy it is shows
    only in the order of a derived stream.
    """
    entered = _without(after, before)
    left = _without(before, after)
    gone = Counter(shown_key(row.values) for row in left)
    come = Counter(shown_key(row.values) for row in entered)
    return _uncancelled(entered, gone), _uncancelled(left, come)


def _without(rows: list[Row], others: list[Row]) -> list[Row]:
    """Bag difference of rows with their place in Σ."""
    counts = Counter((shown_key(row.values), row.order) for row in others)
    kept = []
    for row in rows:
        key = (shown_key(row.values), row.order)
        if counts[key] > 0:
            counts[key] -= 1
        else:
            kept.append(row)
    return kept


def _uncancelled(rows: list[Row], opposite: Counter[Values]) -> list[Row]:
    kept = []
    for row in sorted(rows, key=lambda row: row.order):
        key = shown_key(row.values)
        if opposite[key] > 0:
            opposite[key] -= 1
        else:
            kept.append(row)
    return kept


def stamped(time: int, order: Order) -> Order:
    return ((0, time), *order)


def from_branch(branch: int, row: Row) -> Row:
    """A row of a UNION ALL; what both branches have is told apart by the branch."""
    return Row(row.values, (*row.order, (2, branch)))


def paired(left: Row, right: Row) -> Row:
    return Row(left.values + right.values, left.order + right.order)


def distinct(rows: list[Row]) -> list[Row]:
    return list({row_key(row.values): row for row in rows}.values())


def by_value(rows: list[Row]) -> list[Row]:
    """Rows that stand for no single base row are ordered by their values."""
    values = (normal_zeros(row.values) for row in rows)
    return [Row(row, value_order(row)) for row in values]


def value_order(values: Values) -> Order:
    """A place in Σ by values."""
    return ((1, *map(_kind_first, values)),)


def _kind_first(value: Any) -> tuple[Any, ...]:
    """A key that any two values can be compared by: a UNION may mix rows of different columns."""
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return (1, "tuple", tuple(map(_kind_first, value)))
    return (1, type(value).__name__, sort_key(value))


class Bag:
    """A relation as it stands, change by change."""

    def __init__(self) -> None:
        self._counts: Counter[Values] = Counter()
        self._rows: dict[Values, Values] = {}

    def change(self, values: Values, copies: int) -> None:
        """Add copies of a row, or with a negative number take them away."""
        key = shown_key(values)
        self._counts[key] += copies
        if self._counts[key]:
            self._rows[key] = values
        else:
            del self._counts[key], self._rows[key]

    def rows(self, keys: tuple[SortKey, ...] = ()) -> list[Values]:
        """All copies of all rows, in the order in which ORDER BY … LIMIT takes them."""
        listed = [self._rows[key] for key in self._counts.elements()]
        return sorted(listed, key=lambda row: top_order(row, keys))


def top_order(values: Values, keys: tuple[SortKey, ...]) -> tuple[Any, ...]:
    """The order in which ORDER BY … LIMIT takes rows; -0.0 comes before its equal 0.0."""
    directed = (_directed(values[key.column], key) for key in keys)
    return (*directed, row_key(values), shown_key(values))


@dataclass(frozen=True, slots=True)
class _Descending:
    key: tuple[Any, ...]

    def __lt__(self, other: _Descending) -> bool:
        return other.key < self.key


def _directed(value: Any, key: SortKey) -> tuple[Any, ...]:
    null_rank = 0 if key.nulls_first else 2
    if value is None:
        return (null_rank,)
    inner = sort_key(value)
    return (1, _Descending(inner) if key.descending else inner)
