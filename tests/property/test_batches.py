"""The engine, batch by batch: answers as the reference, however rows are grouped and spread."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pytest

from thalweg.testing.compare import differences
from thalweg.testing.engines import Engine, batched, engine_of, reference
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import read_golden
from thalweg.testing.strategies import Case, random_case
from thalweg.vector.compiled.store import Code, CodeStore

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.cqlt"))
# Rows per batch, and shards.
SHAPES = tuple((rows, shards) for rows in (1, 7, 1_000_000) for shards in (1, 4))
PARTS = 16
PAIRS = 2000
COMPILED_PAIRS = 104


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
def test_compiled_queries(part: int, tmp_path: Path) -> None:
    """As the others, with the expressions as machine code from the first batch on."""
    store, compiled = CodeStore(tmp_path), 0
    for seed in range(60_000 + part, 70_000, PARTS):
        case = random_case(seed)
        if not functions_of(case):
            continue
        check_shapes(case, batched(7, 1, store=store))
        compiled += 1
        if compiled * PARTS >= COMPILED_PAIRS:
            break


def functions_of(case: Case) -> int:
    """How many functions the expressions of a case are compiled to."""
    program = case.program()
    return engine_of(program, case.feeds(), 1, Unwritten()).warm()


class Unwritten(CodeStore):
    """Knows what it would compile, and does not."""

    def __init__(self) -> None:
        super().__init__(Path())

    def warm(self, codes: Iterable[Code]) -> None:
        pass


@pytest.mark.parametrize("part", range(PARTS))
def test_restarts(part: int) -> None:
    """State that was stored after every batch and read again gives the same answers."""
    for seed in range(50_000 + part, 50_200, PARTS):
        check_shapes(random_case(seed), batched(5, 2, restarts=True))
