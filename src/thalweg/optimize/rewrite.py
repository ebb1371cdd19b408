"""The driver of all rewrites: rules in order, each until it changes nothing.

A rule is a pure function from plan to plan that returns the same object when it
has nothing to do. The driver applies it at every node, from the leaves up, then
checks that the columns of the whole are still the same, and keeps a record, so
that `explain` and a bug hunt can show which rule did what.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from thalweg.plan.expressions import (
    Exists,
    Expression,
    InSubquery,
    ScalarSubquery,
    transform,
)
from thalweg.plan.nodes import Plan, QueryScan

Rule = Callable[[Plan], Plan]

# A rule that undoes another one would go on for ever; no honest plan needs this many.
_MOST_PASSES = 100


@dataclass(frozen=True, slots=True)
class Step:
    """One rule that changed a plan."""

    rule: str
    before: Plan
    after: Plan
    seconds: float


@dataclass(frozen=True, slots=True)
class Rewritten:
    plan: Plan
    steps: tuple[Step, ...]


def rewrite(plan: Plan, rules: Sequence[Rule], off: Collection[str] = ()) -> Rewritten:
    """Apply the rules in order, again and again until none changes the plan.

    `off` names rules to leave out.
    """
    steps: list[Step] = []
    for _ in range(_MOST_PASSES):
        before_pass = plan
        for rule in rules:
            name = rule_name(rule)
            if name in off:
                continue
            start = time.perf_counter()
            changed = rule(plan) if is_whole(rule) else everywhere(rule, plan)
            if changed is not plan:
                seconds = time.perf_counter() - start
                assert changed.schema == plan.schema, f"{name} has changed the columns of the plan"
                assert changed.is_stream == plan.is_stream, f"{name} has changed stream to relation"
                steps.append(Step(name, plan, changed, seconds))
                plan = changed
        if plan is before_pass:
            return Rewritten(plan, tuple(steps))
    raise AssertionError(f"the rules do not come to an end: {[s.rule for s in steps[-10:]]}")


def whole_plan(rule: Rule) -> Rule:
    """Mark a rule that looks at the plan as a whole instead of node by node."""
    rule.__dict__["whole"] = True
    return rule


def is_whole(rule: Rule) -> bool:
    return bool(getattr(rule, "whole", False))


def rule_name(rule: Rule) -> str:
    return getattr(rule, "__name__", str(rule))


def everywhere(rule: Rule, plan: Plan) -> Plan:
    """Apply a rule at every node from the leaves up, subqueries and named queries included."""
    inputs = plan.inputs
    new_inputs = tuple(everywhere(rule, child) for child in inputs)
    if any(new is not old for new, old in zip(new_inputs, inputs, strict=True)):
        plan = plan.with_inputs(new_inputs)
    if isinstance(plan, QueryScan):
        inner = everywhere(rule, plan.plan)
        if inner is not plan.plan:
            plan = replace(plan, plan=inner)
    plan = in_subqueries(lambda subplan: everywhere(rule, subplan), plan)
    return rule(plan)


def in_subqueries(change: Callable[[Plan], Plan], plan: Plan) -> Plan:
    """The node with the plans inside its expressions changed."""

    def changed(part: Expression) -> Expression:
        if isinstance(part, Exists | InSubquery | ScalarSubquery):
            subplan = change(part.plan)
            return part if subplan is part.plan else replace(part, plan=subplan)
        return part

    expressions = plan.expressions
    new = tuple(transform(expression, changed) for expression in expressions)
    if any(a is not b for a, b in zip(new, expressions, strict=True)):
        return plan.with_expressions(new)
    return plan
