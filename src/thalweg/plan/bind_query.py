"""Syntax of a query → bound plan.

A SELECT becomes, from the inside out: windows and joins of FROM, the filter of
WHERE, groups and aggregates, the filter of HAVING, the select list, DISTINCT,
ORDER BY with LIMIT, and around all of it ISTREAM, DSTREAM or RSTREAM.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from thalweg.coercion import common_type
from thalweg.cql.query_parser import STREAM_OPERATORS
from thalweg.cql.syntax_errors import span_of
from thalweg.errors import QueryError, QueryErrors, UsesBrokenName, shortened
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.bind_from import FromBinder, renamed
from thalweg.plan.bind_groups import GroupedOutput, check_approximate, grouped
from thalweg.plan.expressions import Column, Expression, Literal, conjunction
from thalweg.plan.monotone import is_monotone
from thalweg.plan.names import unique_names
from thalweg.plan.nodes import (
    Distinct,
    Dstream,
    Filter,
    Istream,
    Plan,
    Project,
    Rstream,
    SetKind,
    SetOperation,
    SortKey,
    StreamOperator,
    Top,
)
from thalweg.plan.scope import Scope, ScopeColumn
from thalweg.plan.text import column_name
from thalweg.types import is_integral

_STREAM_OPERATORS: dict[str, type[StreamOperator]] = {
    "ISTREAM": Istream,
    "DSTREAM": Dstream,
    "RSTREAM": Rstream,
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

# Digits of the number of a column; a select list is shorter than any script.
_LONGEST_ORDINAL = 9


@dataclass
class QueryBinder(FromBinder):
    """Binds one query."""

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
            plan = self.query(node.this, outer)
            if operator:
                if plan.is_stream:
                    raise QueryError(
                        f"{operator} needs a relation, and this is already a stream",
                        span_of(node),
                    )
                plan = _STREAM_OPERATORS[operator](plan, span=span_of(node))
            return self._ordered_set(node, plan)
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
            inner.tables_in_with[name.lower()] = renamed(
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
            binder.columns_as(left, types),
            binder.columns_as(right, types),
            kind,
            not node.args.get("distinct"),
        )

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
        _refuse_special_groups(node)
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
        if any(value is None for value in binder.aliases.values()):
            raise UsesBrokenName()

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
        bound: list[Expression] = []
        for part in _and_parts(node):
            with _collected(errors):
                bound.append(binder.bind_condition(part, clause))
        return conjunction(tuple(bound)) if bound else None

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
        if not (isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()):
            return None
        position = int(node.name) if len(node.name) <= _LONGEST_ORDINAL else 0
        if not 1 <= position <= width:
            raise QueryError(
                f"there is no column number {shortened(node.name)}",
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
        wrong = QueryError(f"{clause} needs a constant number of rows", span_of(node))
        try:
            bound = self.expressions(Scope()).bind(node)
        except QueryError:
            raise wrong from None
        if not isinstance(bound, Literal) or not is_integral(bound.type):
            raise wrong
        if bound.value is None or bound.value < 0:
            raise wrong
        return int(bound.value)


def _refuse_special_groups(node: exp.Select) -> None:
    """Before anything else, for the select list may use what they would define."""
    group = node.args.get("group")
    for element in group.expressions if group is not None else ():
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


def _belongs(column: ScopeColumn, qualifier: str) -> bool:
    return (column.qualifier or "").lower() == qualifier.lower()


def _and_parts(node: exp.Expr) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    todo = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, exp.Paren) and isinstance(part.this, exp.And):
            todo.append(part.this)
        elif isinstance(part, exp.And):
            todo += [part.expression, part.this]
        else:
            parts.append(part)
    return parts


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


@contextmanager
def _collected(errors: list[QueryError]) -> Iterator[None]:
    """Go on after an error, so that a query's mistakes are reported together."""
    try:
        yield
    except UsesBrokenName:
        pass
    except QueryError as error:
        errors.append(error)
    except QueryErrors as several:
        errors.extend(several.errors)
