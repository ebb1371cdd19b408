"""What rows were like when filters were asked about them, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thalweg.adapt.drops import Index, Mask, Order

# Of so many filters it is kept which rows pass which ones together.
MOST_FILTERS = 62


@dataclass(frozen=True)
class Conditions:
    """By filter the nanoseconds for a row; and how many rows pass which filters together, these
    as bits."""

    times: tuple[float, ...]
    patterns: tuple[tuple[int, int], ...]

    @staticmethod
    def of(passes: Mask, times: Sequence[float]) -> Conditions:
        assert passes.shape[1] <= MOST_FILTERS, "bits of one number"
        bits = passes @ (1 << np.arange(passes.shape[1], dtype=np.int64))
        patterns, counts = np.unique(bits, return_counts=True)
        pairs = zip(patterns.tolist(), counts.tolist(), strict=True)
        return Conditions(tuple(map(float, times)), tuple(pairs))

    @cached_property
    def _counted(self) -> tuple[Index, Index]:
        patterns, counts = zip(*self.patterns, strict=True)
        return np.array(patterns, np.int64), np.array(counts, np.int64)

    def cost(self, order: Order) -> float:
        """The nanoseconds that a row takes in an order."""
        patterns, left = self._counted
        rows, total = left.sum(), 0.0
        for number in order:
            total += self.times[number] * float(left.sum())
            left = left * (patterns >> number & 1)
        return total / float(rows)

    def to_json(self) -> dict[str, Any]:
        return {"times": list(self.times), "patterns": [list(pair) for pair in self.patterns]}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Conditions:
        patterns = tuple((int(bits), int(rows)) for bits, rows in record["patterns"])
        return Conditions(tuple(record["times"]), patterns)
