"""Filter(x IN (SELECT y …)) → rows joined with the distinct y; [NOT] EXISTS likewise.

Sound because a row passes at an instant at which some y equals x, however many do: joined with
the distinct ones it counts as often as it did, for as long. NULL equals nothing, here and there.
A subquery that reads the row outside is a join by what it says of that row, as far as it says
it in conditions above all else that it does; where these are equalities of columns, distinct
partners are enough, else it is a semi join. NOT EXISTS is an anti join; NOT IN stays, for it
asks whether anything might be equal. So does EXISTS that does not look outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from thalweg.optimize.rules.predicates import has_subquery
from thalweg.optimize.rules.push_filter_below_projection import push_filter_below_projection
from thalweg.plan.expressions import (
    Call,
    Column,
    Exists,
    Expression,
    InSubquery,
    OuterColumn,
    conjunction,
    conjuncts,
    moved,
    outer_columns_used,
    transform,
    walk,
)
from thalweg.plan.nodes import Distinct, Filter, Join, JoinKind, Plan, Project
from thalweg.types import BOOLEAN


def subquery_to_join(plan: Plan) -> Plan:
    if not isinstance(plan, Filter) or not has_subquery(plan.predicate):
        return plan
    # Filters commute; and below a projection, joins of several subqueries are one.
    others, below = [], plan.input
    while isinstance(below, Filter):
        others.append(below.predicate)
        below = below.input
    alone = Filter(below, plan.predicate)
    pushed = push_filter_below_projection(alone)
    joined: Plan | None
    if isinstance(pushed, Project):
        source = subquery_to_join(pushed.input)
        joined = None if source is pushed.input else replace(pushed, input=source)
    else:
        joined = _joined_with(below, plan.predicate)
    if joined is None:
        return plan
    for predicate in reversed(others):
        joined = Filter(joined, predicate)
    return joined


def _joined_with(source: Plan, predicate: Expression) -> Plan | None:
    match predicate:
        case InSubquery():
            return _in(source, predicate)
        case Exists(plan=subquery):
            return _exists(source, subquery)
        case Call(function="not", arguments=(Exists(plan=subquery),)):
            return _not_exists(source, subquery)
    return None


@dataclass(frozen=True)
class _Apart:
    """A subquery without what it says of the row outside: `above` are the conditions that do."""

    plan: Plan
    above: tuple[Expression, ...]

    def equal(self) -> list[tuple[Expression, Expression]] | None:
        """The pairs of the outer and the own column that are to be equal, if that is all."""
        pairs: list[tuple[Expression, Expression]] = []
        for part in self.above:
            match part:
                case Call(function="=", arguments=(Column() as own, OuterColumn() as outer)):
                    pairs.append((outer, own))
                case Call(function="=", arguments=(OuterColumn() as outer, Column() as own)):
                    pairs.append((outer, own))
                case _:
                    return None
        if any(outer.type != own.type for outer, own in pairs):
            return None
        return [(_as_column(outer), own) for outer, own in pairs]

    def condition(self, width: int) -> Expression:
        """On a row outside, of so many columns, and a row of the subquery behind it."""
        return conjunction(tuple(transform(moved(part, width), _as_column) for part in self.above))


def _as_column(part: Expression) -> Expression:
    if isinstance(part, OuterColumn):
        return Column(type=part.type, index=part.index, name=part.name)
    return part


def _apart(plan: Plan) -> _Apart | None:
    """Filters commute: those that look outside can stand above the others."""
    above: list[Expression] = []
    below: list[Expression] = []
    while isinstance(plan, Filter):
        for part in conjuncts(plan.predicate):
            if any(inner.subplans for inner in walk(part)) and _looks_outside(part):
                return None
            (above if _looks_outside(part) else below).append(part)
        plan = plan.input
    if outer_columns_used(plan):
        return None
    for part in reversed(below):
        plan = Filter(plan, part)
    return _Apart(plan, tuple(above))


def _looks_outside(expression: Expression) -> bool:
    return any(isinstance(part, OuterColumn) for part in walk(expression)) or any(
        outer_columns_used(plan) for part in walk(expression) for plan in part.subplans
    )


def _in(source: Plan, inside: InSubquery) -> Plan | None:
    outputs, subquery = _outputs(inside.plan)
    apart = _apart(subquery)
    values = inside.values
    if apart is None or any(map(_looks_outside, (*values, *outputs))):
        return None
    equal = apart.equal()
    if equal is None or any(v.type != o.type for v, o in zip(values, outputs, strict=True)):
        return None
    pairs = [*zip(values, outputs, strict=True), *equal]
    return _joined(source, apart.plan, pairs)


def _exists(source: Plan, subquery: Plan) -> Plan | None:
    apart = _below_projections(subquery)
    if apart is None or not apart.above:
        return None
    equal = apart.equal()
    if equal is not None:
        return _joined(source, apart.plan, equal)
    return Join(source, apart.plan, JoinKind.SEMI, apart.condition(len(source.schema)))


def _not_exists(source: Plan, subquery: Plan) -> Plan | None:
    apart = _below_projections(subquery)
    if apart is None or not apart.above:
        return None
    return Join(source, apart.plan, JoinKind.ANTI, apart.condition(len(source.schema)))


def _outputs(plan: Plan) -> tuple[tuple[Expression, ...], Plan]:
    """What a subquery gives, over what."""
    return (plan.outputs, plan.input) if isinstance(plan, Project) else (_columns(plan), plan)


def _columns(plan: Plan) -> tuple[Expression, ...]:
    return tuple(
        Column(type=field.type, index=i, name=field.name) for i, field in enumerate(plan.schema)
    )


def _below_projections(plan: Plan) -> _Apart | None:
    """Whether there is a row does not depend on what it shows."""
    while isinstance(plan, Project) and not any(
        part.subplans for output in plan.outputs for part in walk(output)
    ):
        plan = plan.input
    return _apart(plan)


def _joined(source: Plan, other: Plan, pairs: list[tuple[Expression, Expression]]) -> Plan:
    """The rows of a plan for as long as another one has a row that is equal in all pairs."""
    width, own = len(source.schema), _columns(source)
    names = tuple(field.name for field in source.schema)
    values = tuple(value for value, _ in pairs)
    if all(isinstance(value, Column) for value in values):
        left, keys = source, values
    else:
        more = tuple(f"value {i}" for i in range(len(values)))
        left = Project(source, (*own, *values), (*names, *more))
        keys = tuple(
            Column(type=value.type, index=width + i, name=more[i]) for i, value in enumerate(values)
        )
    right = Distinct(
        Project(
            other,
            tuple(output for _, output in pairs),
            tuple(f"member {i}" for i in range(len(pairs))),
        )
    )
    start = len(left.schema)
    condition = conjunction(
        tuple(
            Call(
                function="=",
                arguments=(
                    key,
                    Column(type=key.type, index=start + i, name=right.schema[i].name),
                ),
                type=BOOLEAN,
            )
            for i, key in enumerate(keys)
        )
    )
    return Project(Join(left, right, JoinKind.INNER, condition), own, names)
