"""Systems run in turn, several times over, and ratios of what they did.

Each round runs every system once, so whatever slows the machine down for a while
meets all of them; a ratio compares runs of one round, and the median of the rounds
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from thalweg.bench.trial import Run

Runs = Mapping[str, list[Run]]

_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Options:
    """How a benchmark is run: on how many rows, how many rounds, where data are kept, and
    whether charts are wanted."""

    rows: int | None
    repeats: int | None
    quick: bool
    cache: Path
    notice: Callable[[str], None] = lambda text: None
    charts: bool = False

    def rows_or(self, usual: int, quick: int) -> int:
        return self.rows or (quick if self.quick else usual)

    def repeats_or(self, usual: int, fewest: int = 1) -> int:
        return max(fewest, self.repeats or (1 if self.quick else usual))


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of some numbers, and how far they go."""

    median: float
    lowest: float
    highest: float


def spread(numbers: Sequence[float]) -> Spread:
    return Spread(median(numbers), min(numbers), max(numbers))


@dataclass(frozen=True, slots=True)
class System:
    """A system to be compared: the names of its runs, and what runs them all."""

    names: tuple[str, ...]
    run: Callable[[], list[Run]]


def in_turn(systems: Sequence[System], options: Options) -> Runs:
    """The runs of all systems; after a wrong answer nothing more is run."""
    runs: dict[str, list[Run]] = {name: [] for system in systems for name in system.names}
    repeats = options.repeats_or(_ROUNDS)
    for number in range(repeats):
        for system in systems:
            options.notice(f"round {number + 1} of {repeats}: {system.names[0]}")
            for name, run in zip(system.names, system.run(), strict=True):
                runs[name].append(run)
            if any(runs[name][-1].wrong for name in system.names):
                return runs
    return runs


def rates(runs: Sequence[Run]) -> list[float]:
    return [run.rate for run in runs]


def better(*rates_by_size: Sequence[float]) -> list[float]:
    """The best rate of each round."""
    return [max(some) for some in zip(*rates_by_size, strict=True)]


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """How many times theirs ours is."""
    return spread([a / b for a, b in zip(ours, theirs, strict=True)])
