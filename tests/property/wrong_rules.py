"""Rewrite rules that look reasonable and are wrong, each in one way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thalweg.optimize.rewrite import Rule
from thalweg.plan.expressions import (
    Call,
    Column,
    Expression,
    InSubquery,
    Literal,
    columns_used,
    moved,
    transform,
    walk,
)
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Istream,
    Join,
    JoinGraph,
    JoinKind,
    KeyClass,
    PartitionWindow,
    Plan,
    Project,
    RangeWindow,
    RowsWindow,
    SetKind,
    SetOperation,
    SlideWindow,
    Top,
    UnboundedWindow,
)
from thalweg.types import BOOLEAN, INT


def filter_below_rows_window(plan: Plan) -> Plan:
    """Dropping a row lets an older one back into the window."""
    match plan:
        case Filter(input=RowsWindow() as window, predicate=predicate):
            return window.with_inputs((Filter(window.input, predicate),))
    return plan


def filter_below_partition_window(plan: Plan) -> Plan:
    """Sound on the partition keys only."""
    match plan:
        case Filter(input=PartitionWindow() as window, predicate=predicate):
            return window.with_inputs((Filter(window.input, predicate),))
    return plan


def subquery_filter_below_range_window(plan: Plan) -> Plan:
    """Below the window a row is tested once, but the subquery's answer goes on changing."""
    match plan:
        case Filter(input=RangeWindow() | UnboundedWindow() as window, predicate=predicate):
            return window.with_inputs((Filter(window.input, predicate),))
    return plan


def filter_below_limit(plan: Plan) -> Plan:
    """The first n rows that pass are not those of the first n that pass."""
    match plan:
        case Filter(input=Top() as top, predicate=predicate):
            return top.with_inputs((Filter(top.input, predicate),))
    return plan


def global_aggregate_as_group(plan: Plan) -> Plan:
    """The one group without keys exists even when it is empty; GROUP BY 1 gives none."""
    match plan:
        case Aggregate(input=source, keys=(), calls=calls, call_names=names):
            one = Literal(value=1, type=INT)
            group = Aggregate(source, (one,), ("1",), calls, names)
            outputs = tuple(
                Column(index=i + 1, name=name, type=call.type)
                for i, (name, call) in enumerate(zip(names, calls, strict=True))
            )
            return Project(group, outputs, names)
    return plan


def filter_into_padded_side(plan: Plan) -> Plan:
    """Below a LEFT JOIN the filter drops partners instead of padded rows."""
    match plan:
        case Filter(input=Join(kind=JoinKind.LEFT) as join, predicate=predicate):
            width = len(join.left.schema)
            used = columns_used(predicate)
            if used and min(used) >= width:
                return replace(join, right=Filter(join.right, moved(predicate, -width)))
    return plan


def outer_join_to_inner(plan: Plan) -> Plan:
    match plan:
        case Join(kind=JoinKind.LEFT | JoinKind.FULL) as join:
            kind = JoinKind.INNER if join.condition is not None else JoinKind.CROSS
            return replace(join, kind=kind)
    return plan


def full_join_to_left(plan: Plan) -> Plan:
    match plan:
        case Join(kind=JoinKind.FULL) as join:
            return replace(join, kind=JoinKind.LEFT)
    return plan


def semi_join_to_inner(plan: Plan) -> Plan:
    """A left row with several partners would come several times."""
    match plan:
        case Join(kind=JoinKind.SEMI) as join if join.condition is not None:
            inner = Join(join.left, join.right, JoinKind.INNER, join.condition)
            outputs = tuple(
                Column(index=i, name=f.name, type=f.type) for i, f in enumerate(join.schema)
            )
            return Project(inner, outputs, tuple(f.name for f in join.schema))
    return plan


def drop_distinct(plan: Plan) -> Plan:
    match plan:
        case Distinct(input=source):
            return source
    return plan


def set_operation_as_bag(plan: Plan) -> Plan:
    match plan:
        case SetOperation(all=False) as operation:
            return replace(operation, all=True)
    return plan


def except_all_as_set(plan: Plan) -> Plan:
    match plan:
        case SetOperation(kind=SetKind.EXCEPT, all=True) as operation:
            return replace(operation, all=False)
    return plan


def range_without_its_older_end(plan: Plan) -> Plan:
    """[RANGE ω] includes the row of τ − ω."""
    match plan:
        case RangeWindow(input=source, span=span) if span >= 1_000_000 and span % 1000 == 0:
            return RangeWindow(source, span - 1)
        case RangeWindow(input=source, span=span) if 0 < span < 1000 and span % 2:
            return RangeWindow(source, span - 1)
    return plan


