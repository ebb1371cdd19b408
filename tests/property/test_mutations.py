"""The kit catches wrong rewrite rules: each one changes some random answer.

Only a different answer counts. A wrong rule that breaks an invariant of the plan on
the way is caught by the invariant, and says nothing about the random queries.

If a rule here is no longer caught, the random queries have become too tame.
"""

from __future__ import annotations

from functools import cache

import pytest
from wrong_rules import WRONG_RULES

from thalweg.optimize.rewrite import Rule, rewrite, rule_name
from thalweg.optimize.rules import RULES
from thalweg.plan.nodes import Plan
from thalweg.program import Program
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference, rewritten_by
from thalweg.testing.feeds import Feeds
from thalweg.testing.strategies import random_case

CASES = 2000


@cache
def program_of(seed: int) -> tuple[Program, Feeds]:
    """Bound once for all rules: binding takes longer than most answers."""
    case = random_case(seed)
    return case.program(), case.feeds()


def catches(wrong: Rule, seed: int) -> bool:
    """Whether a query of the case is answered wrongly after the rule."""
    program, feeds = program_of(seed)
    rules = (*RULES, wrong)
    try:
        if not any(wrong_steps(query.plan, rules) for query in program.catalog.queries()):
            return False
        actual = rewritten_by(rules)(program, feeds).answers
    except AssertionError:
        return False
    expected = reference(program, feeds).answers
    return any(
        differences(expected[query.name], actual[query.name], query.plan.schema)
        for query in program.catalog.queries()
    )


def wrong_steps(plan: Plan, rules: tuple[Rule, ...]) -> bool:
    """Whether the last of the rules has changed the plan at all."""
    return any(step.rule == rule_name(rules[-1]) for step in rewrite(plan, rules).steps)


@pytest.mark.parametrize("wrong", WRONG_RULES, ids=rule_name)
def test_a_wrong_rule_is_caught(wrong: Rule) -> None:
    assert any(catches(wrong, seed) for seed in range(CASES))
