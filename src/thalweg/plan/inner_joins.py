"""A tree of inner and cross joins, seen as one product with conditions."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_used,
    conjuncts,
    moved,
)
from thalweg.plan.nodes import Filter, Join, JoinGraph, JoinKind, KeyClass, Plan
from thalweg.types import BOOLEAN


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


def inner_graph(plan: Join) -> JoinGraph:
    """The pairs of a join on which its condition is true; for NOT IN, not false."""
    width = len(plan.left.schema)
    condition = plan.condition
    members = (plan.left, plan.right)
    if condition is None:
        return JoinGraph(members, (), ())
    if plan.null_aware:
        true = Literal(type=BOOLEAN, value=True)
        perhaps = Call(type=BOOLEAN, function="coalesce", arguments=(condition, true))
        return JoinGraph(members, (), (perhaps,))
    keys, predicates = [], []
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)) if (
                a.type == b.type and (a.index < width) != (b.index < width)
            ):
                keys.append(KeyClass(frozenset((a.index, b.index))))
            case _:
                predicates.append(part)
    return JoinGraph(members, _merged(keys), tuple(predicates))


def _merged(keys: list[KeyClass]) -> tuple[KeyClass, ...]:
    classes: list[frozenset[int]] = []
    for key in keys:
        touching = [c for c in classes if c & key.columns]
        classes = [c for c in classes if c not in touching]
        classes.append(frozenset(key.columns.union(*touching)))
    return tuple(KeyClass(columns) for columns in classes)
