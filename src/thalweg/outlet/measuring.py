"""What the tasks of a job have measured lately, kept for whoever asks how it runs.

It is kept in one file under the job's root. Nothing depends on it: a job that begins anew
measures anew.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thalweg.adapt.measured import Measured, Step, summed
from thalweg.intake.take import Taken
from thalweg.shard.step import ShardResult

# What is older than twice this is forgotten.
_PERIOD_SECONDS = 30.0
# The part of the time that writing may take.
_SHARE = 0.005
_FILE = "measured.json"

# Where something is measured: in the intake of a stream, or, without a name, in the shards.
Where = str | None


@dataclass
class Account:
    """What all tasks measured together in some batches: their rows and seconds, what the
    tasks spent their own seconds on, and the steps of operators.

    Tasks that take the same steps in different orders are shown in that of one of them.
    """

    batches: int = 0
    rows: int = 0
    seconds: float = 0.0
    spent: Counter[str] = field(default_factory=Counter)
    found: dict[tuple[Where, str, int | None, str], Measured] = field(default_factory=dict)

    def add_batch(self, takes: list[Taken], results: list[ShardResult], seconds: float) -> None:
        self.batches += 1
        self.seconds += seconds
        self.rows += sum(taken.rows for taken in takes)
        for taken in takes:
            self.spent.update(taken.seconds)
            self._add(taken.stream, taken.measured)
        for result in results:
            self.spent.update(result.seconds)
            self._add(None, result.measured)

    def _add(self, where: Where, measured: Iterable[Measured]) -> None:
        for one in measured:
            key = (where, one.mechanism, one.operator, one.subject)
            known = self.found.get(key)
            self.found[key] = one if known is None else summed(known, one)

    def and_then(self, later: Account) -> Account:
        both = Account(
            self.batches + later.batches,
            self.rows + later.rows,
            self.seconds + later.seconds,
            self.spent + later.spent,
            dict(self.found),
        )
        for (where, *_), measured in later.found.items():
            both._add(where, [measured])
        return both

    def of(self, where: Where, mechanism: str) -> list[Measured]:
        wanted = (where, mechanism)
        return [measured for key, measured in self.found.items() if key[:2] == wanted]

    def to_json(self) -> dict[str, Any]:
        found = [{"where": where, **asdict(m)} for (where, *_), m in self.found.items()]
        return {**vars(self), "found": found}

    @staticmethod
    def from_json(document: dict[str, Any]) -> Account:
        found = document.pop("found")
        account = Account(**{**document, "spent": Counter(document["spent"])})
        for record in found:
            where, steps, queries = (record.pop(key) for key in ("where", "steps", "queries"))
            own = tuple(Step(**step) for step in steps)
            account._add(where, [Measured(**record, steps=own, queries=tuple(queries))])
        return account


class Measuring:
    """Keeps the account of the last minute or so."""

    def __init__(self, root: Path) -> None:
        self._path = root / _FILE
        self._before, self._now = Account(), Account()
        self._ended = self._next = time.monotonic()

    def end_batch(self, takes: list[Taken], results: list[ShardResult], at_once: bool) -> None:
        """Add a batch; `at_once`: perhaps none follows soon."""
        began = time.monotonic()
        if self._now.seconds > _PERIOD_SECONDS:
            self._before, self._now = self._now, Account()
        self._now.add_batch(takes, results, began - self._ended)
        self._ended = began
        if at_once or began >= self._next:
            partial = self._path.with_suffix(".partial")
            partial.write_text(json.dumps(self._before.and_then(self._now).to_json()))
            os.replace(partial, self._path)
            ended = time.monotonic()
            self._next = ended + (ended - began) / _SHARE


def kept_account(root: Path) -> Account | None:
    path = root / _FILE
    return Account.from_json(json.loads(path.read_text())) if path.exists() else None
