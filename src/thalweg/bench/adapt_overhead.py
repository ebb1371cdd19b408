"""What does it cost to measure and to look for better plans when there is nothing to be found?

Filters and joins in conditions that do not change, in the best order from the first row on,
against the same ones that are not allowed to change. What is timed is the processor's time,
for joins with that of storing the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from thalweg.adapt.choices import Adaptation
from thalweg.bench.cached_joins import same_key
from thalweg.bench.compare import Options, Spread
from thalweg.bench.drifting_joins import batches, star
from thalweg.bench.filter_race import Filters, Race
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.intervals import lower_end
from thalweg.bench.joined import OFF, Joined, digest
from thalweg.bench.probe_filters import Setting
from thalweg.bench.trial import in_own_process
from thalweg.operators.delta import Delta

ROWS, QUICK_ROWS = 200_000, 10_000
SECONDS = 120
FILTERS = Setting("filters", (0.05, 0.2, 0.4, 0.6, 0.8, 0.95))
STAR, SHARES = star(5), (0.1, 0.4, 0.7, 0.9)
SAME_KEY = same_key(5)
MOST = 0.02

# Seconds by round: of what may adapt, and of what may not; and whether they found the same.
Taken = tuple[list[float], list[float], bool]


def bench(options: Options, folder: Path) -> Findings:
    rows, repeats = options.rows_or(ROWS, QUICK_ROWS), max(2, options.repeats)
    findings = Findings("adapt-overhead: what it costs to look for better plans in vain")
    overheads: list[Spread] = []
    for name, run in (("filters", filters), ("a star join", star_join), ("one key", same_key_join)):
        options.notice(name)
        adaptive, fixed, is_right = in_own_process(run, rows, repeats)
        if not is_right:
            findings.wrong.append(f"{name}: not the same answers")
            return findings
        # The least that the fixed one is of the adaptive one is the most that is lost.
        part = lower_end(fixed, adaptive)
        overheads.append(Spread(1 - part.median, 1 - part.highest, 1 - part.lowest))
        findings.notes.append(f"{name}: at most {overheads[-1].median:.3f}")
    worst = max(overheads, key=lambda spread: spread.median)
    findings.bars.append(Bar("overhead", worst, most=MOST))
    findings.notes.append("upper ends of 95 % confidence intervals; the worst of all counts")
    return findings


def filters(rows: int, repeats: int) -> Taken:
    workload = FILTERS.workload(10 * rows)
    (phase,) = workload.phases
    chains = Filters(workload.predicates)
    adaptive, fixed, is_right = [], [], True
    for _ in range(repeats):
        race = Race([chains.adaptive(), chains.fixed(tuple(range(len(chains))))])
        race.run(phase, workload.rounds, workload.batch)
        adaptive.append(race.seconds[0])
        fixed.append(race.seconds[1])
        is_right &= len(set(race.kept)) == 1
    return adaptive, fixed, is_right


def star_join(rows: int, repeats: int) -> Taken:
    make = partial(batches, STAR, SHARES, rows, range(SECONDS), np.random.default_rng(1))
    return _joins(STAR.script(), [make() for _ in range(repeats)])


def same_key_join(rows: int, repeats: int) -> Taken:
    return _joins(SAME_KEY.script, [SAME_KEY.batches() for _ in range(repeats)])


def _joins(script: str, rounds: Iterable[Iterable[Mapping[str, Delta]]]) -> Taken:
    adaptive, fixed, is_right = [], [], True
    for some in rounds:
        runs = [Joined(script, Adaptation()), Joined(script, OFF)]
        for turn, batch in enumerate(some):
            is_right &= len({digest(runs[(turn + i) % 2].step(batch)) for i in range(2)}) == 1
        adaptive.append(runs[0].all_nanos / 1e9)
        fixed.append(runs[1].all_nanos / 1e9)
    return adaptive, fixed, is_right
