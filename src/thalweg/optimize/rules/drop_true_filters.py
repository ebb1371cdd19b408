"""Filter(TRUE) → its input."""

from __future__ import annotations

from thalweg.plan.expressions import Literal
from thalweg.plan.nodes import Filter, Plan


def drop_true_filters(plan: Plan) -> Plan:
    match plan:
        case Filter(input=source, predicate=Literal(value=True)):
            return source
    return plan
