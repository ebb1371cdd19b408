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

from thalweg.intake.take import Taken
from thalweg.shard.step import ShardResult
from thalweg.sources import Accepted, Reject

Failure = tuple[str, str, str]


@dataclass
class Aside:
    """By stream what was late or rejected, and the calls that failed."""

    late: dict[str, list[Accepted]] = field(default_factory=lambda: defaultdict(list))
    rejects: dict[str, list[Reject]] = field(default_factory=lambda: defaultdict(list))
    failures: set[Failure] = field(default_factory=set)


def put_aside(root: Path, batch: int, takes: list[Taken], results: list[ShardResult]) -> None:
    late = {taken.stream: taken.late for taken in takes if taken.late}
    rejects = {taken.stream: taken.rejects for taken in takes if taken.rejects}
    failures = {failure for result in results for failure in result.failures}
    failures |= {failure for taken in takes for failure in taken.failures}
    path = _folder(root) / f"{batch:09d}"
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
        aside.failures |= failures
    return aside


def _folder(root: Path) -> Path:
    return root / "aside"
