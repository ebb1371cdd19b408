"""What was decided in a job, batch by batch. Most batches leave nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path

from thalweg.adapt.decisions import Decision
from thalweg.intake.take import Taken
from thalweg.shard.step import ShardResult


def decided_in(takes: Iterable[Taken], results: Iterable[ShardResult]) -> list[Decision]:
    """What the tasks of a batch have decided."""
    by_task = chain((t.decisions for t in takes), (r.decisions for r in results))
    return list(chain.from_iterable(by_task))


def keep_decisions(root: Path, batch: int, decisions: Sequence[Decision]) -> None:
    """A batch that is repeated may decide otherwise; what stands here stays."""
    path = _folder(root) / f"{batch:09d}.json"
    if not decisions or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with open(partial, "w", encoding="utf-8") as file:
        json.dump([asdict(decision) for decision in decisions], file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def kept_decisions(root: Path) -> Iterator[tuple[int, Decision]]:
    """All decisions with their batches."""
    for path in sorted(_folder(root).glob("*.json")):
        for record in json.loads(path.read_text()):
            lists = {key: tuple(record[key]) for key in ("before", "after", "queries")}
            yield int(path.stem), Decision(**{**record, **lists})


def _folder(root: Path) -> Path:
    return root / "decisions"
