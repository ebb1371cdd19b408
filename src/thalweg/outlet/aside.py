"""What did not get through: late rows, rejects and failed calls, batch by batch.

Most batches have none of these and leave nothing.
"""

from __future__ import annotations

import os
import pickle
import secrets
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from thalweg.dataflow import Noted
from thalweg.intake.take import Taken
from thalweg.shard.step import ShardResult
from thalweg.sources import Accepted, Reject
from thalweg.work import Work


@dataclass
class Aside:
    """By stream what was late or rejected, and by query the calls that failed."""

    late: dict[str, list[Accepted]] = field(default_factory=lambda: defaultdict(list))
    rejects: dict[str, list[Reject]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[str, Noted] = field(default_factory=lambda: defaultdict(dict))


def put_aside(work: Work, batch: int, takes: list[Taken], results: list[ShardResult]) -> None:
    late = {taken.stream: taken.late for taken in takes if taken.late}
    rejects = {taken.stream: taken.rejects for taken in takes if taken.rejects}
    failures: dict[str, Noted] = {}
    for failed in (*(taken.failures for taken in takes), *(r.failures for r in results)):
        for purpose, noted in failed.items():
            for query in work.placement.queries_for(purpose):
                failures.setdefault(query, {}).update(noted)
    path = _folder(work.root) / f"{batch:09d}"
    if not (late or rejects or failures) or path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{secrets.token_hex(4)}")
    with open(partial, "wb") as file:
        pickle.dump((late, rejects, failures), file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def read_aside(root: Path) -> Aside:
    aside = Aside()
    for path in sorted(_folder(root).glob("*")):
        if path.suffix:
            continue
        late, rejects, failures = pickle.loads(path.read_bytes())
        for stream, rows in late.items():
            aside.late[stream] += rows
        for stream, refused in rejects.items():
            aside.rejects[stream] += refused
        for query, noted in failures.items():
            aside.failures[query].update(noted)
    return aside


def _folder(root: Path) -> Path:
    return root / "aside"
