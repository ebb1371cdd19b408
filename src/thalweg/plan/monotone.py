"""Whether a relation only ever grows, and whether it moves at all.

CQL makes a stream of a query's answer unasked when the answer is monotone: what
was once in it stays, so the answer is what entered. The test is conservative.
"""

from __future__ import annotations

from thalweg.plan.expressions import Expression
from thalweg.plan.nodes import (
    Distinct,
    Filter,
    Join,
    JoinGraph,
    JoinKind,
    Plan,
    Project,
    QueryScan,
    SetKind,
    SetOperation,
    SingleRow,
    StreamScan,
    TableScan,
    UnboundedWindow,
)

_GROWING_JOINS = (JoinKind.INNER, JoinKind.CROSS, JoinKind.SEMI)


def is_monotone(plan: Plan) -> bool:
    if not all(_is_steady(expression) for expression in plan.expressions):
        return False
    match plan:
        case UnboundedWindow() | SingleRow() | TableScan():
            return True
        case QueryScan(plan=inner):
            return not inner.is_stream and is_monotone(inner)
        case Filter() | Project() | Distinct() | JoinGraph():
            return all(is_monotone(child) for child in plan.inputs)
        case Join(kind=kind):
            return kind in _GROWING_JOINS and all(is_monotone(child) for child in plan.inputs)
        case SetOperation(kind=kind):
            return kind in (SetKind.UNION, SetKind.INTERSECT) and all(
                is_monotone(child) for child in plan.inputs
            )
    return False


def _is_steady(expression: Expression) -> bool:
    """Without subqueries: their answers change, and rows may come and go with them."""
    return not expression.subplans and all(_is_steady(child) for child in expression.children)


def reads_stream(plan: Plan) -> bool:
    """Whether any source stream is below, directly or through other queries."""
    return any(
        isinstance(node, StreamScan) or (isinstance(node, QueryScan) and reads_stream(node.plan))
        for node in plan.walk()
    )
