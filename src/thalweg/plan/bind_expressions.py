"""Syntax of an expression → bound expression: names resolved, types known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from thalweg.coercion import casts_explicitly, common_type, common_type_of
from thalweg.cql.syntax_errors import span_of
from thalweg.errors import QueryError
from thalweg.plan.bind_calls import CallBinder
from thalweg.plan.expressions import (
    Cast,
    Column,
    Exists,
    Expression,
    InSubquery,
    Literal,
    ScalarSubquery,
    chained,
)
from thalweg.plan.literals import interval_value, number
from thalweg.plan.nodes import Plan, Project
from thalweg.plan.refused import REFUSED, unsupported
from thalweg.plan.resolve import field_of, name_parts, resolve_name
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DAYS,
    NULL,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    ArrayType,
    StructType,
    Type,
    is_integral,
    is_interval,
    is_numeric,
    type_from_syntax,
)

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.And: "and",
    exp.Or: "or",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
    exp.Operator: ">>>",
    exp.DPipe: "concat",
    exp.RegexpLike: "rlike",
}


def _chain(node: exp.Expr) -> list[exp.Expr]:
    """The parts of `a AND b AND c`, or of an OR, as far as no parentheses set them apart."""
    kind, parts = type(node), []
    while type(node) is kind:
        parts.append(node.expression)
        node = node.this
    return [node, *reversed(parts)]


@dataclass
class ExpressionBinder(CallBinder):
    """Binds the expressions of one clause of one SELECT."""

    def bind(self, node: exp.Expr) -> Expression:
        """The bound form; errors point at the node if they point nowhere else."""
        try:
            bound = self._bind(node)
        except QueryError as error:
            error.span = error.span or span_of(node)
            raise
        if bound.span is None:
            bound = replace(bound, span=span_of(node))
        return bound

    def _bind(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Column | exp.Dot | exp.Identifier):
            return self._column(node)
        if isinstance(node, exp.Anonymous):
            return self._call_by_name(node)
        if type(node) in _BINARY:
            return self._binary(_BINARY[type(node)], node)
        if type(node) in REFUSED:
            raise REFUSED[type(node)](node)
        method = _METHODS.get(type(node))
        if method is None:
            raise unsupported(node)
        return method(self, node)

    def _column(self, node: exp.Expr) -> Expression:
        if name_parts(node)[0] is None:
            inner = self.bind(node.this)
            return field_of(inner, node.expression.name, span_of(node.expression))
        return resolve_name(node, self.scope, self.aliases, self.correlated)

    # Operators

    def _binary(self, symbol: str, node: exp.Expr) -> Expression:
        if symbol in ("and", "or"):
            parts = [self.bind_test(part, symbol.upper()) for part in _chain(node)]
            return chained(parts, lambda a, b: self.call(symbol, (a, b)))
        left, right = self.bind(node.this), self.bind(node.expression)
        if symbol in ("+", "-", "*", "/"):
            temporal = self._temporal(symbol, left, right)
            if temporal is not None:
                return temporal
        return self.call(symbol, (left, right))

    def _temporal(self, symbol: str, left: Expression, right: Expression) -> Expression | None:
        """Arithmetic on dates, timestamps and intervals; None if it is about numbers."""
        a, b = left.type, right.type
        if symbol in "*/" and is_interval(a) and (is_numeric(b) or b in (STRING, NULL)):
            return self.call(f"interval {symbol} number", (left, right))
        if symbol == "*" and is_interval(b) and (is_numeric(a) or a in (STRING, NULL)):
            return self.call("interval * number", (right, left))
        if symbol == "-" and TIMESTAMP in (a, b) and {a, b} <= {TIMESTAMP, DATE, STRING, NULL}:
            return self.call("timestamp - timestamp", (left, right))
        if symbol == "-" and DATE in (a, b) and {a, b} <= {DATE, STRING, NULL}:
            return self.call("date - date", (left, right))
        moves = is_interval(a) or is_integral(a) or a == NULL
        if symbol == "+" and moves and b in (DATE, TIMESTAMP, STRING):
            left, right, a, b = right, left, b, a
        if symbol not in "+-" or (a, b) in ((STRING, NULL), (STRING, YEAR_MONTH)):
            return None
        if a == STRING and is_interval(b):
            moved = self._temporal(symbol, self.converted(left, TIMESTAMP), right)
            assert moved is not None, "a timestamp can be moved by an interval"
            return self.converted(moved, STRING)
        if a not in (DATE, TIMESTAMP):
            return None
        if symbol == "-" and is_interval(b):
            right = self.call("negative", (right,))
        if b == YEAR_MONTH:
            return self.call(f"{a.name.lower()} + months", (left, right))
        if a == DATE and b == DAYS:
            return self.call("date + days", (left, right))
        if is_interval(b):
            return self.call("timestamp + interval", (left, right))
        if b == NULL:
            return self.call("timestamp + interval", (left, right))
        if a == DATE and is_integral(b):
            return self.call("date_add" if symbol == "+" else "date_sub", (left, right))
        return None

    def _not_null_safe_equal(self, node: exp.Expr) -> Expression:
        same = self.call("<=>", (self.bind(node.this), self.bind(node.expression)))
        return self.call("not", (same,))

    def _negated(self, node: exp.Expr) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Literal) and not inner.is_string:
            return number(f"-{inner.name}")
        return self.call("negative", (self.bind(inner),))

    def _inverted(self, node: exp.Expr) -> Expression:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return self.call("is not null", (self.bind(node.this.this),))
        return self.call("not", (self.bind_condition(node.this, "NOT"),))

    def _bits_inverted(self, node: exp.Expr) -> Expression:
        return self.call("~", (self.bind(node.this),))

    def _parenthesised(self, node: exp.Expr) -> Expression:
        return self.bind(node.this)

    def _like(self, node: exp.Expr, escape: exp.Expr | None = None) -> Expression:
        if isinstance(node.expression, exp.Any | exp.All):
            raise QueryError(
                "LIKE ANY and LIKE ALL are not supported", hint="join single LIKEs with OR or AND"
            )
        name = "ilike" if isinstance(node, exp.ILike) else "like"
        arguments = [self.bind(node.this), self.bind(node.expression)]
        if escape is not None:
            arguments.append(self.bind(escape))
        matched = self.call(name, arguments)
        return self.call("not", (matched,)) if node.args.get("negate") else matched

    def _like_escaped(self, node: exp.Expr) -> Expression:
        if not isinstance(node.this, exp.Like | exp.ILike):
            raise unsupported(node)
        return self._like(node.this, node.expression)

    def _between(self, node: exp.Expr) -> Expression:
        value = self.bind(node.this)
        low, high = self.bind(node.args["low"]), self.bind(node.args["high"])
        inside = self.call("and", (self.call(">=", (value, low)), self.call("<=", (value, high))))
        if not node.args.get("symmetric"):
            return inside
        swapped = self.call("and", (self.call(">=", (value, high)), self.call("<=", (value, low))))
        return self.call("or", (inside, swapped))

    def _is(self, node: exp.Expr) -> Expression:
        value, wanted = self.bind(node.this), node.expression
        if isinstance(wanted, exp.Null):
            tested = self.call("is null", (value,))
        elif isinstance(wanted, exp.Boolean):
            truth = Literal(value=wanted.this, type=BOOLEAN)
            tested = self.call("<=>", (value, truth))
        else:
            raise unsupported(node)
        return self.call("not", (tested,)) if node.args.get("negate") else tested

    def _in(self, node: exp.Expr) -> Expression:
        query = node.args.get("query")
        if query is not None:
            return self._in_subquery(node.this, query)
        if not node.expressions:
            raise QueryError("the list of IN is empty")
        if isinstance(node.this, exp.Tuple):
            return self._tuple_in(node)
        values = [self.bind(node.this), *(self.bind(choice) for choice in node.expressions)]
        if common_type_of(value.type for value in values) is None:
            raise QueryError(
                "the values of IN have no common type",
                values[-1].span,
                detail=f"They are {', '.join(str(value.type) for value in values)}.",
                hint="convert some of them with CAST",
            )
        return self.call("in", values)

    def _tuple_in(self, node: exp.Expr) -> Expression:
        values = [self.bind(part) for part in node.this.expressions]
        if not values:
            raise QueryError("a list of no values cannot be compared", span_of(node))
        equal: list[Expression] = []
        for choice in node.expressions:
            if not isinstance(choice, exp.Tuple) or len(choice.expressions) != len(values):
                raise QueryError(f"a row of {len(values)} values is needed here", span_of(choice))
            pairs = [
                self.call("=", (value, self.bind(part)))
                for value, part in zip(values, choice.expressions, strict=True)
            ]
            equal.append(chained(pairs, lambda a, b: self.call("and", (a, b))))
        return chained(equal, lambda a, b: self.call("or", (a, b)))

    # Subqueries

    def _in_subquery(self, left: exp.Expr, query: exp.Expr) -> Expression:
        nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
        values = [self.bind(node) for node in nodes]
        plan = self.bind_subquery(query, self.scope)
        if len(plan.schema) != len(values):
            raise QueryError(
                f"the subquery of IN gives {len(plan.schema)} columns, not {len(values)}",
                span_of(query),
            )
        converted: list[Expression] = []
        targets: list[Type] = []
        for value, column in zip(values, plan.schema, strict=True):
            common = common_type(value.type, column.type)
            if common is None:
                raise QueryError(
                    f"cannot compare {value.type} with {column.type}, the type of the subquery",
                    value.span,
                )
            targets.append(common)
            converted.append(self.converted(value, common))
        return InSubquery(values=tuple(converted), plan=self.columns_as(plan, targets))

    def columns_as(self, plan: Plan, targets: list[Type]) -> Plan:
        """The plan with its columns converted to the given types."""
        if [f.type for f in plan.schema] == targets:
            return plan
        outputs = tuple(
            self.converted(Column(index=i, name=f.name, type=f.type), target)
            for i, (f, target) in enumerate(zip(plan.schema, targets, strict=True))
        )
        return Project(plan, outputs, tuple(f.name for f in plan.schema))

    def _exists(self, node: exp.Expr) -> Expression:
        return Exists(plan=self.bind_subquery(node.this, self.scope))

    def _scalar_subquery(self, node: exp.Expr) -> Expression:
        plan = self.bind_subquery(node, self.scope)
        if len(plan.schema) != 1:
            raise QueryError(
                f"a subquery used as a value must give one column, not {len(plan.schema)}"
            )
        return ScalarSubquery(plan=plan, type=plan.schema[0].type)

    # Constants

    def _literal(self, node: exp.Expr) -> Expression:
        if node.is_string:
            return Literal(value=node.name, type=STRING)
        return number(node.name)

    def _raw_text(self, node: exp.Expr) -> Expression:
        return Literal(value=node.name, type=STRING)

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(value=bool(node.this), type=BOOLEAN)

    def _null(self, node: exp.Expr) -> Expression:
        return Literal(value=None, type=NULL)

    def _hex(self, node: exp.Expr) -> Expression:
        digits = node.name
        try:
            return Literal(value=bytes.fromhex("0" * (len(digits) % 2) + digits), type=BINARY)
        except ValueError:
            raise QueryError(f"X'{digits}' is not hexadecimal") from None

    def _interval(self, node: exp.Expr) -> Expression:
        value, type_ = interval_value(node)
        return Literal(value=value, type=type_)

    def _cast(self, node: exp.Expr) -> Expression:
        inner = self.bind(node.this)
        target = type_from_syntax(node.args["to"], span_of(node.args["to"]) or span_of(node))
        quiet = isinstance(node, exp.TryCast)
        if not casts_explicitly(inner.type, target):
            raise QueryError(f"{inner.type} cannot be cast to {target}")
        if isinstance(inner, Literal) and not quiet:
            folded = replace(self._literal_cast(inner, target), span=None)
            # DATE '2020-01-05' and 1L are constants; only CAST(…) has options to leave out.
            written = f"CAST({folded.written} AS {target})" if "format" in node.args else None
            return replace(folded, written=written)
        return Cast(input=inner, type=target, zone=self.settings.timezone, quiet=quiet)

    # Calls with a syntax of their own

    def _case(self, node: exp.Expr) -> Expression:
        subject = self.bind(node.this) if node.this is not None else None
        branches: list[Expression] = []
        for branch in node.args["ifs"]:
            if subject is None:
                branches.append(self.bind_test(branch.this, "WHEN"))
            else:
                branches.append(self.call("=", (subject, self.bind(branch.this))))
            branches.append(self.bind(branch.args["true"]))
        if node.args.get("default") is not None:
            branches.append(self.bind(node.args["default"]))
        return self.call("case", branches)

    def _extract(self, node: exp.Expr) -> Expression:
        part = Literal(value=node.name, type=STRING, span=span_of(node.this))
        return self.call("date_part", (part, self.bind(node.expression)))

    def _substring(self, node: exp.Expr) -> Expression:
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        return self.call("substring", [self.bind(part) for part in parts if part is not None])

    def _trim(self, node: exp.Expr) -> Expression:
        side = str(node.args.get("position") or "BOTH").upper()
        name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
        characters = node.expression
        if characters is None:
            return self.call(name, (self.bind(node.this),))
        return self.call(f"{name} of", (self.bind(node.this), self.bind(characters)))

    def _position(self, node: exp.Expr) -> Expression:
        arguments = [self.bind(node.args["substr"]), self.bind(node.this)]
        start = node.args.get("position")
        if start is not None:
            arguments.append(self.bind(start))
        return self.call("locate", arguments)

    def _overlay(self, node: exp.Expr) -> Expression:
        parts = [node.this, node.expression, node.args.get("from_"), node.args.get("for_")]
        return self.call("overlay", [self.bind(part) for part in parts if part is not None])

    def _concat(self, node: exp.Expr) -> Expression:
        return self.call("concat", [self.bind(part) for part in node.expressions])

    def _subscript(self, node: exp.Expr) -> Expression:
        if len(node.expressions) != 1:
            raise unsupported(node)
        inner, index = self.bind(node.this), self.bind(node.expressions[0])
        if isinstance(inner.type, StructType) and isinstance(index, Literal):
            return field_of(inner, str(index.value), index.span)
        if not isinstance(inner.type, ArrayType):
            raise QueryError(f"only an array has elements, and this is {inner.type}", inner.span)
        return self.call("[]", (inner, index))


_METHODS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression]] = {
    exp.NullSafeNEQ: ExpressionBinder._not_null_safe_equal,
    exp.Neg: ExpressionBinder._negated,
    exp.Not: ExpressionBinder._inverted,
    exp.BitwiseNot: ExpressionBinder._bits_inverted,
    exp.Paren: ExpressionBinder._parenthesised,
    exp.Like: ExpressionBinder._like,
    exp.ILike: ExpressionBinder._like,
    exp.Escape: ExpressionBinder._like_escaped,
    exp.Between: ExpressionBinder._between,
    exp.Is: ExpressionBinder._is,
    exp.In: ExpressionBinder._in,
    exp.Exists: ExpressionBinder._exists,
    exp.Subquery: ExpressionBinder._scalar_subquery,
    exp.Select: ExpressionBinder._scalar_subquery,
    exp.Literal: ExpressionBinder._literal,
    exp.RawString: ExpressionBinder._raw_text,
    exp.Boolean: ExpressionBinder._boolean,
    exp.Null: ExpressionBinder._null,
    exp.HexString: ExpressionBinder._hex,
    exp.Interval: ExpressionBinder._interval,
    exp.Cast: ExpressionBinder._cast,
    exp.TryCast: ExpressionBinder._cast,
    exp.Case: ExpressionBinder._case,
    exp.Extract: ExpressionBinder._extract,
    exp.Substring: ExpressionBinder._substring,
    exp.Trim: ExpressionBinder._trim,
    exp.StrPosition: ExpressionBinder._position,
    exp.Overlay: ExpressionBinder._overlay,
    exp.Concat: ExpressionBinder._concat,
    exp.Bracket: ExpressionBinder._subscript,
    exp.Filter: ExpressionBinder._filtered_aggregate,
}
