"""What all tasks of a job have learned about conditions and plans, kept in a file.

Nothing depends on it but whoever asks what it was worth to change plans: the plans themselves are
in the log of control.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from thalweg.adapt.learned import Learned
from thalweg.adapt.plan_log import Entry, Plan, PlanLog
from thalweg.intake.take import Taken
from thalweg.shard.step import ShardResult

# The part of the time that writing may take.
_SHARE = 0.005
_FILE = "plans.json"


def learned_in(takes: Iterable[Taken], results: Iterable[ShardResult]) -> list[Learned]:
    by_task = chain((t.learned for t in takes), (r.learned for r in results))
    return list(chain.from_iterable(by_task))


@dataclass
class Lesson:
    """What is known of some filters or look-ups, whose texts `parts` are."""

    mechanism: str
    queries: tuple[str, ...]
    parts: tuple[str, ...]
    log: PlanLog = field(default_factory=PlanLog)

    def __str__(self) -> str:
        whose = f" of {', '.join(self.queries)}" if self.queries else ""
        plan, _ = self.log.best_single()
        many = len(self.log.entries)
        conditions = "one condition" if many == 1 else f"{many} conditions"
        return (
            f"{self.mechanism}{whose}: {conditions}; the best single order, "
            f"{', '.join(self._named(plan))}, would have cost "
            f"{self.log.return_on_adaptivity:.2f} times as much"
        )

    def told(self) -> dict[str, Any]:
        """What it was worth to change plans, for programs."""
        plan, _ = self.log.best_single()
        return {
            "mechanism": self.mechanism,
            "queries": list(self.queries),
            "return_on_adaptivity": self.log.return_on_adaptivity,
            "best_single": self._named(plan),
            "conditions": [
                {
                    "passed": dict(zip(self.parts, entry.statistics, strict=True)),
                    "nanos": dict(zip(self.parts, entry.conditions.times, strict=True)),
                    "plan": self._named(entry.plan),
                    "rows": entry.weight,
                    "visits": entry.visits,
                }
                for entry in self.log.entries
            ],
        }

    def _named(self, plan: Plan) -> list[str]:
        return [self.parts[number] for number in plan]

    def to_json(self) -> dict[str, Any]:
        entries = [entry.to_json() for entry in self.log.entries]
        return {**vars(self), "log": entries}

    @staticmethod
    def from_json(record: dict[str, Any]) -> Lesson:
        lesson = Lesson(record["mechanism"], tuple(record["queries"]), tuple(record["parts"]))
        lesson.log.entries = [Entry.from_json(entry) for entry in record["log"]]
        return lesson


class Learning:
    """Keeps what was learned, by name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lessons = kept_lessons(root)
        self._next = time.monotonic()
        self._is_new = False

    def end_batch(self, learned: Iterable[Learned], at_once: bool) -> None:
        """Add what a batch has taught; `at_once`: perhaps none follows soon."""
        for one in learned:
            if one.ran:
                known = Lesson(one.mechanism, one.queries, one.parts)
                lesson = self._lessons.setdefault(one.name, known)
                for ran in one.ran:
                    lesson.log.hear(ran)
                self._is_new = True
        began = time.monotonic()
        if self._is_new and (at_once or began >= self._next):
            partial = self._root / f".{_FILE}"
            partial.write_text(json.dumps({n: one.to_json() for n, one in self._lessons.items()}))
            os.replace(partial, self._root / _FILE)
            self._is_new = False
            ended = time.monotonic()
            self._next = ended + (ended - began) / _SHARE


def kept_lessons(root: Path) -> dict[str, Lesson]:
    path = root / _FILE
    if not path.exists():
        return {}
    return {name: Lesson.from_json(one) for name, one in json.loads(path.read_text()).items()}
