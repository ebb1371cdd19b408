"""Filters commute: one that can move is not held back by one that cannot."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from thalweg.plan.nodes import Filter, Plan

Push = Callable[[Plan], Plan]


def passing_other_filters(push: Push) -> Push:
    """Let a rule that pushes `Filter(x)` also push it past filters that stand on x."""

    @wraps(push)
    def rule(plan: Plan) -> Plan:
        pushed = push(plan)
        if pushed is not plan:
            return pushed
        match plan:
            case Filter(input=Filter(input=below, predicate=other), predicate=predicate):
                alone = Filter(below, predicate)
                pushed = rule(alone)
                if pushed is not alone:
                    return Filter(pushed, other)
        return plan

    return rule