def slide_as_range(plan: Plan) -> Plan:
    match plan:
        case SlideWindow(input=source, span=span):
            return RangeWindow(source, span)
    return plan


def rows_window_one_too_many(plan: Plan) -> Plan:
    match plan:
        case RowsWindow(input=source, rows=1):
            return RowsWindow(source, 2)
    return plan


def forgotten_join_key(plan: Plan) -> Plan:
    match plan:
        case JoinGraph(members=members, keys=(_, *rest), predicates=predicates):
            return JoinGraph(members, tuple(rest), predicates)
    return plan


def key_class_across_nulls(plan: Plan) -> Plan:
    """a = b OR (a IS NULL AND b IS NULL) is not a = b."""
    match plan:
        case JoinGraph(members=members, keys=keys, predicates=predicates) if any(
            len(key.columns) == 2 for key in keys
        ):
            loose = [key for key in keys if len(key.columns) == 2]
            kept = tuple(key for key in keys if key not in loose)
            tests = tuple(_null_safe(key, plan) for key in loose)
            return JoinGraph(members, kept, (*predicates, *tests))
    return plan


def _null_safe(key: KeyClass, plan: Plan) -> Expression:
    a, b = (
        Column(index=i, name=plan.schema[i].name, type=plan.schema[i].type)
        for i in sorted(key.columns)
    )
    return Call(function="<=>", arguments=(a, b), type=BOOLEAN)


def everything_equals_itself(plan: Plan) -> Plan:
    """x = x is NULL where x is."""

    def change(part: Expression) -> Expression:
        match part:
            case Call(function="=" | "<=" | ">=", arguments=(a, b)) if a == b:
                return Literal(value=True, type=BOOLEAN)
        return part

    return _with_expressions(plan, change)


def not_in_ignores_nulls(plan: Plan) -> Plan:
    """NOT IN over a subquery with a NULL is never true."""

    def change(part: Expression) -> Expression:
        match part:
            case Call(function="not", arguments=(InSubquery(values=(value,), plan=inner) as test,)):
                column = Column(index=0, name="x", type=value.type)
                present = Call(function="is not null", arguments=(column,), type=BOOLEAN)
                if not _tests_for_null(inner):
                    return replace(part, arguments=(replace(test, plan=Filter(inner, present)),))
        return part

    return _with_expressions(plan, change)


def _tests_for_null(plan: Plan) -> bool:
    """Whether a test for NULL is there already; the rules may have moved it anywhere."""
    return any(
        isinstance(part, Call) and part.function == "is not null"
        for node in plan.walk()
        for expression in node.expressions
        for part in walk(expression)
    )


def distinct_after_projection(plan: Plan) -> Plan:
    """Rows that differ in a column that is dropped count separately."""
    match plan:
        case Project(input=Distinct(input=source), outputs=outputs, names=names):
            return Distinct(Project(source, outputs, names))
    return plan


def limit_after_projection_reorders(plan: Plan) -> Plan:
    """The order of LIMIT is part of the answer."""
    match plan:
        case Top(keys=(key, *_)) as top if not key.descending:
            return replace(top, keys=(replace(key, descending=True, nulls_first=False),))
    return plan


def istream_drops_duplicates(plan: Plan) -> Plan:
    match plan:
        case Istream(input=source) if not isinstance(source, Distinct):
            return Istream(Distinct(source))
    return plan


def membership_counts_copies(plan: Plan) -> Plan:
    """A row is in a subquery or not, however often it is there."""
    match plan:
        case JoinGraph(members=members):
            counted = tuple(
                m.input
                if isinstance(m, Distinct) and m.schema and m.schema[0].name == "member 0"
                else m
                for m in members
            )
            if counted != members:
                return plan.with_inputs(counted)
    return plan


def _with_expressions(plan: Plan, change: Callable[[Expression], Expression]) -> Plan:
    new = tuple(transform(expression, change) for expression in plan.expressions)
    if any(a is not b for a, b in zip(new, plan.expressions, strict=True)):
        return plan.with_expressions(new)
    return plan


WRONG_RULES: tuple[Rule, ...] = (
    filter_below_rows_window,
    filter_below_partition_window,
    subquery_filter_below_range_window,
    filter_below_limit,
    global_aggregate_as_group,
    filter_into_padded_side,
    outer_join_to_inner,
    full_join_to_left,
    semi_join_to_inner,
    drop_distinct,
    set_operation_as_bag,
    except_all_as_set,
    range_without_its_older_end,
    slide_as_range,
    rows_window_one_too_many,
    forgotten_join_key,
    key_class_across_nulls,
    everything_equals_itself,
    not_in_ignores_nulls,
    distinct_after_projection,
    limit_after_projection_reorders,
    istream_drops_duplicates,
    membership_counts_copies,
)
