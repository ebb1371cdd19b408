"""The engine, batch by batch: answers as the reference, however rows are grouped and spread."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from thalweg.testing.compare import differences
from thalweg.testing.engines import Engine, batched, reference
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import read_golden
from thalweg.testing.strategies import Case, random_case

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.cqlt"))
# Rows per batch, and shards.
SHAPES = tuple((rows, shards) for rows in (1, 7, 1_000_000) for shards in (1, 4))
PARTS = 16
PAIRS = 600


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
        check_shapes(random_case(seed), *(batched(*shape) for shape in SHAPES))


def check_shapes(case: Case, *engines: Engine) -> None:
    program, feeds = case.program(), case.feeds()
    expected = reference(program, feeds)
    for number, engine in enumerate(engines):
        actual = engine(program, feeds)
        for query in program.catalog.queries():
            compare = partial(differences, columns=query.plan.schema)
            wrong = compare(expected.answers[query.name], actual.answers[query.name])
            assert not wrong, f"engine {number}: {case}\n" + "\n".join(wrong)


@pytest.mark.parametrize("part", range(PARTS))
def test_restarts(part: int) -> None:
    """State that was stored after every batch and read again gives the same answers."""
    for seed in range(50_000 + part, 50_200, PARTS):
        check_shapes(random_case(seed), batched(5, 2, restarts=True))
