"""Random queries over random streams: they bind, run, and obey the definition."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

from thalweg.answers import Change
from thalweg.plan.nodes import Plan
from thalweg.reference import Reference
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference, rewritten
from thalweg.testing.feeds import inputs_of
from thalweg.testing.strategies import Case, cases, random_case
from thalweg.values import row_key

# In parts, so that several cores can share them.
PARTS = 8
PAIRS = 2000


@pytest.mark.parametrize("part", range(PARTS))
def test_rewritten_plans_answer_as_bound_ones(part: int) -> None:
    for seed in range(part, PAIRS, PARTS):
        check_rewritten(random_case(seed))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_rewritten_plans_answer_as_bound_ones_shrinking(case: Case) -> None:
    check_rewritten(case)


def check_rewritten(case: Case) -> None:
    program, feeds = case.program(), case.feeds()
    expected, actual = reference(program, feeds), rewritten(program, feeds)
    for query in program.catalog.queries():
        wrong = differences(
            expected.answers[query.name], actual.answers[query.name], query.plan.schema
        )
        assert not wrong, f"{case}\n" + "\n".join(wrong)


@pytest.mark.parametrize("part", range(4))
def test_answers_obey_the_definition(part: int) -> None:
    for seed in range(10_000 + part, 10_400, 4):
        check_definition(random_case(seed))


def check_definition(case: Case) -> None:
    program, feeds = case.program(), case.feeds()
    run = Reference(inputs_of(program, feeds), lambda path: None)
    for query in program.catalog.queries():
        changes = list(run.answers(query.plan))
        # spec: streamon 9.2
        assert [c.time for c in changes] == sorted(c.time for c in changes), case
        if not query.plan.is_stream:
            check_running_sum(run, query.plan, changes)


def check_running_sum(run: Reference, plan: Plan, changes: list[Change]) -> None:
    """Records up to an instant add up to the relation at it; equal + and - never meet."""
    bag: Counter[tuple[object, ...]] = Counter()
    for time in sorted({c.time for c in changes}):
        signs: dict[tuple[object, ...], set[str]] = {}
        for change in changes:
            if change.time == time:
                bag[row_key(change.values)] += 1 if change.sign == "+" else -1
                signs.setdefault(row_key(change.values), set()).add(change.sign)
        # spec: streamon 9.4
        assert all(len(s) == 1 for s in signs.values()), "outputs are net per instant"
        assert min(bag.values(), default=0) >= 0, "only what is there can leave"
        assert +bag == Counter(row_key(v) for v in run.answer_at(plan, time))
