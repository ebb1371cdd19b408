"""Do caches of subresults make joins faster, and never slower?

A join without caches (M) and one that chooses them for itself, with the same fixed orders,
have the same rows, second by second. What is timed is the processor's time of the join, with
all that is measured and decided. At the points D1 to D8 there are the best binary tree (X), in
which every subresult is kept, and the best set of prefix caches (P), too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median

import numpy as np

from thalweg.adapt.caching import Candidate, prefix_candidates, segments
from thalweg.adapt.choices import Adaptation
from thalweg.bench.cached_joins import (
    BURST_AFTER,
    POINTS,
    Case,
    dear_condition,
    few_at_the_end,
    few_of_many,
    nested_loop,
    point,
    same_key,
    three_way,
)
from thalweg.bench.compare import Options, Spread
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.intervals import lower_end
from thalweg.bench.joined import OFF, Joined, digest, keep_what_is_loaded
from thalweg.bench.trial import in_own_process

CACHED = Adaptation(filters="off", joins="off")
INDEXED, UNCACHED = Adaptation(filters="off"), Adaptation(filters="off", caches="off")
CASES = (
    *(three_way(f"a key {r} times in T", r) for r in (1, 2, 5, 10)),
    *(three_way(f"{p:g} of S has a partner", matching=p) for p in (0.1, 0.5)),
    *(three_way(f"updates x {u:g}", update_rate=u) for u in (0.25, 4.0)),
    *(same_key(n) for n in (3, 5)),
    same_key(7, rows=2000),
    few_of_many(),
    few_at_the_end(7),
    *(nested_loop(stored) for stored in (250, 500, 1000)),
    dear_condition(),
    *(point(name) for name in POINTS),
)
MEMORIES = (0, 100_000, 200_000, 400_000, 64_000_000)
ROUNDS = 7
# Of a quick run, and of one before the others: all code is loaded by then.
QUICK_SECONDS = 40
# How many times longer than the median a batch may take for a row.
PAUSE = 2.0


@dataclass
class Measured:
    """By round, in seconds; `pauses` are the times for a row of each batch, by that of the
    median."""

    plain: list[float] = field(default_factory=list)
    cached: list[float] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    used: str = ""
    is_right: bool = True


def bench(options: Options, folder: Path) -> Findings:
    repeats = options.repeats_or(ROUNDS, 2)
    findings = Findings("caching: joins that keep subresults against those that do not")
    ratios: dict[str, Spread] = {}
    for case in CASES:
        options.notice(case.name)
        found = in_own_process(measure, CASES.index(case), repeats, options.quick)
        if not found.is_right:
            findings.wrong.append(f"{case.name}: not the same combinations")
            return findings
        ratios[case.name] = lower_end(found.plain, found.cached)
        findings.notes.append(f"{case.name}: {ratios[case.name].median:.3f} ({found.used})")
    findings.bars += [
        Bar("worst_vs_mjoin", min(ratios.values(), key=lambda s: s.median), least=0.97),
        Bar("best_vs_mjoin", max(ratios.values(), key=lambda s: s.median), least=2.0),
    ]
    options.notice("burst")
    longest = in_own_process(burst, options.quick)
    findings.bars.append(Bar("longest_batch", Spread(longest, longest, longest), most=PAUSE))
    for name in POINTS:
        options.notice(f"{name}: trees")
        rates = in_own_process(side_by_side, name, options.quick)
        shown = ", ".join(f"{way} {rate:.2f}" for way, rate in rates.items())
        findings.notes.append(f"{name}, times as fast as M: {shown}")
    options.notice("memory")
    for room, ratio in in_own_process(by_memory, options.quick):
        findings.notes.append(f"few of many with {room:,} bytes: {ratio:.2f}")
    findings.notes.append("ratios are the lower ends of 95 % confidence intervals")
    return findings


def measure(number: int, repeats: int, quick: bool) -> Measured:
    case, found, random = CASES[number], Measured(), np.random.default_rng(3)
    race(case, [Joined(case.script, OFF), Joined(case.script, CACHED)], random, quick=True)
    keep_what_is_loaded()
    for _ in range(repeats):
        runs = [Joined(case.script, OFF), Joined(case.script, CACHED)]
        found.is_right &= race(case, runs, random, quick)
        found.plain.append(runs[0].nanos / 1e9)
        found.cached.append(runs[1].nanos / 1e9)
    caches = runs[1].join.caches
    assert caches is not None
    names = sorted(f"{sorted(c.members)} for {c.pipeline}" for c in caches.used)
    found.used = ", ".join(names) or "no cache"
    return found


def race(case: Case, runs: Sequence[Joined], random: np.random.Generator, quick: bool) -> bool:
    """Joins side by side, another one first each time; whether they found the same."""
    is_right = True
    for turn, batch in enumerate(islice(case.batches(random), QUICK_SECONDS if quick else None)):
        digests = {digest(runs[(turn + i) % len(runs)].step(batch)) for i in range(len(runs))}
        is_right &= len(digests) == 1
    return is_right


def burst(quick: bool) -> float:
    """The longest that a batch takes for a row, by the median, when one stream becomes twenty
    times as fast."""
    case, random = three_way("burst", burst=True, rows=1000), np.random.default_rng(3)
    joined = Joined(case.script, CACHED)
    taken = []
    for number in range(QUICK_SECONDS if quick else 2 * BURST_AFTER):
        batch = case.batch(number, random)
        before = joined.nanos
        joined.step(batch)
        rows = sum(len(delta) for delta in batch.values())
        taken.append((joined.nanos - before) / rows)
    settled = taken[len(taken) // 6 :]
    return max(settled) / median(settled)


def side_by_side(name: str, quick: bool) -> dict[str, float]:
    """By way: how many times as fast as without caches it is. All have the indexes that any
    order may need: some trees need them."""
    case, random = point(name), np.random.default_rng(3)
    plain = _in_first_orders(Joined(case.script, UNCACHED))
    ways = {"X": _trees(plain), "P": _prefix_sets(plain)}
    runs = {"M": plain, "G": _in_first_orders(Joined(case.script, INDEXED))}
    for way, sets in ways.items():
        for number, chosen in enumerate(sets):
            joined = _in_first_orders(Joined(case.script, INDEXED))
            joined.join.cache_watch = None
            caches = joined.join.caches
            assert caches is not None
            caches.use(caches.with_key(candidate) for candidate in chosen)
            runs[f"{way}{number}"] = joined
    assert race(case, list(runs.values()), random, quick), "caches change no answers"
    rates = {way: plain.nanos / joined.nanos for way, joined in runs.items()}
    return {way: max((r for n, r in rates.items() if n[0] == way), default=1.0) for way in "XPG"}


def _in_first_orders(joined: Joined) -> Joined:
    for pipeline in joined.join.pipelines:
        pipeline.fix(pipeline.route)
    return joined


def _trees(joined: Joined) -> list[list[Candidate]]:
    """By binary tree of four members: in each pipeline, the subtrees that its rows meet."""
    every = segments(_orders(joined))
    trees = []
    for pair in ({0, 1}, {0, 2}, {0, 3}):
        other = {0, 1, 2, 3} - pair
        trees.append([c for c in every if c.members in (pair, other)])
    return [tree for tree in trees if tree]


def _prefix_sets(joined: Joined) -> list[list[Candidate]]:
    """Each prefix cache in all its places."""
    every = prefix_candidates(_orders(joined))
    groups = {c.members for c in every}
    return [[c for c in every if c.members == members] for members in groups]


def _orders(joined: Joined) -> dict[int, tuple[int, ...]]:
    return {p.root: p.members(p.order.order) for p in joined.join.pipelines}


def by_memory(quick: bool) -> list[tuple[int, float]]:
    found, random = [], np.random.default_rng(3)
    for room in MEMORIES:
        case = few_of_many()
        given = Adaptation(filters="off", joins="off", cache_memory_bytes=room)
        runs = [Joined(case.script, OFF), Joined(case.script, given)]
        race(case, runs, random, quick)
        found.append((room, runs[0].nanos / runs[1].nanos))
    return found
