"""What the rules need to know about a predicate before they move it."""

from __future__ import annotations

from thalweg.plan.expressions import (
    Column,
    Expression,
    OuterColumn,
    columns_used,
    transform,
    walk,
)
from thalweg.types import DOUBLE, FLOAT, ArrayType, StructType, Type


def has_subquery(expression: Expression) -> bool:
    """Whether it holds a subquery.

    A query begins with the first row of any stream it reads, and RSTREAM emits at
    the arrivals of all of them: a subquery counts even where its value does not.
    """
    return any(part.subplans for part in walk(expression))


def is_timeless(predicate: Expression) -> bool:
    """Whether the predicate depends on its row alone.

    A subquery's answer changes as time goes on, so a row may pass at one instant
    and not at the next; and a correlated column belongs to another query's row.
    """
    return not any(part.subplans or isinstance(part, OuterColumn) for part in walk(predicate))


def substituted(predicate: Expression, values: tuple[Expression, ...]) -> Expression:
    """The predicate with every column replaced by the expression that computes it."""
    return transform(
        predicate, lambda part: values[part.index] if isinstance(part, Column) else part
    )


def reads_only(predicate: Expression, start: int, end: int) -> bool:
    """Whether all columns read lie in positions start ≤ i < end, and there are some."""
    used = columns_used(predicate)
    return bool(used) and all(start <= i < end for i in used)


def has_unlike_equals(type_: Type) -> bool:
    """Whether equal values may differ to a predicate: 0.0 and -0.0, also inside other values.

    They are one group, one partition key and one row of a set, shown as one of
    them, but `CAST(x AS STRING)` tells them apart.
    """
    match type_:
        case ArrayType(element=element):
            return has_unlike_equals(element)
        case StructType(fields=fields):
            return any(has_unlike_equals(part.type) for part in fields)
    return type_ in (FLOAT, DOUBLE)
