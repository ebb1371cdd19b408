"""FROM: sources under their windows, subqueries, views, and joins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.catalog import Catalog, Query, Sink, Stream, Table, View
from thalweg.cql.syntax_errors import span_of
from thalweg.cql.windows import (
    RangeSpec,
    RowsSpec,
    SlideSpec,
    UnboundedSpec,
    WindowSpec,
)
from thalweg.errors import QueryError, SourceText, Span, UnknownName, UsesBrokenName
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.expressions import Call, Column, Expression, outer_columns_used
from thalweg.plan.monotone import is_monotone, reads_stream
from thalweg.plan.nodes import (
    Istream,
    Join,
    JoinKind,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RangeWindow,
    RowsWindow,
    SingleRow,
    SlideWindow,
    StreamOperator,
    StreamScan,
    TableScan,
    UnboundedWindow,
)
from thalweg.plan.scope import Scope, ScopeColumn
from thalweg.settings import Settings
from thalweg.types import BOOLEAN
from thalweg.units import Unit

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


@dataclass(frozen=True)
class Part:
    """A bound FROM item: its plan and the names it brings."""

    plan: Plan
    scope: Scope


@dataclass
class FromBinder:
    """Binds FROM clauses; queries inside them are bound by `query`.

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

    def query(self, node: exp.Expr, outer: Scope | None) -> Plan:
        raise NotImplementedError

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
        plan = self._relation(self.query(node, scope))
        for part in plan.walk():
            if isinstance(part, StreamOperator) and outer_columns_used(part):
                raise QueryError(
                    "a correlated subquery cannot contain ISTREAM, DSTREAM or RSTREAM",
                    part.span,
                    detail="It has one answer per row of the enclosing query, not a history.",
                )
        return plan

    def _relation(self, plan: Plan) -> Plan:
        """A stream where a relation is needed has an unbounded window."""
        return UnboundedWindow(plan) if plan.is_stream else plan

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
                table = TableScan(entry.name, entry.columns, everything)
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
            raise UsesBrokenName(span)
        names = [*self.catalog.readable_names(), *self.tables_in_with]
        raise UnknownName(name, span, names)

    def _view(self, view: View, span: Span | None) -> Plan:
        if view.name.lower() in self.views_open:
            raise QueryError(f'view "{view.name}" refers to itself', span)
        inner = replace(
            self,
            settings=view.settings,
            source=view.source,
            tables_in_with={},
            views_open=(*self.views_open, view.name.lower()),
        )
        return renamed(inner.query(view.syntax, None), list(view.columns), span)

    def _derived(self, node: exp.Subquery) -> Part:
        for key in ("pivots", "sample"):
            if node.args.get(key):
                raise QueryError(f"{key.upper().rstrip('S')} is not supported", span_of(node))
        inside = node.this
        if isinstance(inside, exp.Table) or (
            isinstance(inside, exp.Subquery)
            and any(inside.args.get(key) for key in ("alias", "window", "joins"))
        ):
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
        """`FROM (S)` and `FROM (a JOIN b ON …)`, perhaps with a window and a name.

        Also around a subquery that has a window, a name or joins of its own.
        """
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
            plan = renamed(plan, [column.name for column in columns], span_of(alias))
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
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            return Part(plan, _without(left.scope, right.scope))
        return Part(plan, scope)

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
            return Part(plan, _without(left.scope, right.scope))
        both = left.scope.beside(right.scope)
        hide = {other.index + width for _, other in merged}
        if kind is JoinKind.RIGHT:
            hide = {mine.index for mine, _ in merged}
        if kind is not JoinKind.FULL:
            columns = [replace(c, hidden=c.hidden or c.index in hide) for c in both.columns]
            front = [c for pair in merged for c in columns if c.index in _pair(pair, width)]
            shown = [c for c in front if not c.hidden]
            rest = [c for c in columns if c not in shown]
            return Part(plan, replace(both, columns=(*shown, *rest)))
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
        return Part(project, replace(both, columns=(*shown, *rest)))


def _without(left: Scope, right: Scope) -> Scope:
    """The scope of a semi join: the left side, which remembers the right one's names."""
    return replace(left, semi_joined=(*left.semi_joined, *right.qualifiers()))


def _pair(pair: tuple[ScopeColumn, ScopeColumn], width: int) -> set[int]:
    return {pair[0].index, pair[1].index + width}


def renamed(plan: Plan, names: list[str], span: Span | None) -> Plan:
    if not names:
        return plan
    if len(names) != len(plan.schema):
        raise QueryError(f"{len(names)} column names for {len(plan.schema)} columns", span)
    columns = tuple(Column(index=i, name=f.name, type=f.type) for i, f in enumerate(plan.schema))
    return Project(plan, columns, tuple(names))
