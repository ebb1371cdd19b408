"""What those that adapt tell each other.

Whoever has tried a plan and kept it tells of it; it goes into the log that every batch starts
from, and whoever does the same elsewhere, or begins anew, has it from there. And it is told under
which conditions rows ran, for whoever asks what it was worth to change plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.adapt.drops import Order
from thalweg.adapt.plan_log import Ran


@dataclass(frozen=True, slots=True)
class FoundPlan:
    """An order of filters or look-ups; for a join with several ways from an input to another,
    by member the one before it on the way."""

    order: Order
    ways: tuple[tuple[int, int], ...] = ()

    def fits(self, order: Order) -> bool:
        """Whether it is one of the same filters as another order."""
        return sorted(self.order) == sorted(order)

    def to_json(self) -> dict[str, Any]:
        return {"order": list(self.order), "ways": [list(way) for way in self.ways]}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> FoundPlan:
        ways = tuple((int(far), int(near)) for far, near in record["ways"])
        return FoundPlan(tuple(map(int, record["order"])), ways)


# By a name that is the same wherever the same filters or look-ups stand.
FoundPlans = dict[str, FoundPlan]


@dataclass(frozen=True, slots=True)
class Learned:
    """Of some filters or look-ups, whose texts `parts` are: a plan that was tried and kept, and
    what ran."""

    name: str
    mechanism: str
    parts: tuple[str, ...]
    plan: FoundPlan | None
    ran: tuple[Ran, ...]
    queries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.plan is not None or bool(self.ran)
