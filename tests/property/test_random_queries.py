"""Random queries over random streams: they bind, run, and obey the definition."""

from __future__ import annotations

from collections import Counter, deque

import pytest
from hypothesis import HealthCheck, given, settings

from thalweg.answers import Change
from thalweg.plan.nodes import Plan, QueryScan, StreamScan
from thalweg.reference import Inputs, Reference
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference, rewritten
from thalweg.testing.feeds import inputs_of
from thalweg.testing.strategies import Case, cases, random_case
from thalweg.values import shown_key

# In parts, so that several cores can share them.
PARTS = 8
PAIRS = 2000


@pytest.mark.parametrize("part", range(PARTS))
def test_rewritten_plans_answer_as_bound_ones(part: int) -> None:
    for seed in range(part, PAIRS, PARTS):
        check_rewritten(random_case(seed))


# Fewer and smaller: drawing a case takes hypothesis longer than answering it.
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(most_streams=2, most_rows=5))
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
    program = case.program()
    inputs = inputs_of(program, case.feeds())
    for query in program.catalog.queries():
        changes = list(Reference(inputs, no_python).answers(query.plan))
        # spec: streamon 9.2
        assert [c.time for c in changes] == sorted(c.time for c in changes), case
        if query.plan.is_stream:
            assert {c.sign for c in changes} <= {"+"}, case
        else:
            check_net(changes)
        instants = sorted(instants_of(inputs, query.plan, changes))
        check_every_instant(Reference(inputs, no_python), query.plan, changes, instants)


def no_python(path: str) -> object:
    raise AssertionError("random cases have no user functions")


def instants_of(inputs: Inputs, plan: Plan, changes: list[Change]) -> set[int]:
    """When something arrives or changes, and a tick before and after."""
    run = Reference(inputs, no_python)
    times = {c.time for c in changes}
    for node in plan.walk():
        if isinstance(node, StreamScan | QueryScan) and node.is_stream:
            times |= {element.time for element in run.stream(node)}
    return {time + tick for time in times for tick in (-1, 0, 1)}


def check_net(changes: list[Change]) -> None:
    """Equal + and - of one instant never meet."""
    signs: dict[tuple[object, ...], set[str]] = {}
    for change in changes:
        signs.setdefault((change.time, shown_key(change.values)), set()).add(change.sign)
    # spec: streamon 9.4
    assert all(len(s) == 1 for s in signs.values()), "outputs are net per instant"


def check_every_instant(
    run: Reference, plan: Plan, changes: list[Change], instants: list[int]
) -> None:
    """The records up to an instant add up to the relation at it; a stream's are those at it.

    `answer_at` computes each instant by itself, so it also finds a change that
    `answers` has not looked for.
    """
    bag: Counter[tuple[object, ...]] = Counter()
    waiting = deque(changes)
    for now in instants:
        if plan.is_stream:
            bag.clear()
        while waiting and waiting[0].time <= now:
            change = waiting.popleft()
            bag[shown_key(change.values)] += 1 if change.sign == "+" else -1
        assert min(bag.values(), default=0) >= 0, "only what is there can leave"
        assert +bag == Counter(shown_key(values) for values in run.answer_at(plan, now)), now
