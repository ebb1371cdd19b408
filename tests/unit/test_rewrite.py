"""The rewrite driver: order, fixed point, records, switches, and its own checks."""

from __future__ import annotations

import pytest

from thalweg.errors import SourceText
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.plan.nodes import Distinct, Filter, Plan, Project, RangeWindow
from thalweg.program import bind_script

SCRIPT = """
CREATE STREAM S (a INT, b INT, c INT) FROM memory();
CREATE QUERY q AS SELECT a FROM S [RANGE 5] WHERE a > 1 + 1 AND b = 2
"""


@pytest.fixture
def plan() -> Plan:
    return bind_script(SourceText("test", SCRIPT)).query("q").plan


def test_every_step_is_recorded(plan: Plan) -> None:
    result = rewrite(plan, RULES)
    assert [step.rule for step in result.steps] == [
        "fold_constants",
        "split_conjunctions",
        "push_filter_below_time_window",
        "drop_unused_columns",
        "merge_projections",
    ]
    assert result.steps[0].before is plan
    assert result.steps[-1].after is result.plan
    assert all(step.seconds >= 0 for step in result.steps)


def test_a_rewritten_plan_is_a_fixed_point(plan: Plan) -> None:
    once = rewrite(plan, RULES).plan
    assert rewrite(once, RULES).plan is once


def test_a_rule_can_be_switched_off(plan: Plan) -> None:
    result = rewrite(plan, RULES, off={"push_filter_below_time_window"}).plan
    [window] = [node for node in result.walk() if isinstance(node, RangeWindow)]
    assert not isinstance(window.input, Filter)


def test_a_rule_may_not_change_the_columns(plan: Plan) -> None:
    def drop_projection(node: Plan) -> Plan:
        return node.input if isinstance(node, Project) else node

    with pytest.raises(AssertionError, match="drop_projection has changed the columns"):
        rewrite(plan, (drop_projection,))


def test_rules_that_never_end_are_found(plan: Plan) -> None:
    def wrap(node: Plan) -> Plan:
        return Distinct(node) if isinstance(node, Project) else node

    with pytest.raises(AssertionError, match="do not come to an end"):
        rewrite(plan, (wrap,))
