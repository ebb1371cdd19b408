"""A tree of inner and cross joins, seen as one product with conditions."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.plan.expressions import Expression, columns_used, conjuncts, moved
from thalweg.plan.nodes import Filter, Join, JoinGraph, JoinKind, Plan


def inner_members(plan: Plan) -> list[Plan]:
    """The inputs of a tree of inner and cross joins, from left to right."""
    if isinstance(plan, Join) and plan.kind in (JoinKind.INNER, JoinKind.CROSS):
        return inner_members(plan.left) + inner_members(plan.right)
    return [plan]


def placed_conditions(plan: Plan) -> list[tuple[int, Expression]]:
    """The conditions on rows of an inner join, each with the last column it looks at."""
    match plan:
        case Filter(input=source, predicate=predicate):
            conditions = [*conjuncts(predicate), *_inner_conditions(source, 0)]
        case JoinGraph(predicates=predicates):
            conditions = list(predicates)
        case _:
            conditions = list(_inner_conditions(plan, 0))
    return [(max(columns_used(condition), default=-1), condition) for condition in conditions]


def _inner_conditions(plan: Plan, start: int) -> Iterator[Expression]:
    """The conditions of such a tree, over the columns of all its inputs."""
    if not (isinstance(plan, Join) and plan.kind in (JoinKind.INNER, JoinKind.CROSS)):
        return
    yield from _inner_conditions(plan.left, start)
    yield from _inner_conditions(plan.right, start + len(plan.left.schema))
    if plan.condition is not None:
        yield from (moved(part, start) for part in conjuncts(plan.condition))
