"""The log of what every batch needs to know before it starts.

Batch k reads entry k, and its outlet writes entry k + 1, once: a batch that is
repeated after a crash finds the same entry, so it reads the same rows under the
same promises and says the same.

Where sources are live, an entry may have to wait until there is something to do. It
is then written a second time, with what the batch is to do, and also that only once.
"""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from thalweg.adapt.learned import FoundPlan, FoundPlans
from thalweg.record_segments import Part, RecordPiece
from thalweg.segments import Piece


@dataclass(frozen=True)
class Entry:
    """Where everything stands before a batch.

    By stream: the cursor of its source, whether that is at its end, how many rows of
    it each task of the batch reads, the promise and the first and last instants. By exchange
    between shards: how far it has come, and by shard the pieces that wait. `draining`:
    all input is read, and every promise goes to the end of time; `finished`: nothing is
    left to do. `flush`: shards are to write the records that wait to become a file.

    Where sources are live: `clock` is when the batch began, in microseconds; the end of a
    source is what was there then. `waits`: there is nothing to do yet. `due` says what
    the passing of time will let out, `unwritten` whether records wait to become a file.

    `plans` are orders of filters and look-ups that were found to be good: by these tasks go that
    know nothing better.

    What the batch before left is here too: where its records lie, the parts that are
    to be published, and how many rows of each stream and records of each query there
    have been so far.
    """

    batch: int
    cursors: dict[str, Any]
    ended: dict[str, bool]
    takes: dict[str, list[int]]
    promises: dict[str, int]
    firsts: dict[str, int]
    lasts: dict[str, int]
    reached: dict[int, int]
    pieces: dict[int, list[Piece]] = field(default_factory=dict)
    draining: bool = False
    finished: bool = False
    flush: bool = False
    clock: int | None = None
    waits: bool = False
    due: list[dict[str, int]] = field(default_factory=list)
    unwritten: bool = False
    plans: FoundPlans = field(default_factory=dict)
    answers: list[RecordPiece] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)


class ControlLog:
    def __init__(self, root: Path) -> None:
        self._folder = root / "control"

    def write(self, entry: Entry) -> Entry:
        """Add an entry, or keep the one that is there."""
        return self._written(self._path(entry.batch), entry)

    def begin(self, entry: Entry) -> Entry:
        """Add what a batch does whose entry waits, or keep what is there."""
        return self._written(self._begun(entry.batch), entry)

    def _written(self, path: Path, entry: Entry) -> Entry:
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{uuid.uuid4().hex}")
            with open(partial, "w", encoding="utf-8") as file:
                json.dump(asdict(entry), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        return self.read(entry.batch)

    def read(self, batch: int) -> Entry:
        begun = self._begun(batch)
        path = begun if begun.exists() else self._path(batch)
        fields = json.loads(path.read_text(encoding="utf-8"))
        fields["reached"] = {int(n): time for n, time in fields["reached"].items()}
        fields["pieces"] = {
            int(shard): [Piece(**piece) for piece in pieces]
            for shard, pieces in fields["pieces"].items()
        }
        fields["plans"] = {
            name: FoundPlan.from_json(plan) for name, plan in fields["plans"].items()
        }
        fields["answers"] = [RecordPiece(**piece) for piece in fields["answers"]]
        fields["parts"] = [Part(**part) for part in fields["parts"]]
        return Entry(**fields)

    def has(self, batch: int) -> bool:
        return self._path(batch).exists()

    def last(self) -> int | None:
        """The newest entry; None if there is none."""
        names = [path.stem for path in self._folder.glob("*.json")]
        return max(map(int, names), default=None)

    def trim(self, batch: int) -> None:
        """Remove entries before a batch."""
        for path in (*self._folder.glob("*.json"), *self._folder.glob("*.begun")):
            if int(path.stem) < batch:
                path.unlink()

    def _path(self, batch: int) -> Path:
        return self._folder / f"{batch:09d}.json"

    def _begun(self, batch: int) -> Path:
        return self._path(batch).with_suffix(".begun")
