"""The engine, batch by batch: the same answers as the reference, however rows are grouped and spread."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import read_golden
from thalweg.testing.strategies import Case, random_case

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.cqlt"))
# Rows per batch, and shards.
SHAPES = tuple((rows, shards) for rows in (1, 7, 1_000_000) for shards in (1, 4))
PARTS = 16
PAIRS = 2000


@pytest.mark.parametrize("part", range(PARTS))
def test_golden_scripts(part: int) -> None:
    # spec: streamon 9.1
    for path in GOLDEN[part::PARTS]:
        script = read_golden(path)
        if any(section.word == "error" for section in script.sections):
            continue
        for shape in SHAPES:
            verdict = run_golden(script, batched(*shape))
            assert verdict.passed, f"{path}, {shape}: {verdict.complaints}"


@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    for seed in range(part, PAIRS, PARTS):
        check_batches(random_case(seed))


def check_batches(case: Case) -> None:
    program, feeds = case.program(), case.feeds()
    expected = reference(program, feeds)
    for shape in SHAPES:
        actual = batched(*shape)(program, feeds)
        for query in program.catalog.queries():
            compare = partial(differences, columns=query.plan.schema)
            wrong = compare(expected.answers[query.name], actual.answers[query.name])
            assert not wrong, f"{shape}: {case}\n" + "\n".join(wrong)
