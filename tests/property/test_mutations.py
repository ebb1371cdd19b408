"""The kit catches wrong rewrite rules: each one changes some random answer.

Only a different answer counts. A wrong rule that breaks an invariant of the plan on
the way is caught by the invariant, and says nothing about the random queries.

If a rule here is no longer caught, the random queries have become too tame.
"""

from __future__ import annotations

import pytest
from wrong_rules import WRONG_RULES

from thalweg.optimize.rewrite import Rule, rule_name
from thalweg.optimize.rules import RULES
from thalweg.testing.compare import differences
from thalweg.testing.engines import Engine, reference, rewritten_by
from thalweg.testing.strategies import Case, random_case

CASES = 2000


def catches(engine: Engine, case: Case) -> bool:
    """Whether the engine answers wrongly."""
    program, feeds = case.program(), case.feeds()
    expected = reference(program, feeds).answers
    try:
        actual = engine(program, feeds).answers
    except AssertionError:
        return False
    return any(
        differences(expected[query.name], actual[query.name], query.plan.schema)
        for query in program.catalog.queries()
    )


@pytest.mark.parametrize("wrong", WRONG_RULES, ids=rule_name)
def test_a_wrong_rule_is_caught(wrong: Rule) -> None:
    engine = rewritten_by((*RULES, wrong))
    assert any(catches(engine, random_case(seed)) for seed in range(CASES))
