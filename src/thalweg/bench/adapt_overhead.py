"""What does it cost to measure and to look for better plans when there is nothing to be found?

Filters and joins in conditions that do not change, against the same ones that may change nothing:
filters in the best order, joins in the orders that those that adapt have come to after a
while. What is timed is the processor's time after that while, for joins with that of
storing the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt

from thalweg.adapt.choices import Adaptation
from thalweg.bench.cached_joins import DIFFERENT, same_key
from thalweg.bench.compare import Options, Spread
from thalweg.bench.drifting_joins import batches, star
from thalweg.bench.filter_race import Filters, Race
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.intervals import lower_end
from thalweg.bench.joined import ORDERS, Joined, digest, keep_what_is_loaded, repeated
from thalweg.bench.probe_filters import Setting
from thalweg.bench.trial import in_own_process
from thalweg.operators.delta import Delta

ROWS, QUICK_ROWS = 200_000, 10_000
# Two joins that do the same differ by some hundredths, by where their memory happens to lie: so
# many rounds are needed.
SECONDS, ROUNDS = 600, 10
# Rows that are filtered for one that is joined, and how often they come round.
FILTERED, FILTERED_ROUNDS = 10, 250
FILTERS = Setting("filters", (0.05, 0.2, 0.4, 0.6, 0.8, 0.95))
STAR, SHARES = star(5), (0.1, 0.4, 0.7, 0.9)
SAME_KEY = replace(same_key(5), seconds=SECONDS)
MOST = 0.02

# The part of the rows in which orders are found, and windows filled; the stable case comes after.
START = 0.3
# Seconds of a round that is run before the others, so that all code is loaded.
WARMING = 12


@dataclass
class Taken:
    """Seconds by round, of what may adapt and of what may not. `is_right`: they found the
    same."""

    adaptive: list[float] = field(default_factory=list)
    fixed: list[float] = field(default_factory=list)
    is_right: bool = True

    def add(self, seconds: npt.NDArray[np.float64]) -> None:
        """A round, by batch."""
        adaptive, fixed = seconds[int(START * len(seconds)) :].sum(axis=0)
        self.adaptive.append(float(adaptive))
        self.fixed.append(float(fixed))


def bench(options: Options, folder: Path) -> Findings:
    rows, repeats = options.rows_or(ROWS, QUICK_ROWS), options.repeats_or(ROUNDS, 2)
    findings = Findings("adapt-overhead: what it costs to look for better plans in vain")
    overheads: list[Spread] = []
    for name, run in (("filters", filters), ("a star join", star_join), ("one key", same_key_join)):
        options.notice(name)
        taken = in_own_process(run, rows, repeats)
        if not taken.is_right:
            findings.wrong.append(f"{name}: not the same answers")
            return findings
        # The least that the fixed one is of the adaptive one is the most that is lost.
        part = lower_end(taken.fixed, taken.adaptive)
        overheads.append(Spread(1 - part.median, 1 - part.highest, 1 - part.lowest))
        middle = 1 - mean(f / a for a, f in zip(taken.adaptive, taken.fixed, strict=True))
        findings.notes.append(
            f"{name}: at most {overheads[-1].median:.4f}, on average {middle:.4f}"
        )
    worst = max(overheads, key=lambda spread: spread.median)
    findings.bars.append(Bar("overhead", worst, most=MOST))
    findings.notes.append("upper ends of 95 % confidence intervals; the worst of all counts")
    return findings


def filters(rows: int, repeats: int) -> Taken:
    workload = FILTERS.workload(FILTERED * rows)
    (phase,) = workload.phases
    chains = Filters(workload.predicates)
    taken = Taken()
    for _ in range(repeats):
        race = Race([chains.adaptive(), chains.fixed(tuple(range(len(chains))))])
        race.run(phase, FILTERED_ROUNDS, workload.batch)
        taken.add(np.array(race.batches))
        taken.is_right &= len(set(race.kept)) == 1
    return taken


def star_join(rows: int, repeats: int) -> Taken:
    def make(random: np.random.Generator) -> Iterator[dict[str, Delta]]:
        own = list(batches(STAR, SHARES, rows, range(DIFFERENT), random))
        return repeated(own, SECONDS)

    return _joins(STAR.script(), make, repeats)


def same_key_join(rows: int, repeats: int) -> Taken:
    return _joins(SAME_KEY.script, SAME_KEY.batches, repeats)


def _joins(
    script: str, make: Callable[[np.random.Generator], Iterable[Mapping[str, Delta]]], repeats: int
) -> Taken:
    random = np.random.default_rng(1)
    taken = Taken()
    for number in range(repeats + 1):
        adaptive, fixed = runs = [Joined(script, Adaptation()), Joined(script, ORDERS)]
        seconds: list[list[float]] = []
        for turn, batch in enumerate(islice(make(random), SECONDS if number else WARMING)):
            if turn == int(START * SECONDS):
                for own, other in zip(fixed.join.pipelines, adaptive.join.pipelines, strict=True):
                    own.fix(other.route)
            before = [run.all_nanos for run in runs]
            digests = {digest(runs[(turn + i) % 2].step(batch)) for i in range(2)}
            taken.is_right &= len(digests) == 1
            both = zip(runs, before, strict=True)
            seconds.append([(run.all_nanos - then) / 1e9 for run, then in both])
        if number:
            taken.add(np.array(seconds))
        else:
            keep_what_is_loaded()
    return taken
