"""What was seen and which plan was taken for it: conditions that come back have their plan.

An entry stands for conditions: a vector of statistics, by which they are recognised, what any
plan would cost under them, and how much ran under them. So the log also tells what the best single
plan would have cost, and whether it was worth it to change plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg.adapt.conditions import Conditions

# Numbers of filters or of inputs, in the order of the plan.
Plan = tuple[int, ...]
Statistics = tuple[float, ...]

# Statistics that nowhere differ by more are of the same conditions: parts of a thousand rows
# differ by a twentieth by chance.
TOLERANCE = 0.07
# Conditions that are kept; the ones that least ran under go first.
MOST_ENTRIES = 64


@dataclass
class Entry:
    """Conditions, the plan of late for them, and how many rows ran under them in which plan."""

    statistics: Statistics
    plan: Plan
    conditions: Conditions
    ran: dict[Plan, float] = field(default_factory=dict)
    visits: int = 1

    @property
    def weight(self) -> float:
        return sum(self.ran.values())

    @property
    def spent(self) -> float:
        return sum(rows * self.cost(plan) for plan, rows in self.ran.items())

    def add(self, plan: Plan, rows: float) -> None:
        self.ran[plan] = self.ran.get(plan, 0.0) + rows

    def distance(self, statistics: Statistics) -> float:
        both = zip(self.statistics, statistics, strict=True)
        return max((abs(a - b) for a, b in both), default=0.0)

    def cost(self, plan: Plan) -> float:
        return self.conditions.cost(plan)

    def to_json(self) -> dict[str, Any]:
        ran = [[list(plan), rows] for plan, rows in self.ran.items()]
        return {**vars(self), "conditions": self.conditions.to_json(), "ran": ran}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Entry:
        return Entry(
            tuple(record["statistics"]),
            tuple(record["plan"]),
            Conditions.from_json(record["conditions"]),
            {tuple(plan): rows for plan, rows in record["ran"]},
            record["visits"],
        )


@dataclass(frozen=True, slots=True)
class Ran:
    """Rows that ran under conditions, by plan, and the plan of late; what the conditions are is
    said when they are met first."""

    statistics: Statistics
    plan: Plan
    rows: dict[Plan, float]
    is_visit: bool
    conditions: Conditions | None


class PlanLog:
    def __init__(self, tolerance: float = TOLERANCE, most: int = MOST_ENTRIES) -> None:
        self._tolerance, self._most = tolerance, most
        self.entries: list[Entry] = []
        self._now: Entry | None = None
        # Of each entry: the rows by plan and the visits that were told of.
        self._told: dict[Statistics, tuple[dict[Plan, float], int]] = {}

    def recall(self, statistics: Statistics) -> Entry | None:
        """The entry of these conditions, if they were met before."""
        near = min(self.entries, key=lambda entry: entry.distance(statistics), default=None)
        return near if near is not None and near.distance(statistics) <= self._tolerance else None

    def meet(
        self, statistics: Statistics, plan: Plan, conditions: Callable[[], Conditions]
    ) -> Entry | None:
        """From now on these are the conditions; the entry, if they were met before."""
        known = self.recall(statistics)
        if known is None:
            self._now = self._add(Entry(statistics, plan, conditions()))
            return None
        known.visits += known is not self._now
        self._now = known
        return known

    def _add(self, entry: Entry) -> Entry:
        if len(self.entries) == self._most:
            self.entries.remove(min(self.entries, key=lambda entry: entry.weight))
        self.entries.append(entry)
        return entry

    def take(self, plan: Plan) -> None:
        """The plan for the conditions of now."""
        if self._now is not None:
            self._now.plan = plan

    def ran(self, plan: Plan, rows: float) -> None:
        if self._now is not None:
            self._now.add(plan, rows)

    # Telling others

    def news(self) -> list[Ran]:
        """What ran since this was asked last."""
        found = []
        for entry in self.entries:
            key = entry.statistics
            before, visits = self._told.get(key, ({}, 0))
            more = {plan: rows - before.get(plan, 0.0) for plan, rows in entry.ran.items()}
            if any(more.values()):
                conditions = None if visits else entry.conditions
                found.append(Ran(key, entry.plan, more, entry.visits > visits, conditions))
                self._told[key] = dict(entry.ran), entry.visits
        return found

    def hear(self, ran: Ran) -> None:
        """What another log has told."""
        entry = self.recall(ran.statistics)
        if entry is None:
            if ran.conditions is None:
                return
            entry = self._add(Entry(ran.statistics, ran.plan, ran.conditions, visits=0))
        entry.plan = ran.plan
        for plan, rows in ran.rows.items():
            entry.add(plan, rows)
        entry.visits += ran.is_visit

    # What it was worth

    @property
    def spent(self) -> float:
        """What the plans cost that rows ran in, trials too."""
        return sum(entry.spent for entry in self.entries)

    def best_single(
        self, neighbours: Callable[[Plan], Iterable[Plan]] | None = None
    ) -> tuple[Plan, float]:
        """The plan that would have cost least for everything, and that cost: the best one of
        the log, made better as long as a neighbour of it is."""
        others = neighbours or moved

        def total(plan: Plan) -> float:
            return sum(entry.weight * entry.cost(plan) for entry in self.entries)

        best = min((total(plan), plan) for plan in {entry.plan for entry in self.entries})
        while True:
            better = min(((total(plan), plan) for plan in others(best[1])), default=best)
            if better[0] >= best[0]:
                return best[1], best[0]
            best = better

    @property
    def return_on_adaptivity(self) -> float:
        """How many times what was spent the best single plan would have cost."""
        spent = self.spent
        return self.best_single()[1] / spent if spent else 1.0


def moved(plan: Plan) -> Iterable[Plan]:
    """Every plan with one number at another place."""
    for at in range(len(plan)):
        rest = (*plan[:at], *plan[at + 1 :])
        for to in range(len(plan)):
            if to != at:
                yield (*rest[:to], plan[at], *rest[to:])
