"""Whole bags, and what changed between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from thalweg.operators.delta import FOREVER, Delta, nothing
from thalweg.types import Schema
from thalweg.values import row_key
from thalweg.vector.column import from_values

Values = tuple[Any, ...]


class Bag:
    """How often each row is there; rows are the same as the language has it."""

    def __init__(self) -> None:
        self._counts: dict[Values, tuple[Values, int]] = {}

    def add(self, row: Values, weight: int) -> None:
        key = row_key(row)
        count = self._counts.get(key, (row, 0))[1] + weight
        if count:
            self._counts[key] = (row, count)
        else:
            self._counts.pop(key, None)

    def count(self, row: Values) -> int:
        return self._counts.get(row_key(row), (row, 0))[1]

    def items(self) -> Iterator[tuple[Values, int]]:
        """Rows and how often each is there."""
        yield from self._counts.values()

    def rows(self) -> list[Values]:
        return [row for row, count in self._counts.values() for _ in range(count)]


def changes_between(before: Bag, after: Bag, time: int, schema: Schema) -> Delta:
    """The change from one bag to another at an instant."""
    changed = [(row, count - before.count(row)) for row, count in after.items()]
    changed += [(row, -count) for row, count in before.items() if not after.count(row)]
    changed = [(row, weight) for row, weight in changed if weight]
    if not changed:
        return nothing(schema)
    return Delta(
        tuple(from_values([row[i] for row, _ in changed], f.type) for i, f in enumerate(schema)),
        np.full(len(changed), time),
        np.full(len(changed), FOREVER),
        np.array([weight for _, weight in changed], np.int64),
    )
