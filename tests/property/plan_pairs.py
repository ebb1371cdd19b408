"""What a plan is made of, in words: which operator stands above which window.

Two random queries with the same pairs test much the same; a pair that never comes
up is not tested at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from thalweg.plan.expressions import (
    Exists,
    Expression,
    InSubquery,
    ScalarSubquery,
    outer_columns_used,
    walk,
)
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Dstream,
    Filter,
    Istream,
    Join,
    JoinKind,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RangeWindow,
    RowsWindow,
    Rstream,
    SetKind,
    SetOperation,
    SlideWindow,
    StreamScan,
    TableScan,
    Top,
    UnboundedWindow,
    Window,
)

WINDOWS = ("now", "range", "slide", "tumble", "rows", "partition", "unbounded")
# What a window can stand on.
STREAMS = ("stream", "query", "istream", "dstream", "rstream")
OPERATORS = (
    "filter",
    "project",
    "distinct",
    "top",
    "group",
    "aggregate",
    "having",
    "istream",
    "dstream",
    "rstream",
    "query",
    *(f"{kind.value} join" for kind in JoinKind),
    *(f"{kind.value}{all_}" for kind in SetKind for all_ in ("", " all")),
)
SUBQUERIES = tuple(
    f"{correlated}{kind}"
    for kind in ("exists", "in", "scalar")
    for correlated in ("", "correlated ")
)
# Operators of relations that can stand directly on a table.
TABLED = ("filter", "project", "inner join", "left join", "semi join", "anti join", "union")

Pair = tuple[str, str]


def every_pair() -> set[Pair]:
    """All that random cases must bring, each at least once."""
    above = product((*OPERATORS, *SUBQUERIES), WINDOWS)
    return {*above, *product(WINDOWS, STREAMS), *product(TABLED, ("table",))}


def pairs(plan: Plan) -> set[Pair]:
    """Operator and window or table below it with no other window between; window and stream."""
    found: set[Pair] = set()
    for node in _nodes(plan):
        if isinstance(node, Window):
            found.add((window_word(node), stream_word(node.input)))
        else:
            found |= set(product(operator_words(node), _feet(node)))
        for expression in node.expressions:
            for part in walk(expression):
                for subplan in part.subplans:
                    found |= set(product([subquery_word(part, subplan)], _feet(subplan)))
    return found


def _nodes(plan: Plan) -> Iterator[Plan]:
    """All nodes, those of other queries included."""
    for node in plan.walk():
        yield node
        if isinstance(node, QueryScan):
            yield from _nodes(node.plan)


def _feet(plan: Plan) -> set[str]:
    """The windows and tables that a node stands on."""
    if isinstance(plan, Window):
        return {window_word(plan)}
    if isinstance(plan, TableScan):
        return {"table"}
    below = plan.inputs if not isinstance(plan, QueryScan) else (plan.plan,)
    return {word for child in below for word in _feet(child)}


def window_word(window: Window) -> str:
    match window:
        case RangeWindow(span=0):
            return "now"
        case RangeWindow():
            return "range"
        case SlideWindow(span=span, step=step):
            return "tumble" if span == step else "slide"
        case RowsWindow():
            return "rows"
        case PartitionWindow():
            return "partition"
        case UnboundedWindow():
            return "unbounded"
    raise AssertionError(f"unknown window {window}")


def stream_word(plan: Plan) -> str:
    match plan:
        case StreamScan():
            return "stream"
        case QueryScan():
            return "query"
        case Project():
            return stream_word(plan.input)
        case Istream() | Dstream() | Rstream():
            return type(plan).__name__.lower()
    raise AssertionError(f"unknown stream {plan}")


def operator_words(plan: Plan) -> list[str]:
    match plan:
        case Filter(input=Aggregate()):
            return ["having"]
        case Filter() | Project() | Distinct() | Top() | Istream() | Dstream() | Rstream():
            return [type(plan).__name__.lower()]
        case Aggregate(keys=keys):
            return ["group" if keys else "aggregate"]
        case QueryScan():
            return ["query"]
        case Join(kind=kind):
            return [f"{kind.value} join"]
        case SetOperation(kind=kind, all=all_):
            return [f"{kind.value} all" if all_ else kind.value]
    return []


def subquery_word(part: Expression, plan: Plan) -> str:
    kinds = {Exists: "exists", InSubquery: "in", ScalarSubquery: "scalar"}
    return ("correlated " if outer_columns_used(plan) else "") + kinds[type(part)]
