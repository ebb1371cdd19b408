"""Plans as text and as JSON: one renderer for the terminal, golden tests and the web page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from thalweg.catalog import Query
from thalweg.optimize.rules import optimized
from thalweg.plan.expressions import Column, Exists, Expression, InSubquery, transform
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinGraph,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RangeWindow,
    RowsWindow,
    SetOperation,
    SingleRow,
    SlideWindow,
    StreamOperator,
    StreamScan,
    TableScan,
    Top,
    UnboundedWindow,
)
from thalweg.plan.placed import FinalAggregate, PartialAggregate, Received
from thalweg.plan.signature import signature
from thalweg.plan.text import expression_text
from thalweg.types import Schema
from thalweg.units import Unit, describe


def plan_at(query: Query, stage: str) -> Plan:
    """A query's plan as it is after the named stage."""
    return query.plan if stage == "bound" else optimized(query.plan).plan


def explain_text(query: Query, stage: str = "logical") -> str:
    """The plan as an indented tree, below a line that says what the query gives."""
    plan = plan_at(query, stage)
    gives = "stream" if plan.is_stream else "relation"
    columns = ", ".join(str(f) for f in plan.schema)
    return "\n".join(
        [
            f"{query.name}: {gives} of ({columns}), one tick is a {query.tick}",
            *tree(plan, query.tick),
        ]
    )


def explain_json(query: Query, stage: str = "logical") -> dict[str, Any]:
    plan = plan_at(query, stage)
    return {
        "query": query.name,
        "stage": stage,
        "tick": str(query.tick),
        "gives": "stream" if plan.is_stream else "relation",
        "plan": plan_json(plan, query.tick),
    }


def tree(plan: Plan, tick: Unit, depth: int = 1) -> Iterator[str]:
    """The lines of a plan, two spaces deeper per level.

    A query that another one reads stands for itself, unless it was placed for its reader.
    """
    yield "  " * depth + label(plan, tick)
    for name, subplan in _subqueries(plan):
        yield "  " * (depth + 1) + f"{name}:"
        yield from tree(subplan, tick, depth + 2)
    for child, own_tick in _below(plan, tick):
        yield from tree(child, own_tick, depth + 1)


def _below(plan: Plan, tick: Unit) -> list[tuple[Plan, Unit]]:
    """The inputs of a node, each with its tick."""
    if isinstance(plan, QueryScan) and any(isinstance(n, Received) for n in plan.plan.walk()):
        return [(plan.plan, Unit(tick.value * plan.scale))]
    return [(child, tick) for child in plan.inputs]


def plan_json(plan: Plan, tick: Unit) -> dict[str, Any]:
    return {
        "node": type(plan).__name__,
        "label": label(plan, tick),
        "is_stream": plan.is_stream,
        "columns": [{"name": f.name, "type": str(f.type)} for f in plan.schema],
        "signature": signature(plan),
        "subqueries": [
            {"name": name, "plan": plan_json(subplan, tick)} for name, subplan in _subqueries(plan)
        ],
        "inputs": [plan_json(child, own_tick) for child, own_tick in _below(plan, tick)],
    }


def _subqueries(plan: Plan) -> list[tuple[str, Plan]]:
    """The plans inside a node's expressions, numbered in the order of appearance."""
    found: list[tuple[str, Plan]] = []

    def visit(expression: Expression) -> None:
        for subplan in expression.subplans:
            kind = {Exists: "exists", InSubquery: "in"}.get(type(expression), "value")
            found.append((f"subquery {len(found) + 1} ({kind})", subplan))
        for child in expression.children:
            visit(child)

    for expression in plan.expressions:
        visit(expression)
    return found


