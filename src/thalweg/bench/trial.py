"""One run of one system in a process of its own, on two cores.

Nothing that a run leaves behind (compiled code, caches, a Java machine) helps or
hinders the next one.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ParamSpec, TypeVar

from thalweg.bench.digest import Digest

CORES = 2
_LINES_OF_A_FAILURE = 12

P = ParamSpec("P")
T = TypeVar("T")
J = TypeVar("J")


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch: when it began, how long it took, and its parts by name, in seconds."""

    began: float
    seconds: float
    parts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Run:
    """A steady run: rows fed, and the time from its first batch to its last commit.

    `parts` says where the time went, in seconds; parts of tasks that run side by side
    add up to more than the time. If the answers were wrong, `wrong` says how.
    """

    rows: int
    seconds: float
    batches: tuple[Batch, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)
    wrong: str | None = None

    @property
    def rate(self) -> float:
        return self.rows / self.seconds


def checked(run: Run, answers: Digest, expected: Digest) -> Run:
    """The run, marked if it did not answer as expected."""
    if answers == expected:
        return run
    return replace(run, wrong=f"answers are {answers}, not {expected}")


def after_warm_ups(
    jobs: Sequence[J], warm_up: Callable[[J], Run], steady: Callable[[J], Run]
) -> list[Run]:
    """Runs on machinery that runs over few rows have brought to speed.

    What answers few rows wrong is not timed at all.
    """
    first = [warm_up(job) for job in jobs]
    return first if any(run.wrong for run in first) else [steady(job) for job in jobs]


class TrialFailed(Exception):
    """A system did not come to its end; the message is the end of what it said."""


def in_own_process(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a function of some module, called in a new process."""
    with tempfile.TemporaryDirectory(prefix="thalweg-trial-") as name:
        folder = Path(name)
        (folder / "call").write_bytes(pickle.dumps((function, args, kwargs)))
        with open(folder / "log", "wb") as log:
            code = subprocess.run(
                [sys.executable, "-m", "thalweg.bench.trial", name], stdout=log, stderr=log
            ).returncode
        if code:
            lines = (folder / "log").read_text(errors="replace").splitlines()
            raise TrialFailed("\n".join(line[:300] for line in lines[-_LINES_OF_A_FAILURE:]))
        result: T = pickle.loads((folder / "result").read_bytes())
        return result


def _keep_to_cores() -> None:
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def main(folder: Path) -> None:
    _keep_to_cores()
    function, args, kwargs = pickle.loads((folder / "call").read_bytes())
    (folder / "result").write_bytes(pickle.dumps(function(*args, **kwargs)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
