"""Syntax of a query → bound plan.

A SELECT becomes, from the inside out: windows and joins of FROM, the filter of
WHERE, groups and aggregates, the filter of HAVING, the select list, DISTINCT,
ORDER BY with LIMIT, and around all of it ISTREAM, DSTREAM or RSTREAM.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.catalog import Catalog, Query, Sink, Stream, Table, View
from thalweg.coercion import common_type
from thalweg.cql.query_parser import STREAM_OPERATORS
from thalweg.cql.syntax_errors import span_of
from thalweg.cql.windows import (
    RangeSpec,
    RowsSpec,
    SlideSpec,
    UnboundedSpec,
    WindowSpec,
)
from thalweg.errors import QueryError, QueryErrors, SourceText, Span, did_you_mean
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.bind_groups import GroupedOutput, check_approximate, grouped
from thalweg.plan.expressions import Call, Column, Expression, Literal, outer_columns_used
from thalweg.plan.monotone import is_monotone, reads_stream
from thalweg.plan.names import unique_names
from thalweg.plan.nodes import (
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
    SingleRow,
    SlideWindow,
    SortKey,
    StreamOperator,
    StreamScan,
    TableScan,
    Top,
    UnboundedWindow,
)
from thalweg.plan.scope import Scope, ScopeColumn
from thalweg.plan.text import column_name
from thalweg.settings import Settings
from thalweg.types import BOOLEAN, is_integral
from thalweg.units import Unit

_STREAM_OPERATORS: dict[str, type[StreamOperator]] = {
    "ISTREAM": Istream,
    "DSTREAM": Dstream,
    "RSTREAM": Rstream,
}

_JOIN_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("", "CROSS"): JoinKind.CROSS,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("RIGHT", "OUTER"): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("FULL", "OUTER"): JoinKind.FULL,
    ("", "OUTER"): JoinKind.FULL,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
    ("", "ANTI"): JoinKind.ANTI,
}

# Clauses of SELECT that Spark or another dialect has and CQL does not.
_REFUSED_CLAUSES = {
    "qualify": ("QUALIFY", "filter in a query over this one"),
    "windows": ("WINDOW", "window the stream in FROM, as in S [RANGE 1 MINUTE]"),
    "laterals": ("LATERAL VIEW", None),
    "sort": ("SORT BY", "use ORDER BY with LIMIT"),
    "cluster": ("CLUSTER BY", None),
    "distribute": ("DISTRIBUTE BY", None),
    "match": ("MATCH_RECOGNIZE", None),
    "pivots": ("PIVOT", None),
    "into": ("INTO", "use CREATE SINK"),
    "sample": ("TABLESAMPLE", "filter by a hash of a key: pmod(crc32(key), 100) < 10"),
    "locks": ("FOR UPDATE", None),
    "connect": ("CONNECT BY", None),
    "kind": ("SELECT AS", None),
    "limit_by": ("LIMIT BY", None),
}


@dataclass(frozen=True)
class Part:
    """A bound FROM item: its plan and the names it brings."""

    plan: Plan
    scope: Scope


@dataclass
class QueryBinder:
    """Binds one query.

    `tick` is the query's unit of time; `bare_unit` is what a number without a unit
    counts in windows on subqueries and views, None where it needs one.
    """

    catalog: Catalog
    settings: Settings
    source: SourceText
    tick: Unit
    bare_unit: Unit | None
    tables_in_with: dict[str, Plan] = field(default_factory=dict)
    views_open: tuple[str, ...] = ()

    def bind(self, node: exp.Expr) -> Plan:
        """The plan of a whole query, with the stream operator that CQL implies."""
        plan = self.query(node, None)
        if not plan.is_stream and is_monotone(plan):
            plan = Istream(plan)
        return plan

    # Queries and set operations

    def query(self, node: exp.Expr, outer: Scope | None) -> Plan:
        """Any query, without an implied stream operator."""
        self._refuse_reserved(node)
        if node.args.get("with_"):
            return self._with(node, outer)
        if isinstance(node, exp.Subquery):
            operator = node.args.get("stream_operator")
            plan = self._ordered_set(node, self.query(node.this, outer))
            if operator:
                if plan.is_stream:
                    raise QueryError(
                        f"{operator} needs a relation, and this is already a stream",
                        span_of(node),
                    )
                plan = _STREAM_OPERATORS[operator](plan)
            return plan
        if isinstance(node, exp.SetOperation):
            return self._ordered_set(node, self._set_operation(node, outer))
        if isinstance(node, exp.Select):
            return self.select(node, outer)
        if isinstance(node, exp.Values):
            raise QueryError("VALUES is not supported", span_of(node), hint="use CREATE TABLE")
        raise QueryError("a SELECT is needed here", span_of(node))

    def _refuse_reserved(self, node: exp.Expr) -> None:
        for clause, span in node.args.get("reserved") or ():
            raise QueryError(
                f"{clause} is not available yet",
                span,
                detail="The clause is part of the language; this version does not run it.",
            )

    def _with(self, node: exp.Expr, outer: Scope | None) -> Plan:
        clause = node.args["with_"]
        if clause.args.get("recursive"):
            raise QueryError("WITH RECURSIVE is not supported", span_of(clause))
        inner = replace(self, tables_in_with=dict(self.tables_in_with))
        for part in clause.expressions:
            name = part.alias
            if name.lower() in inner.tables_in_with and name.lower() not in self.tables_in_with:
                raise QueryError(f'"{name}" is defined twice', span_of(part.args["alias"]))
            plan = inner.query(part.this, None)
            columns = part.args["alias"].args.get("columns") or []
            inner.tables_in_with[name.lower()] = _renamed(
                plan, [column.name for column in columns], span_of(part.args["alias"])
            )
        body = node.copy()
        body.set("with_", None)
        for key in ("window", "reserved", "stream_operator"):
            body.set(key, node.args.get(key))
        return inner.query(body, outer)

    def _set_operation(self, node: exp.SetOperation, outer: Scope | None) -> Plan:
        kind = SetKind(type(node).__name__.lower())
        if node.args.get("by_name"):
            raise QueryError(f"{kind.name} BY NAME is not supported", span_of(node))
        left = self._relation(self.query(node.this, outer))
        right = self._relation(self.query(node.expression, outer))
        if len(left.schema) != len(right.schema):
            raise QueryError(
                f"the two sides of {kind.name} have {len(left.schema)} and {len(right.schema)} "
                "columns",
                span_of(node.expression),
            )
        types = []
        for mine, other in zip(left.schema, right.schema, strict=True):
            common = common_type(mine.type, other.type)
            if common is None:
                raise QueryError(
                    f'column "{mine.name}" of {kind.name} is {mine.type} on one side and '
                    f"{other.type} on the other",
                    span_of(node.expression),
                    hint="convert one side with CAST",
                )
            types.append(common)
        binder = self.expressions(Scope())
        return SetOperation(
            binder._columns_as(left, types),
            binder._columns_as(right, types),
            kind,
            not node.args.get("distinct"),
        )

    def _relation(self, plan: Plan) -> Plan:
        """A stream where a relation is needed has an unbounded window."""
        return UnboundedWindow(plan) if plan.is_stream else plan

    def _ordered_set(self, node: exp.Expr, plan: Plan) -> Plan:
        """ORDER BY and LIMIT behind a set operation or a parenthesised query."""
        if not any(node.args.get(key) for key in ("order", "limit", "offset")):
            return plan
        plan = self._relation(plan)
        binder = self.expressions(Scope.of(plan.schema, None), aggregates_in="ORDER BY")
        keys: list[SortKey] = []
        for ordered in self._order_items(node):
            key = self._ordinal(ordered.this, len(plan.schema))
            if key is None:
                bound = binder.bind(ordered.this)
                if not isinstance(bound, Column):
                    raise QueryError(
                        "ORDER BY behind a set operation names an output column", bound.span
                    )
                key = bound.index
            keys.append(_sort_key(key, ordered))
        if keys and not node.args.get("limit"):
            raise _order_without_limit(node)
        limit, offset = self._limit(node)
        return Top(plan, tuple(keys), limit, offset)

    # SELECT

    def select(self, node: exp.Select, outer: Scope | None) -> Plan:
        for clause, (name, hint) in _REFUSED_CLAUSES.items():
            if node.args.get(clause):
                raise QueryError(f"{name} is not supported", span_of(node), hint=hint)
        errors: list[QueryError] = []
        operator, distinct, items = _select_list(node)
        part = self._from(node, outer)
        scope = part.scope
        plan = part.plan

        where = node.args.get("where")
        if where is not None:
            binder = self.expressions(scope, aggregates_in="WHERE", correlated=True)
            condition = self._condition(where.this, "WHERE", binder, errors)
            if condition is not None:
                plan = Filter(plan, condition)

        binder = self.expressions(scope)
        outputs: list[tuple[Expression, str]] = []
        for item in items:
            if isinstance(item, exp.Alias):
                binder.aliases.setdefault(item.alias.lower(), None)
            with _collected(errors):
                for bound, name in self._item(item, binder, node):
                    outputs.append((bound, name))
                    if isinstance(item, exp.Alias) and binder.aliases[name.lower()] is None:
                        binder.aliases[name.lower()] = bound

        group, having, order = (node.args.get(k) for k in ("group", "having", "order"))
        having_bound: Expression | None = None
        if having is not None:
            having_bound = self._condition(having.this, "HAVING", binder, errors)
        sort_items: list[tuple[Expression, exp.Expr]] = []
        if order is not None:
            for ordered in self._order_items(node):
                with _collected(errors):
                    sort_items.append((self._sort_expression(ordered, binder, outputs), ordered))
        keys: list[Expression] = []
        if group is not None and not group.args.get("all"):
            for element in group.expressions:
                with _collected(errors):
                    keys.append(self._group_key(element, scope, outputs, binder))
        if errors:
            raise QueryErrors(errors)

        output_expressions = [bound for bound, _ in outputs]
        result = grouped(
            GroupedOutput(
                plan=plan,
                keys=keys,
                all_keys=bool(group is not None and group.args.get("all")),
                has_group=group is not None,
                outputs=output_expressions,
                having=having_bound,
                sort=[bound for bound, _ in sort_items],
            )
        )
        names = unique_names([name for _, name in outputs])
        plan = result.plan
        if result.having is not None:
            plan = Filter(plan, result.having)
        check_approximate(plan)
        plan = self._finish(
            node, plan, result.outputs, names, result.sort, [o for _, o in sort_items], distinct
        )
        if operator is not None:
            plan = _STREAM_OPERATORS[operator.name.upper()](plan, span=span_of(operator))
        return plan

    def _condition(
        self,
        node: exp.Expr,
        clause: str,
        binder: ExpressionBinder,
        errors: list[QueryError],
    ) -> Expression | None:
        """A clause's condition, each part of a conjunction bound on its own."""
        bound: Expression | None = None
        for part in _and_parts(node):
            with _collected(errors):
                condition = binder.bind_condition(part, clause)
                bound = condition if bound is None else binder.call("and", (bound, condition))
        return bound

    def _finish(
        self,
        node: exp.Select,
        plan: Plan,
        outputs: list[Expression],
        names: list[str],
        sort: list[Expression],
        sort_nodes: list[exp.Expr],
        distinct: bool,
    ) -> Plan:
        """The select list, DISTINCT, and ORDER BY with LIMIT."""
        limited = any(node.args.get(key) for key in ("limit", "offset"))
        if sort and not limited:
            raise _order_without_limit(node)
        hidden = [key for key in sort if key not in outputs]
        if hidden and distinct:
            raise QueryError(
                "with DISTINCT, ORDER BY can only use columns of the select list",
                hidden[0].span,
            )
        width = len(outputs)
        all_outputs = outputs + hidden
        all_names = names + [f"_sort{i}" for i in range(len(hidden))]
        plan = Project(plan, tuple(all_outputs), tuple(all_names))
        if distinct:
            plan = Distinct(plan)
        if not limited:
            return plan
        limit, offset = self._limit(node)
        keys = tuple(
            _sort_key(all_outputs.index(key), ordered)
            for key, ordered in zip(sort, sort_nodes, strict=True)
        )
        plan = Top(plan, keys, limit, offset)
        if hidden:
            visible = tuple(
                Column(index=i, name=name, type=output.type)
                for i, (name, output) in enumerate(zip(names, outputs, strict=True))
            )
            plan = Project(plan, visible[:width], tuple(names))
        return plan

    def expressions(
        self, scope: Scope, *, aggregates_in: str | None = None, correlated: bool = False
    ) -> ExpressionBinder:
        return ExpressionBinder(
            scope,
            self.catalog,
            self.settings,
            self._subquery,
            aggregates_in=aggregates_in,
            correlated=correlated,
        )

    def _subquery(self, node: exp.Expr, scope: Scope) -> Plan:
        plan = self._relation(self.query(node, replace(scope, outer=None)))
        for part in plan.walk():
            if isinstance(part, StreamOperator) and outer_columns_used(part):
                raise QueryError(
                    "a correlated subquery cannot contain ISTREAM, DSTREAM or RSTREAM",
                    part.span,
                    detail="It has one answer per row of the enclosing query, not a history.",
                )
        return plan

    def _item(
        self, item: exp.Expr, binder: ExpressionBinder, node: exp.Select
    ) -> Iterator[tuple[Expression, str]]:
        """One item of the select list: one output, or for a star several."""
        if isinstance(item, exp.Star) or (
            isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
        ):
            yield from self._star(item, binder.scope, node)
            return
        if isinstance(item, exp.Alias):
            yield binder.bind(item.this), item.alias
            return
        if isinstance(item, exp.Aliases):
            raise QueryError("one column has one name", span_of(item))
        bound = binder.bind(item)
        yield bound, column_name(bound)

    def _star(
        self, item: exp.Expr, scope: Scope, node: exp.Select
    ) -> Iterator[tuple[Expression, str]]:
        star = item if isinstance(item, exp.Star) else item.this
        if node.args.get("from_") is None:
            raise QueryError("* needs a FROM clause", span_of(item))
        qualifier = item.args.get("table") if isinstance(item, exp.Column) else None
        if qualifier is not None and not scope.has_qualifier(qualifier.name):
            raise scope.unknown_qualifier(qualifier.name, span_of(qualifier))
        left_out = {column.name.lower(): column for column in star.args.get("except_") or []}
        for key in ("replace", "rename"):
            if star.args.get(key):
                raise QueryError(f"* {key.upper()} is not supported", span_of(item))
        chosen = [
            column
            for column in scope.columns
            if (not column.hidden if qualifier is None else _belongs(column, qualifier.name))
        ]
        for name, unwanted in left_out.items():
            if all(column.name.lower() != name for column in chosen):
                qualified = qualifier.name if qualifier is not None else None
                raise scope.unknown(unwanted.name, qualified, span_of(unwanted))
        for column in chosen:
            if column.name.lower() not in left_out:
                bound = Column(
                    index=column.index, name=column.name, type=column.type, span=span_of(item)
                )
                yield bound, column.name

    def _group_key(
        self,
        element: exp.Expr,
        scope: Scope,
        outputs: list[tuple[Expression, str]],
        select: ExpressionBinder,
    ) -> Expression:
        if isinstance(element, exp.Alias):
            raise QueryError(
                "naming a GROUP BY expression with AS is not available yet",
                span_of(element),
                detail="GSQL's epochs are part of the language; this version does not run them.",
                hint="group over a window such as [TUMBLE 1 MINUTE]",
            )
        if isinstance(element, exp.GroupingSets | exp.Cube | exp.Rollup):
            raise QueryError(
                "GROUPING SETS, CUBE and ROLLUP are not supported",
                span_of(element),
                hint="write one query per grouping and join them with UNION ALL",
            )
        ordinal = self._ordinal(element, len(outputs))
        if ordinal is not None:
            return outputs[ordinal][0]
        binder = self.expressions(scope, aggregates_in="GROUP BY")
        binder.aliases = select.aliases
        return binder.bind(element)

    def _sort_expression(
        self,
        ordered: exp.Expr,
        binder: ExpressionBinder,
        outputs: list[tuple[Expression, str]],
    ) -> Expression:
        ordinal = self._ordinal(ordered.this, len(outputs))
        if ordinal is not None:
            return outputs[ordinal][0]
        if isinstance(ordered.this, exp.Column) and not ordered.this.table:
            name = ordered.this.name.lower()
            for bound, output in outputs:
                if output.lower() == name:
                    return bound
        return binder.bind(ordered.this)

    def _ordinal(self, node: exp.Expr, width: int) -> int | None:
        """The position that a number in GROUP BY or ORDER BY stands for."""
        if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit()):
            return None
        position = int(node.name)
        if not 1 <= position <= width:
            raise QueryError(
                f"there is no column number {position}",
                span_of(node),
                detail=f"The select list has {width}.",
            )
        return position - 1

    def _order_items(self, node: exp.Expr) -> list[exp.Expr]:
        order = node.args.get("order")
        return list(order.expressions) if order is not None else []

    def _limit(self, node: exp.Expr) -> tuple[int, int]:
        limit, offset = node.args.get("limit"), node.args.get("offset")
        if limit is None:
            raise QueryError("OFFSET needs a LIMIT", span_of(offset) if offset else None)
        if not isinstance(limit, exp.Limit):
            raise QueryError("FETCH is not supported", span_of(limit), hint="write LIMIT n")
        return (
            self._count(limit.expression, "LIMIT"),
            self._count(offset.expression, "OFFSET") if offset is not None else 0,
        )

    def _count(self, node: exp.Expr, clause: str) -> int:
        bound = self.expressions(Scope()).bind(node)
        if not isinstance(bound, Literal) or not is_integral(bound.type) or bound.value < 0:
            raise QueryError(f"{clause} needs a constant number of rows", span_of(node))
        return int(bound.value)

    # FROM

    def _from(self, node: exp.Select, outer: Scope | None) -> Part:
        clause = node.args.get("from_")
        if clause is None:
            return Part(SingleRow(), Scope(outer=outer))
        part = self._source(clause.this)
        for join in node.args.get("joins") or []:
            part = self._join(part, join)
        return Part(part.plan, replace(part.scope, outer=outer))

    def _source(self, node: exp.Expr) -> Part:
        if isinstance(node, exp.Table):
            part = self._table(node)
        elif isinstance(node, exp.Subquery):
            part = self._derived(node)
        elif isinstance(node, exp.Paren):
            part = self._source(node.this)
        elif isinstance(node, exp.Values):
            raise QueryError("VALUES is not supported", span_of(node), hint="use CREATE TABLE")
        else:
            raise QueryError(
                f"{type(node).__name__.upper()} is not supported in FROM", span_of(node)
            )
        for join in node.args.get("joins") or []:
            part = self._join(part, join)
        return part

    def _table(self, node: exp.Table) -> Part:
        for key in ("pivots", "sample", "version", "hints", "when", "changes"):
            if node.args.get(key):
                raise QueryError(f"{key.upper().rstrip('S')} is not supported", span_of(node))
        if not isinstance(node.this, exp.Identifier):
            raise QueryError("table functions are not supported", span_of(node))
        if node.args.get("db"):
            raise QueryError(
                "interfaces and schemas in front of a name are not available yet", span_of(node)
            )
        plan, unit, what = self._named(node.name, span_of(node.this))
        alias = node.args.get("alias")
        return self._windowed(plan, unit, what, node, alias, node.name)

    def _named(self, name: str, span: Span | None) -> tuple[Plan, Unit | None, str]:
        """What a name in FROM stands for, the unit of its bare numbers, and what to call it."""
        if name.lower() in self.tables_in_with:
            return self.tables_in_with[name.lower()], self.bare_unit, f'"{name}"'
        entry = self.catalog.find(name)
        match entry:
            case Stream():
                everything = tuple(range(len(entry.columns)))
                scale = self.tick.ticks_per(entry.tick)
                scan = StreamScan(entry.name, entry.columns, everything, scale)
                return scan, entry.unit, f'stream "{entry.name}"'
            case Table():
                everything = tuple(range(len(entry.columns)))
                table = TableScan(entry.name, entry.columns, everything, entry.refreshed)
                return table, None, f'table "{entry.name}"'
            case Query():
                scan_query = QueryScan(entry.name, entry.plan, self.tick.ticks_per(entry.tick))
                return scan_query, entry.bare_unit, f'query "{entry.name}"'
            case View():
                return self._view(entry, span), self.bare_unit, f'view "{entry.name}"'
            case Sink():
                raise QueryError(
                    f'"{name}" is a sink', span, hint=f"read its query instead: {entry.query}"
                )
        if self.catalog.is_broken(name):
            raise QueryError(BROKEN, span)
        names = [*self.catalog.readable_names(), *self.tables_in_with]
        raise QueryError(
            f'there is no stream, table, view or query "{name}"',
            span,
            detail=f"There is: {', '.join(names)}." if names else None,
            hint=did_you_mean(name, names),
        )

    def _view(self, view: View, span: Span | None) -> Plan:
        if view.name.lower() in self.views_open:
            raise QueryError(f'view "{view.name}" refers to itself', span)
        inner = QueryBinder(
            self.catalog,
            view.settings,
            view.source,
            self.tick,
            self.bare_unit,
            views_open=(*self.views_open, view.name.lower()),
        )
        return _renamed(inner.query(view.syntax, None), list(view.columns), span)

    def _derived(self, node: exp.Subquery) -> Part:
        for key in ("pivots", "sample"):
            if node.args.get(key):
                raise QueryError(f"{key.upper().rstrip('S')} is not supported", span_of(node))
        if isinstance(node.this, exp.Table):
            return self._parenthesised(node)
        bare = node
        if node.args.get("alias") is not None or node.args.get("window") is not None:
            bare = node.copy()
            bare.set("alias", None)
            bare.set("stream_operator", node.args.get("stream_operator"))
        plan = self.query(bare, None)
        alias = node.args.get("alias")
        name = alias.name if alias is not None and alias.this is not None else None
        what = f'"{name}"' if name else "the subquery"
        return self._windowed(plan, self.bare_unit, what, node, alias, name)

    def _parenthesised(self, node: exp.Subquery) -> Part:
        """`FROM (S)` and `FROM (a JOIN b ON …)`, perhaps with a window and a name."""
        part = self._source(node.this)
        alias, window = node.args.get("alias"), node.args.get("window")
        if alias is None and window is None:
            return part
        visible = [column for column in part.scope.columns if not column.hidden]
        plan: Plan = Project(
            part.plan,
            tuple(Column(index=c.index, name=c.name, type=c.type) for c in visible),
            tuple(c.name for c in visible),
        )
        name = part.scope.qualifiers()[0] if len(part.scope.qualifiers()) == 1 else None
        return self._windowed(plan, self.bare_unit, "the subquery", node, alias, name)

    def _windowed(
        self,
        plan: Plan,
        unit: Unit | None,
        what: str,
        node: exp.Expr,
        alias: exp.Expr | None,
        name: str | None,
    ) -> Part:
        """The relation of a FROM item under its window, and its names."""
        spec: WindowSpec | None = node.args.get("window")
        if spec is not None and not plan.is_stream:
            if not is_monotone(plan) or not reads_stream(plan):
                raise QueryError(
                    f"{what} is a relation and takes no window",
                    spec.span,
                    hint=(
                        "make it a stream with ISTREAM, DSTREAM or RSTREAM"
                        if reads_stream(plan)
                        else "leave the window out"
                    ),
                )
            plan = Istream(plan)
        if plan.is_stream:
            plan = self._window(plan, spec, unit, what)
        if alias is not None:
            if alias.this is not None:
                name = alias.name
            columns = alias.args.get("columns") or []
            plan = _renamed(plan, [column.name for column in columns], span_of(alias))
        return Part(plan, Scope.of(plan.schema, name, what))

    def _window(self, plan: Plan, spec: WindowSpec | None, unit: Unit | None, what: str) -> Plan:
        match spec:
            case None | UnboundedSpec():
                return UnboundedWindow(plan)
            case RangeSpec(length=length):
                return RangeWindow(plan, length.ticks(self.tick, unit, "window"))
            case SlideSpec(length=length, step=step):
                span_ticks = length.ticks(self.tick, unit, "window")
                step_ticks = step.ticks(self.tick, unit, "slide")
                for ticks, part, noun in (
                    (span_ticks, length, "window"),
                    (step_ticks, step, "slide"),
                ):
                    if ticks <= 0:
                        raise QueryError(f"the {noun} must be longer than nothing", part.span)
                return SlideWindow(plan, span_ticks, step_ticks)
            case RowsSpec(rows=rows, keys=()):
                return RowsWindow(plan, rows)
            case RowsSpec(rows=rows, keys=keys):
                scope = Scope.of(plan.schema, what.split('"')[1] if '"' in what else "It", what)
                positions = []
                for name, span in keys:
                    column = scope.find(name, None, span)
                    if column is None:
                        raise scope.unknown(name, None, span)
                    positions.append(column.index)
                return PartitionWindow(plan, tuple(positions), rows)

    # Joins

    def _join(self, left: Part, node: exp.Join) -> Part:
        right = self._source(node.this)
        for name in right.scope.qualifiers():
            if left.scope.has_qualifier(name):
                raise QueryError(
                    f'"{name}" is in the FROM clause twice',
                    span_of(node.this),
                    hint=f"give one of them another name: {name} AS {name}2",
                )
        side = (node.args.get("side") or "").upper()
        word = (node.args.get("kind") or "").upper()
        kind = _JOIN_KINDS.get((side, word))
        if kind is None:
            raise QueryError(f"{side} {word} JOIN is not supported".strip(), span_of(node))
        scope = left.scope.beside(right.scope)
        method = (node.args.get("method") or "").upper()
        using = node.args.get("using")
        if method == "NATURAL":
            visible = {c.name.lower() for c in right.scope.columns if not c.hidden}
            names = [
                c.name for c in left.scope.columns if c.name.lower() in visible and not c.hidden
            ]
            return self._join_using(left, right, kind, [(name, None) for name in names], node)
        if method:
            raise QueryError(f"{method} JOIN is not supported", span_of(node))
        if using:
            return self._join_using(
                left, right, kind, [(part.name, span_of(part)) for part in using], node
            )
        condition: Expression | None = None
        on = node.args.get("on")
        if on is not None and not (isinstance(on, exp.Boolean) and on.this is True):
            binder = self.expressions(scope, aggregates_in="ON")
            condition = binder.bind_condition(on, "ON")
        if condition is None and kind is JoinKind.INNER:
            kind = JoinKind.CROSS
        if kind is JoinKind.CROSS and condition is not None:
            kind = JoinKind.INNER
        plan = Join(left.plan, right.plan, kind, condition)
        return Part(plan, left.scope if kind in (JoinKind.SEMI, JoinKind.ANTI) else scope)

    def _join_using(
        self,
        left: Part,
        right: Part,
        kind: JoinKind,
        names: list[tuple[str, Span | None]],
        node: exp.Join,
    ) -> Part:
        """Equal on the named columns, which then appear once."""
        binder = self.expressions(Scope())
        width = len(left.plan.schema)
        condition: Expression | None = None
        merged: list[tuple[ScopeColumn, ScopeColumn]] = []
        for name, span in names:
            mine, other = (part.scope.find(name, None, span) for part in (left, right))
            if mine is None or other is None:
                missing = left if mine is None else right
                raise missing.scope.unknown(name, None, span or span_of(node))
            merged.append((mine, other))
            equal = binder.call(
                "=",
                (
                    Column(index=mine.index, name=mine.name, type=mine.type),
                    Column(index=other.index + width, name=other.name, type=other.type),
                ),
            )
            condition = (
                equal
                if condition is None
                else Call(function="and", arguments=(condition, equal), type=BOOLEAN)
            )
        if condition is None and kind is JoinKind.INNER:
            kind = JoinKind.CROSS
        plan: Plan = Join(left.plan, right.plan, kind, condition)
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            return Part(plan, left.scope)
        both = left.scope.beside(right.scope)
        hide = {other.index + width for _, other in merged}
        if kind is JoinKind.RIGHT:
            hide = {mine.index for mine, _ in merged}
        if kind is not JoinKind.FULL:
            columns = [replace(c, hidden=c.hidden or c.index in hide) for c in both.columns]
            front = [c for pair in merged for c in columns if c.index in _pair(pair, width)]
            shown = [c for c in front if not c.hidden]
            rest = [c for c in columns if c not in shown]
            return Part(plan, Scope((*shown, *rest)))
        return self._full_using(plan, both, merged, width, binder)

    def _full_using(
        self,
        plan: Plan,
        both: Scope,
        merged: list[tuple[ScopeColumn, ScopeColumn]],
        width: int,
        binder: ExpressionBinder,
    ) -> Part:
        """FULL JOIN USING: the shared columns are whichever side is there."""
        fields = plan.schema
        outputs: list[Expression] = [
            Column(index=i, name=f.name, type=f.type) for i, f in enumerate(fields)
        ]
        names = [f.name for f in fields]
        shown: list[ScopeColumn] = []
        hidden = set()
        for mine, other in merged:
            pair = (outputs[mine.index], outputs[other.index + width])
            value = binder.call("coalesce", pair)
            shown.append(ScopeColumn(None, mine.name, value.type, len(outputs)))
            outputs.append(value)
            names.append(mine.name)
            hidden |= {mine.index, other.index + width}
        project = Project(plan, tuple(outputs), tuple(names))
        rest = [replace(c, hidden=c.hidden or c.index in hidden) for c in both.columns]
        return Part(project, Scope((*shown, *rest)))


