"""Reference answers at sampled instants against DuckDB's."""

from __future__ import annotations

import pytest

from thalweg.answers import Change
from thalweg.testing.compare import differences

from .case import Case
from .court import Judge, bound, kinds, needs_data, plan_of, reference_of
from .queries import CASES

FOLDERS = ("network", "sensors", "market", "moving", "web", "benchmarks")


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge()


@needs_data
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_answers_as_duckdb(case: Case, judge: Judge) -> None:
    program = bound(case)
    plan, reference = plan_of(program), reference_of(program)
    names = [column.name for column in plan.schema]
    answers = set()
    for now in case.instants:
        columns, expected = judge.answer_at(case, now)
        actual = reference.answer_at(plan, now)
        assert columns == names
        assert (
            differences(
                [Change(now, "+", row) for row in expected],
                [Change(now, "+", row) for row in actual],
                plan.schema,
            )
            == []
        ), f"at {now}"
        assert kinds(actual) == kinds(expected), f"at {now}"
        answers.add(frozenset(expected))
    assert len(answers) > 1, "the instants of this case cannot tell a right answer from a wrong one"


def test_cases_are_many_and_sampled_well() -> None:
    assert len(CASES) >= 32
    assert len({case.name for case in CASES}) == len(CASES)
    for case in CASES:
        assert len(set(case.instants)) >= 5, case.name
    for folder in FOLDERS:
        assert any(f"{{data}}/{folder}/" in case.script for case in CASES), folder
