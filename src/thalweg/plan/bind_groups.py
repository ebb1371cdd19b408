"""GROUP BY: a select list over groups, split into what is computed per row, per
group, and from the values of the group."""

from __future__ import annotations

from dataclasses import dataclass, replace

from thalweg.errors import QueryError
from thalweg.functions import AGGREGATES
from thalweg.plan.bind_calls import has_aggregate
from thalweg.plan.expressions import (
    AggregateCall,
    Column,
    Expression,
    OuterColumn,
    transform,
)
from thalweg.plan.nodes import (
    Aggregate,
    PartitionWindow,
    Plan,
    QueryScan,
    RangeWindow,
    RowsWindow,
)
from thalweg.plan.text import column_name, expression_text


@dataclass(frozen=True)
class GroupedOutput:
    """The bound clauses of a SELECT before its groups are formed."""

    plan: Plan
    keys: list[Expression]
    all_keys: bool
    has_group: bool
    outputs: list[Expression]
    having: Expression | None
    sort: list[Expression]


def grouped(select: GroupedOutput) -> GroupedOutput:
    """The same clauses over an `Aggregate`, or unchanged if nothing is grouped."""
    clauses = [*select.outputs, *select.sort, *([select.having] if select.having else [])]
    if not select.has_group and not any(has_aggregate(clause) for clause in clauses):
        if select.having is not None:
            raise QueryError(
                "HAVING needs GROUP BY or an aggregate",
                select.having.span,
                hint="filter rows with WHERE",
            )
        return select
    keys = list(select.keys)
    if select.all_keys:
        keys = [output for output in select.outputs if not has_aggregate(output)]
    keys = list(dict.fromkeys(keys))
    for key in keys:
        if has_aggregate(key):
            raise QueryError(
                "GROUP BY cannot use an aggregate", key.span, hint="filter groups with HAVING"
            )
    calls: list[AggregateCall] = []
    rewritten = [_over_groups(clause, keys, calls) for clause in clauses]
    names = [column_name(key) for key in keys]
    plan = Aggregate(
        select.plan,
        tuple(keys),
        tuple(names),
        tuple(calls),
        tuple(column_name(call) for call in calls),
    )
    outputs = rewritten[: len(select.outputs)]
    sort = rewritten[len(outputs) : len(outputs) + len(select.sort)]
    having = rewritten[-1] if select.having is not None else None
    return replace(select, plan=plan, outputs=outputs, sort=sort, having=having)


def _over_groups(
    expression: Expression, keys: list[Expression], calls: list[AggregateCall]
) -> Expression:
    """The expression in terms of the columns of the aggregate: keys first, then calls."""
    if expression in keys:
        position = keys.index(expression)
        return Column(
            index=position,
            name=column_name(expression),
            type=expression.type,
            span=expression.span,
        )
    if isinstance(expression, AggregateCall):
        if expression not in calls:
            calls.append(expression)
        return Column(
            index=len(keys) + calls.index(expression),
            name=column_name(expression),
            type=expression.type,
            span=expression.span,
        )
    if isinstance(expression, Column):
        raise QueryError(
            f'column "{expression.name}" is neither grouped nor aggregated',
            expression.span,
            hint=f"add it to GROUP BY, or use an aggregate such as max({expression.name})",
        )
    if expression.subplans:
        expression = _subqueries_over_groups(expression, keys)
    children = expression.children
    changed = tuple(_over_groups(child, keys, calls) for child in children)
    if any(new is not old for new, old in zip(changed, children, strict=True)):
        return expression.with_children(changed)
    return expression


def _subqueries_over_groups(expression: Expression, keys: list[Expression]) -> Expression:
    """Correlated columns of a subquery in HAVING or the select list are group keys."""
    positions: dict[int, int] = {}
    for position, key in enumerate(keys):
        if isinstance(key, Column):
            positions[key.index] = position

    def moved(part: Expression) -> Expression:
        if not isinstance(part, OuterColumn):
            return part
        if part.index not in positions:
            raise QueryError(f'column "{part.name}" is neither grouped nor aggregated', part.span)
        return replace(part, index=positions[part.index])

    plan = expression.subplans[0].map_expressions(lambda e: transform(e, moved))
    return replace(expression, plan=plan)  # type: ignore[call-arg]


def check_approximate(plan: Plan) -> None:
    """Sketches cannot forget: approximate aggregates need windows that never lose single rows."""
    for node in plan.walk():
        if not isinstance(node, Aggregate):
            continue
        for call in node.calls:
            if call.path is None and AGGREGATES[call.function].approximate:
                window = _forgetful_window(node.input)
                if window is not None:
                    raise QueryError(
                        f"{call.function} cannot run over a window that loses rows one by one",
                        call.span,
                        detail=f"{expression_text(call)} keeps a sketch, and a sketch cannot "
                        "forget a single row.",
                        hint="use [RANGE … SLIDE …], [TUMBLE …] or [UNBOUNDED], or an exact "
                        "aggregate such as count(DISTINCT x) or percentile(x, p)",
                    )


def _forgetful_window(plan: Plan) -> Plan | None:
    if isinstance(plan, RangeWindow | RowsWindow | PartitionWindow):
        return plan
    if isinstance(plan, QueryScan):
        return None if plan.is_stream else _forgetful_window(plan.plan)
    if plan.is_stream:
        return None
    for child in plan.inputs:
        found = _forgetful_window(child)
        if found is not None:
            return found
    return None
