"""What was found out about an order: rows that were shown to all filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from thalweg.adapt.drops import Mask, Order

# Outcomes of the filters from a position of an order on, of so many rows that reach it; fewer
# rows, or none, if they are hard to find.
Rest = Callable[[Order, int, int], Mask]


@dataclass(frozen=True)
class Evidence:
    """By row and filter whether it passes, the time of each filter for a row, and what an order
    takes for all rows together."""

    passes: Mask
    times: list[float]
    cost: Callable[[Order], float]
    rest: Rest | None = None

    def __len__(self) -> int:
        return len(self.passes)

    def cost_of_row(self, order: Order) -> float:
        return self.cost(order) / len(self.passes)
