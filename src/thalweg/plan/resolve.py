"""What a dotted name means: a column, a field of a struct, a column of the query around."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from thalweg.cql.syntax_errors import span_of
from thalweg.errors import QueryError, Span, UsesBrokenName, did_you_mean
from thalweg.plan.expressions import Column, Expression, FieldOf, OuterColumn
from thalweg.plan.scope import Scope, ScopeColumn
from thalweg.types import ArrayType, StructType

# Columns of the select list by name; None for one that has an error of its own.
Aliases = Mapping[str, Expression | None]


def resolve_name(node: exp.Expr, scope: Scope, aliases: Aliases, correlated: bool) -> Expression:
    """The bound column or field; `correlated` says whether the row around is in reach."""
    parts, spans = name_parts(node)
    assert parts is not None, "the node is a name"
    bound, used = _leading(parts, spans, scope, aliases, correlated)
    for name, span in zip(parts[used:], spans[used:], strict=True):
        bound = field_of(bound, name, span)
    return bound


def _leading(
    parts: list[str],
    spans: list[Span | None],
    scope: Scope,
    aliases: Aliases,
    correlated: bool,
) -> tuple[Expression, int]:
    """What the leading parts mean, and how many they are."""
    found = _in_scope(parts, spans, scope)
    if found is not None:
        column, used = found
        name = parts[used - 1]
        return Column(index=column.index, name=name, type=column.type, span=spans[0]), used
    alias = parts[0].lower()
    if alias in aliases:
        value = aliases[alias]
        if value is None:
            raise UsesBrokenName(spans[0])
        return replace(value, span=spans[0]), 1
    around = scope.outer
    found = _in_scope(parts, spans, around) if around is not None else None
    if found is not None:
        column, used = found
        if not correlated:
            raise _out_of_reach(
                column.name,
                spans[used - 1],
                "A subquery may use columns of the query around it in its WHERE clause.",
            )
        name = parts[used - 1]
        return OuterColumn(index=column.index, name=name, type=column.type), used
    raise _unknown(parts, spans, scope)


def _in_scope(
    parts: list[str], spans: list[Span | None], scope: Scope
) -> tuple[ScopeColumn, int] | None:
    """`t.column…`, else `column.field…`; a column may be named like its stream."""
    if len(parts) > 1 and scope.has_qualifier(parts[0]):
        column = scope.find(parts[1], parts[0], spans[1])
        if column is not None:
            return column, 2
    column = scope.find(parts[0], None, spans[0])
    return (column, 1) if column is not None else None


def _unknown(parts: list[str], spans: list[Span | None], scope: Scope) -> QueryError:
    beyond = scope.outer.outer if scope.outer is not None else None
    while beyond is not None:
        found = _in_scope(parts, spans, beyond)
        if found is not None:
            return _out_of_reach(
                found[0].name,
                spans[found[1] - 1],
                "A subquery may use columns of the query directly around it.",
            )
        beyond = beyond.outer
    if len(parts) > 1 and scope.has_qualifier(parts[0]):
        return scope.unknown(parts[1], parts[0], spans[1])
    if len(parts) > 1:
        return scope.unknown_qualifier(parts[0], spans[0])
    return scope.unknown(parts[0], None, spans[0])


def _out_of_reach(name: str, span: Span | None, detail: str) -> QueryError:
    return QueryError(
        f'column "{name}" of the enclosing query is out of reach here', span, detail=detail
    )


def name_parts(node: exp.Expr) -> tuple[list[str] | None, list[Span | None]]:
    """A dotted name as its parts, or None if it hangs on something that is no name."""
    if isinstance(node, exp.Identifier):
        return [node.name], [span_of(node)]
    if isinstance(node, exp.Dot):
        parts, spans = name_parts(node.this)
        if parts is None or not isinstance(node.expression, exp.Identifier):
            return None, []
        return [*parts, node.expression.name], [*spans, span_of(node.expression)]
    if isinstance(node, exp.Column):
        nodes = list(node.parts)
        if any(isinstance(part, exp.Star) for part in nodes):
            raise QueryError("* cannot stand here")
        return [part.name for part in nodes], [span_of(part) for part in nodes]
    return None, []


def field_of(inner: Expression, name: str, span: Span | None) -> Expression:
    if isinstance(inner.type, ArrayType) and isinstance(inner.type.element, StructType):
        raise QueryError("take an element of the array first", span, hint=f"write a[0].{name}")
    if not isinstance(inner.type, StructType):
        raise QueryError(f'{inner.type} has no field "{name}"', span)
    for i, part in enumerate(inner.type.fields):
        if part.name.lower() == name.lower():
            return FieldOf(input=inner, index=i, name=part.name, type=part.type)
    names = [part.name for part in inner.type.fields]
    raise QueryError(
        f'the struct has no field "{name}"',
        span,
        detail=f"It has: {', '.join(names)}.",
        hint=did_you_mean(name, names),
    )