def label(plan: Plan, tick: Unit) -> str:
    """One line about one node."""

    def length(ticks: int) -> str:
        return describe(ticks * tick.value)

    match plan:
        case StreamScan(name=name):
            return f"Stream {name} ({_names(plan.schema)})"
        case TableScan(name=name):
            return f"Table {name} ({_names(plan.schema)})"
        case QueryScan(name=name):
            return f"Query {name} ({_names(plan.schema)})"
        case Received(number=number):
            return f"From exchange {number} ({_names(plan.schema)})"
        case SingleRow():
            return "One row"
        case RangeWindow(span=0):
            return "Now"
        case RangeWindow(span=span):
            return f"Range {length(span)}"
        case SlideWindow(span=span, step=step):
            return f"Range {length(span)} slide {length(step)}"
        case RowsWindow(rows=rows):
            return f"Rows {rows}"
        case PartitionWindow(keys=keys, rows=rows):
            by = ", ".join(_column(i, plan.schema) for i in keys)
            return f"Partition by {by} rows {rows}"
        case UnboundedWindow():
            return "Unbounded"
        case Filter(input=source, predicate=predicate):
            return f"Filter {_shown(predicate, source.schema)}"
        case Project():
            return "Project " + ", ".join(_outputs(plan))
        case Join():
            return _join_label(plan)
        case JoinGraph():
            return _graph_label(plan)
        case Aggregate():
            return _aggregate_label(plan, plan.input.schema)
        case PartialAggregate(input=source, aggregate=aggregate):
            return "Parts of: " + _aggregate_label(aggregate, source.schema)
        case FinalAggregate(aggregate=aggregate):
            return "From parts: " + _aggregate_label(aggregate, aggregate.input.schema)
        case Distinct():
            return "Distinct"
        case SetOperation(kind=kind, all=all_):
            return kind.value.capitalize() + (" all" if all_ else "")
        case Top():
            return _top_label(plan)
        case StreamOperator():
            return type(plan).__name__
    raise AssertionError(f"no label for {type(plan).__name__}")


def _names(schema: Schema) -> str:
    return ", ".join(f.name for f in schema)


def _column(index: int, schema: Schema) -> str:
    """A column's name, with its position where the name stands twice."""
    name = schema[index].name
    twice = sum(f.name.lower() == name.lower() for f in schema) > 1
    return f"{name}#{index}" if twice else name


def _shown(expression: Expression, schema: Schema) -> str:
    """An expression over an input, with the names the input has."""

    def named(part: Expression) -> Expression:
        if isinstance(part, Column):
            return replace(part, name=_column(part.index, schema))
        return part

    return expression_text(transform(expression, named))


def _outputs(plan: Project) -> Iterator[str]:
    for output, name in zip(plan.outputs, plan.names, strict=True):
        text = _shown(output, plan.input.schema)
        yield text if text == name else f"{text} AS {name}"


def _join_label(plan: Join) -> str:
    words = plan.kind.value.capitalize() + " join"
    if plan.null_aware:
        words = "Null-aware " + words.lower()
    if plan.condition is None:
        return words
    schema = plan.left.schema + plan.right.schema
    return f"{words} on {_shown(plan.condition, schema)}"


def _graph_label(plan: JoinGraph) -> str:
    keys = [" = ".join(_column(i, plan.schema) for i in sorted(key.columns)) for key in plan.keys]
    predicates = [_shown(part, plan.schema) for part in plan.predicates]
    text = "Join graph"
    if keys:
        text += f" on {'; '.join(keys)}"
    if predicates:
        text += f" where {'; '.join(predicates)}"
    return text


def _aggregate_label(plan: Aggregate, schema: Schema) -> str:
    calls = ", ".join(_shown(call, schema) for call in plan.calls)
    if not plan.keys:
        return f"Aggregate {calls}" if calls else "Aggregate"
    keys = ", ".join(_shown(key, schema) for key in plan.keys)
    return f"Group by {keys}" + (f": {calls}" if calls else "")


def _top_label(plan: Top) -> str:
    keys = ", ".join(
        _column(key.column, plan.schema)
        + (" desc" if key.descending else "")
        + ("" if key.nulls_first is not key.descending else f" nulls {_end(key.nulls_first)}")
        for key in plan.keys
    )
    text = f"Top {plan.limit}"
    if keys:
        text += f" by {keys}"
    return text + (f" after {plan.offset}" if plan.offset else "")


def _end(first: bool) -> str:
    return "first" if first else "last"
