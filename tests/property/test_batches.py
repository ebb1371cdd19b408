"""The engine, batch by batch: the same answers as the reference, however rows are grouped."""

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
SIZES = (1, 7, 1_000_000)
PARTS = 8
PAIRS = 2000


@pytest.mark.parametrize("part", range(PARTS))
def test_golden_scripts(part: int) -> None:
    # spec: streamon 9.1
    for path in GOLDEN[part::PARTS]:
        script = read_golden(path)
        if script.expects("error"):
            continue
        for size in SIZES:
            verdict = run_golden(script, batched(size))
            assert verdict.passed, f"{path}, {size} rows: {verdict.complaints}"


@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries(part: int) -> None:
    for seed in range(part, PAIRS, PARTS):
        check_batches(random_case(seed))


def check_batches(case: Case) -> None:
    program, feeds = case.program(), case.feeds()
    expected = reference(program, feeds)
    for size in SIZES:
        actual = batched(size)(program, feeds)
        for query in program.catalog.queries():
            compare = partial(differences, columns=query.plan.schema)
            wrong = compare(expected.answers[query.name], actual.answers[query.name])
            assert not wrong, f"{size} rows: {case}\n" + "\n".join(wrong)
