"""Calls on constants → their value; TRUE and FALSE taken out of AND and OR.

Sound because functions are pure. A call that fails is left in place: it is NULL
and counted wherever it is evaluated, and folding it would hide the failure. A
subquery is left in place too: the query would forget a stream that it reads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from thalweg.evaluate import Compiler, Failures, Surroundings
from thalweg.optimize.rules.predicates import has_subquery
from thalweg.plan.expressions import Call, Cast, Expression, FieldOf, Literal, transform
from thalweg.plan.nodes import Plan
from thalweg.types import BOOLEAN


def fold_constants(plan: Plan) -> Plan:
    expressions = plan.expressions
    folded = tuple(transform(expression, _folded) for expression in expressions)
    if any(new is not old for new, old in zip(folded, expressions, strict=True)):
        return plan.with_expressions(folded)
    return plan


def _folded(expression: Expression) -> Expression:
    if isinstance(expression, Call) and expression.function in ("and", "or"):
        return _folded_logic(expression)
    if not isinstance(expression, Call | Cast | FieldOf):
        return expression
    if not all(isinstance(child, Literal) for child in expression.children):
        return expression
    failures = Failures()
    value = Compiler(_no_python)(expression)((), Surroundings(None, _no_rows, failures))
    if len(failures):
        return expression
    return Literal(value=value, type=expression.type, span=expression.span)


def _folded_logic(call: Call) -> Expression:
    """`x AND TRUE` is x; `x AND FALSE` is FALSE, also where x is NULL or fails. OR likewise."""
    neutral = call.function == "and"
    left, right = call.arguments
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Literal) and one.value is not None:
            if one.value is neutral:
                return other
            if has_subquery(other):
                return call
            return replace(one, type=BOOLEAN)
    return call


def _no_python(path: str) -> Any:
    raise AssertionError("user functions are not folded")


def _no_rows(*_: object) -> Any:
    raise AssertionError("subqueries are not constant")