# The message of an error that only repeats another one; the script binder drops it.
BROKEN = "its declaration has an error"


def _belongs(column: ScopeColumn, qualifier: str) -> bool:
    return (column.qualifier or "").lower() == qualifier.lower()


def _and_parts(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Paren) and isinstance(node.this, exp.And):
        return _and_parts(node.this)
    if isinstance(node, exp.And):
        return [*_and_parts(node.this), *_and_parts(node.expression)]
    return [node]


def _pair(pair: tuple[ScopeColumn, ScopeColumn], width: int) -> set[int]:
    return {pair[0].index, pair[1].index + width}


def _order_without_limit(node: exp.Expr) -> QueryError:
    return QueryError(
        "ORDER BY needs a LIMIT",
        span_of(node.args["order"]),
        detail="The answer is a relation, and a relation has no order.",
        hint="add LIMIT n to keep the first n rows, or leave ORDER BY out",
    )


def _select_list(node: exp.Select) -> tuple[exp.Expr | None, bool, list[exp.Expr]]:
    """The stream operator around the list, whether it is DISTINCT, and its items."""
    items = list(node.expressions)
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise QueryError("DISTINCT ON is not supported", span_of(node))
    operator = None
    is_distinct = distinct is not None
    if (
        items
        and isinstance(items[0], exp.Anonymous)
        and items[0].name.upper() in STREAM_OPERATORS
        and "marks_distinct" in items[0].args
    ):
        operator = items.pop(0)
        is_distinct = is_distinct or bool(operator.args["marks_distinct"])
    if not items:
        raise QueryError("the select list is empty", span_of(node))
    return operator, is_distinct, items


def _sort_key(column: int, ordered: exp.Expr) -> SortKey:
    descending = bool(ordered.args.get("desc"))
    nulls_first = ordered.args.get("nulls_first")
    return SortKey(
        column, descending, bool(nulls_first) if nulls_first is not None else not descending
    )


def _renamed(plan: Plan, names: list[str], span: Span | None) -> Plan:
    if not names:
        return plan
    if len(names) != len(plan.schema):
        raise QueryError(f"{len(names)} column names for {len(plan.schema)} columns", span)
    columns = tuple(Column(index=i, name=f.name, type=f.type) for i, f in enumerate(plan.schema))
    return Project(plan, columns, tuple(names))


@contextmanager
def _collected(errors: list[QueryError]) -> Iterator[None]:
    """Go on after an error, so that a query's mistakes are reported together."""
    try:
        yield
    except QueryError as error:
        errors.append(error)
    except QueryErrors as several:
        errors.extend(several.errors)
