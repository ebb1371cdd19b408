"""Syntax of an expression → bound expression: names resolved, types known.

Every conversion that SQL makes silently is written out as a `Cast`, and the
session's time zone is an argument of whatever depends on it, so that a bound
expression means the same wherever and whenever it is evaluated.
"""

from __future__ import annotations

import decimal as dec
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from thalweg.catalog import Catalog
from thalweg.coercion import casts_explicitly, common_type, converts_implicitly
from thalweg.cql.query_parser import STREAM_OPERATORS
from thalweg.cql.syntax_errors import span_of
from thalweg.errors import QueryError, Span, did_you_mean
from thalweg.functions import AGGREGATES, SCALARS, Failure
from thalweg.functions.aggregates import ORDER_DEPENDENT
from thalweg.functions.cast import caster, to_text
from thalweg.functions.registry import unknown_function, wrong_count
from thalweg.plan.expressions import (
    AggregateCall,
    Call,
    Cast,
    Column,
    Exists,
    Expression,
    FieldOf,
    InSubquery,
    Literal,
    OuterColumn,
    PythonCall,
    ScalarSubquery,
    walk,
)
from thalweg.plan.nodes import Plan
from thalweg.plan.scope import Scope, ScopeColumn
from thalweg.settings import Settings
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    INT,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    ArrayType,
    StructType,
    Type,
    decimal,
    is_integral,
    is_interval,
    is_numeric,
    type_from_syntax,
)
from thalweg.units import Unit, nanoseconds

BindSubquery = Callable[[exp.Expr, Scope], Plan]

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
    exp.DPipe: "concat",
    exp.RegexpLike: "rlike",
}

_NEEDS_REPLAY = (
    "Answers must be the same when a stream is replayed, so nothing may depend on the "
    "clock or on chance."
)
_NOT_REPLAYABLE = {
    "rand": "sample by a hash of a key instead: pmod(crc32(key), 100) < 10",
    "random": "sample by a hash of a key instead: pmod(crc32(key), 100) < 10",
    "randn": "bring random numbers in as a column",
    "uuid": "bring an identifier in as a column",
    "shuffle": "sort the array instead: sort_array(…)",
    "now": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_timestamp": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "localtimestamp": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_time": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_date": "use the stream's time column, or a window such as [RANGE 1 DAY]",
    "curdate": "use the stream's time column, or a window such as [RANGE 1 DAY]",
    "monotonically_increasing_id": "bring an identifier in as a column",
    "spark_partition_id": "answers do not depend on how the work is split",
    "input_file_name": "put the name into a column of the file",
}

_INT_RANGE = range(-(2**31), 2**31)
_LONG_RANGE = range(-(2**63), 2**63)


@dataclass
class ExpressionBinder:
    """Binds the expressions of one clause of one SELECT.

    `aggregates_in` names a clause in which aggregates are not allowed, or is
    None where they are. `aliases` are columns of the select list that later
    items, HAVING and ORDER BY may use by name.
    """

    scope: Scope
    catalog: Catalog
    settings: Settings
    bind_subquery: BindSubquery
    aggregates_in: str | None = None
    correlated: bool = False
    aliases: dict[str, Expression] = field(default_factory=dict)
    inside_aggregate: bool = False

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

    def bind_condition(self, node: exp.Expr, clause: str) -> Expression:
        bound = self.bind(node)
        if not converts_implicitly(bound.type, BOOLEAN):
            raise QueryError(
                f"{clause} needs a condition, not a value of type {bound.type}", bound.span
            )
        return self.converted(bound, BOOLEAN)

    def _bind(self, node: exp.Expr) -> Expression:
        if isinstance(node, exp.Column | exp.Dot | exp.Identifier):
            return self._column(node)
        if isinstance(node, exp.Anonymous):
            return self._call_by_name(node)
        if type(node) in _BINARY:
            return self._binary(_BINARY[type(node)], node)
        method = _METHODS.get(type(node))
        if method is None:
            raise _unsupported(node)
        return method(self, node)

    # Names

    def _column(self, node: exp.Expr) -> Expression:
        parts, spans = _name_parts(node)
        if parts is None:
            return self._field_access(node)
        found, used, outer = self._resolve(parts, spans)
        bound: Expression
        if isinstance(found, Expression):
            bound = replace(found, span=spans[0])
        elif outer:
            bound = OuterColumn(index=found.index, name=parts[used - 1], type=found.type)
        else:
            bound = Column(index=found.index, name=parts[used - 1], type=found.type)
        for name, span in zip(parts[used:], spans[used:], strict=True):
            bound = _field_of(bound, name, span)
        return bound

    def _resolve(
        self, parts: list[str], spans: list[Span | None]
    ) -> tuple[ScopeColumn | Expression, int, bool]:
        """What the leading parts of a dotted name mean, and how many they are."""
        for scope, outer in ((self.scope, False), (self.scope.outer, True)):
            if scope is None:
                continue
            if len(parts) > 1 and scope.has_qualifier(parts[0]):
                column = scope.find(parts[1], parts[0], spans[1])
                if column is None:
                    raise scope.unknown(parts[1], parts[0], spans[1])
                return self._reached(column, outer, spans[1]), 2, outer
            column = scope.find(parts[0], None, spans[0])
            if column is not None:
                return self._reached(column, outer, spans[0]), 1, outer
            if not outer and parts[0].lower() in self.aliases:
                return self.aliases[parts[0].lower()], 1, False
        if len(parts) > 1:
            raise self.scope.unknown_qualifier(parts[0], spans[0])
        raise self.scope.unknown(parts[0], None, spans[0])

    def _reached(self, column: ScopeColumn, outer: bool, span: Span | None) -> ScopeColumn:
        if outer and not self.correlated:
            raise QueryError(
                f'column "{column.name}" of the enclosing query is out of reach here',
                span,
                detail="A subquery may use columns of the query around it in its WHERE clause.",
            )
        return column

    def _field_access(self, node: exp.Expr) -> Expression:
        inner = self.bind(node.this)
        return _field_of(inner, node.expression.name, span_of(node.expression))

    # Calls

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """A built-in applied to bound arguments, with the conversions it needs."""
        function = SCALARS[name]
        if function.zoned:
            zone = Literal(value=self.settings.timezone, type=STRING)
            arguments = (*arguments, zone)
        signature = function.resolve(name, arguments)
        converted = tuple(
            self.converted(argument, type_)
            for argument, type_ in zip(arguments, signature.arguments, strict=True)
        )
        return Call(function=name, arguments=converted, type=signature.result)

    def converted(self, expression: Expression, target: Type) -> Expression:
        """The expression as a value of `target`; constants are converted at once."""
        if expression.type == target:
            return expression
        if isinstance(expression, Literal):
            return self._literal_cast(expression, target)
        return Cast(
            input=expression,
            type=target,
            zone=self.settings.timezone,
            implicit=True,
            span=expression.span,
        )

    def _literal_cast(self, literal: Literal, target: Type) -> Literal:
        if literal.value is None:
            return replace(literal, type=target)
        try:
            value = caster(literal.type, target, self.settings.timezone)(literal.value)
        except Failure as failure:
            raise QueryError(f"{failure}, and {target} is needed here", literal.span) from None
        written = literal.written or to_text(literal.value, literal.type, self.settings.timezone)
        return replace(literal, value=value, type=target, written=written)

    def _call_by_name(self, node: exp.Anonymous) -> Expression:
        name = node.name.lower()
        arguments = node.expressions
        if name.upper() in STREAM_OPERATORS:
            raise QueryError(
                f"{name.upper()} stands around the whole select list",
                hint=f"write SELECT {name.upper()}(a, b) FROM …",
            )
        if name in _NOT_REPLAYABLE:
            raise _not_replayable(name)
        if name in _SYNTAX_CALLS:
            return _SYNTAX_CALLS[name](self, name, arguments)
        user = self.catalog.function(name)
        if user is not None and not user.aggregate:
            return self._python_call(user.name, arguments)
        if name in AGGREGATES or user is not None:
            return self._aggregate(node)
        if name in ORDER_DEPENDENT:
            raise QueryError(
                f"{name} depends on an order, and a relation has none",
                hint=ORDER_DEPENDENT[name],
            )
        if name not in SCALARS or not name[:1].isalpha() or " " in name:
            known = [n for n in (*SCALARS, *AGGREGATES) if n[:1].isalpha() and " " not in n]
            raise unknown_function(node.name, [*known, *(f.name for f in self.catalog.functions())])
        return self.call(name, self._arguments(arguments))

    def _arguments(self, nodes: Sequence[exp.Expr]) -> tuple[Expression, ...]:
        for node in nodes:
            if isinstance(node, exp.Star):
                raise QueryError("* is an argument of count only")
            if isinstance(node, exp.Distinct):
                raise QueryError("DISTINCT goes with aggregates only")
        return tuple(self.bind(node) for node in nodes)

    def _python_call(self, name: str, nodes: Sequence[exp.Expr]) -> Expression:
        function = self.catalog.function(name)
        assert function is not None, "the caller has found it"
        arguments = self._checked_user_arguments(function.name, function.parameters, nodes)
        return PythonCall(
            name=function.name, path=function.path, arguments=arguments, type=function.returns
        )

    def _checked_user_arguments(
        self, name: str, parameters: tuple[Type, ...], nodes: Sequence[exp.Expr]
    ) -> tuple[Expression, ...]:
        arguments = self._arguments(nodes)
        if len(arguments) != len(parameters):
            raise wrong_count(name, len(parameters), len(parameters), len(arguments))
        for i, (argument, parameter) in enumerate(zip(arguments, parameters, strict=True)):
            if not converts_implicitly(argument.type, parameter):
                raise QueryError(
                    f"argument {i + 1} of {name} must be {parameter}, not {argument.type}",
                    argument.span,
                )
        return tuple(
            self.converted(argument, parameter)
            for argument, parameter in zip(arguments, parameters, strict=True)
        )

    # Aggregates

    def _aggregate(self, node: exp.Anonymous, where: exp.Expr | None = None) -> Expression:
        name = node.name.lower()
        if self.inside_aggregate:
            raise QueryError(f"{name} cannot stand inside another aggregate")
        if self.aggregates_in is not None:
            raise QueryError(
                f"{name} is an aggregate and cannot stand in {self.aggregates_in}",
                hint="filter groups with HAVING" if self.aggregates_in == "WHERE" else None,
            )
        inner = replace(self, inside_aggregate=True, aliases={})
        nodes, distinct = list(node.expressions), False
        if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
            nodes, distinct = nodes[0].expressions, True
        condition = inner.bind_condition(where, "FILTER") if where is not None else None
        user = self.catalog.function(name)
        if user is not None:
            arguments = inner._checked_user_arguments(user.name, user.parameters, nodes)
            return AggregateCall(
                function=user.name,
                arguments=arguments,
                distinct=distinct,
                where=condition,
                path=user.path,
                type=user.returns,
            )
        if name == "count" and len(nodes) == 1 and isinstance(nodes[0], exp.Star):
            arguments = (Literal(value=1, type=INT),)
        else:
            arguments = inner._arguments(nodes)
        signature = AGGREGATES[name].resolve(name, arguments)
        return AggregateCall(
            function=name,
            arguments=tuple(
                self.converted(a, t) for a, t in zip(arguments, signature.arguments, strict=True)
            ),
            distinct=distinct,
            where=condition,
            type=signature.result,
        )

    def _filtered_aggregate(self, node: exp.Filter) -> Expression:
        call = node.this
        known = isinstance(call, exp.Anonymous) and (
            call.name.lower() in AGGREGATES or self.catalog.function(call.name) is not None
        )
        if not known:
            raise QueryError("FILTER (WHERE …) goes with aggregates only")
        return self._aggregate(call, node.expression.this)

    # Operators

    def _binary(self, symbol: str, node: exp.Expr) -> Expression:
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
            return _number(f"-{inner.name}")
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
            raise _unsupported(node)
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
            raise _unsupported(node)
        return self.call("not", (tested,)) if node.args.get("negate") else tested

    def _in(self, node: exp.Expr) -> Expression:
        query = node.args.get("query")
        if query is not None:
            return self._in_subquery(node.this, query)
        if isinstance(node.this, exp.Tuple):
            return self._tuple_in(node)
        choices = [self.bind(choice) for choice in node.expressions]
        return self.call("in", (self.bind(node.this), *choices))

    def _tuple_in(self, node: exp.Expr) -> Expression:
        values = [self.bind(part) for part in node.this.expressions]
        result: Expression | None = None
        for choice in node.expressions:
            if not isinstance(choice, exp.Tuple) or len(choice.expressions) != len(values):
                raise QueryError(f"a row of {len(values)} values is needed here", span_of(choice))
            equal: Expression | None = None
            for value, part in zip(values, choice.expressions, strict=True):
                pair = self.call("=", (value, self.bind(part)))
                equal = pair if equal is None else self.call("and", (equal, pair))
            assert equal is not None, "a tuple has parts"
            result = equal if result is None else self.call("or", (result, equal))
        assert result is not None, "IN has choices"
        return result

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
        return InSubquery(values=tuple(converted), plan=self._columns_as(plan, targets))

    def _columns_as(self, plan: Plan, targets: list[Type]) -> Plan:
        """The plan with its columns converted to the given types."""
        from thalweg.plan.nodes import Project

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
        return _number(node.name)

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
        value, type_ = _interval_value(node)
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
            test = self.bind(branch.this)
            branches.append(test if subject is None else self.call("=", (subject, test)))
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
            raise _unsupported(node)
        inner, index = self.bind(node.this), self.bind(node.expressions[0])
        if isinstance(inner.type, StructType) and isinstance(index, Literal):
            return _field_of(inner, str(index.value), index.span)
        return self.call("[]", (inner, index))

    def _struct(self, name: str, nodes: Sequence[exp.Expr]) -> Expression:
        arguments: list[Expression] = []
        for i, node in enumerate(nodes):
            inner = node.this if isinstance(node, exp.Alias) else node
            value = self.bind(inner)
            label = node.alias if isinstance(node, exp.Alias) else f"col{i + 1}"
            if isinstance(value, Column | FieldOf) and not isinstance(node, exp.Alias):
                label = value.name
            arguments += [Literal(value=label, type=STRING), value]
        return self.call("named_struct", arguments)

    def _unit_call(self, name: str, nodes: Sequence[exp.Expr]) -> Expression:
        """`timestampadd(DAY, 1, ts)`, `datediff(HOUR, a, b)`: the unit is a bare word."""
        if len(nodes) == 3:
            word = nodes[0].name
            unit = Literal(value=word.upper(), type=STRING, written=word, span=span_of(nodes[0]))
            target = "timestampadd" if name.endswith("add") else "timestampdiff"
            return self.call(target, (unit, *(self.bind(node) for node in nodes[1:])))
        if name in ("timestampadd", "timestampdiff"):
            raise wrong_count(name, 3, 3, len(nodes))
        plain = "date_add" if name.endswith("add") else name
        return self.call(plain, self._arguments(nodes))

    # What is refused

    def _windowed_function(self, node: exp.Expr) -> Expression:
        raise QueryError(
            "OVER (…) is not supported",
            hint="window the stream instead, as in FROM S [RANGE 1 MINUTE], and aggregate",
        )

    def _clock(self, node: exp.Expr) -> Expression:
        clock = isinstance(node, exp.CurrentTimestamp)
        raise _not_replayable("current_timestamp" if clock else "current_date")

    def _quantified(self, node: exp.Expr) -> Expression:
        raise QueryError(
            "ANY and ALL are not supported", hint="use IN, EXISTS, or min and max in a subquery"
        )

    def _star(self, node: exp.Expr) -> Expression:
        raise QueryError("* cannot stand here")

    def _tuple(self, node: exp.Expr) -> Expression:
        raise QueryError(
            "a list of values cannot stand here", hint="make a struct with struct(a, b)"
        )

    def _lambda(self, node: exp.Expr) -> Expression:
        raise QueryError("lambda functions are not supported")


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
    exp.Window: ExpressionBinder._windowed_function,
    exp.CurrentTimestamp: ExpressionBinder._clock,
    exp.CurrentDate: ExpressionBinder._clock,
    exp.Any: ExpressionBinder._quantified,
    exp.All: ExpressionBinder._quantified,
    exp.Star: ExpressionBinder._star,
    exp.Tuple: ExpressionBinder._tuple,
    exp.Lambda: ExpressionBinder._lambda,
}

_SYNTAX_CALLS: dict[str, Callable[[ExpressionBinder, str, Sequence[exp.Expr]], Expression]] = {
    "struct": ExpressionBinder._struct,
    "dateadd": ExpressionBinder._unit_call,
    "date_add": ExpressionBinder._unit_call,
    "timestampadd": ExpressionBinder._unit_call,
    "datediff": ExpressionBinder._unit_call,
    "date_diff": ExpressionBinder._unit_call,
    "timestampdiff": ExpressionBinder._unit_call,
}


def has_aggregate(expression: Expression) -> bool:
    return any(isinstance(part, AggregateCall) for part in walk(expression))


def _name_parts(node: exp.Expr) -> tuple[list[str] | None, list[Span | None]]:
    """A dotted name as its parts, or None if it hangs on something that is no name."""
    if isinstance(node, exp.Identifier):
        return [node.name], [span_of(node)]
    if isinstance(node, exp.Dot):
        parts, spans = _name_parts(node.this)
        if parts is None or not isinstance(node.expression, exp.Identifier):
            return None, []
        return [*parts, node.expression.name], [*spans, span_of(node.expression)]
    if isinstance(node, exp.Column):
        nodes = list(node.parts)
        if any(isinstance(part, exp.Star) for part in nodes):
            raise QueryError("* cannot stand here")
        return [part.name for part in nodes], [span_of(part) for part in nodes]
    return None, []


def _field_of(inner: Expression, name: str, span: Span | None) -> Expression:
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


def _number(text: str) -> Literal:
    """INT, BIGINT or DECIMAL by size; DOUBLE with an exponent."""
    plain = text.lower().replace("_", "")
    if "e" in plain:
        return Literal(value=float(plain), type=DOUBLE)
    if "." not in plain:
        value = int(plain)
        if value in _INT_RANGE:
            return Literal(value=value, type=INT)
        if value in _LONG_RANGE:
            return Literal(value=value, type=BIGINT)
    number = dec.Decimal(plain)
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "a literal is finite"
    scale = max(0, -exponent)
    precision = max(len(digits), scale)
    if precision > MAX_PRECISION:
        raise QueryError(f"{text} has more than {MAX_PRECISION} digits")
    return Literal(value=number, type=decimal(precision, scale))


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _interval_value(node: exp.Expr) -> tuple[int, Type]:
    unit = node.args.get("unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else None
    if text is None or unit is None:
        raise QueryError(
            "an interval needs a constant and a unit", hint="write INTERVAL '10' SECOND"
        )
    if isinstance(unit, exp.IntervalSpan):
        return _interval_range(text, unit.this.name.upper(), unit.expression.name.upper())
    word = unit.name.upper()
    try:
        amount = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        raise QueryError(f"'{text}' is not a number of {word.lower()}") from None
    singular = word.removesuffix("S")
    if singular in _MONTHS:
        months = amount * _MONTHS[singular]
        if months.denominator != 1:
            raise QueryError(f"{text} {word.lower()} is not a whole number of months")
        return int(months), YEAR_MONTH
    micros = nanoseconds(amount, word) / 1000
    return int(micros), DAYS if singular in ("DAY", "WEEK") else DAY_TIME


def _interval_range(text: str, first: str, last: str) -> tuple[int, Type]:
    """`'1-2' YEAR TO MONTH`, `'1 02:03:04.5' DAY TO SECOND` and the shorter forms."""
    sign = -1 if text.strip().startswith("-") else 1
    body = text.strip().lstrip("+-")
    wrong = QueryError(f"'{text}' is not an interval of {first} TO {last}")
    try:
        if (first, last) == ("YEAR", "MONTH"):
            years, months = body.split("-")
            return sign * (int(years) * 12 + int(months)), YEAR_MONTH
        units = ["DAY", "HOUR", "MINUTE", "SECOND"]
        wanted = units[units.index(first) : units.index(last) + 1]
        parts = body.replace(" ", ":", 1).split(":") if first == "DAY" else body.split(":")
        if len(parts) != len(wanted):
            raise wrong
        total = sum(
            Fraction(part) * Unit[unit].value for part, unit in zip(parts, wanted, strict=True)
        )
    except (ValueError, ZeroDivisionError):
        raise wrong from None
    return sign * int(total / 1000), DAY_TIME


def _not_replayable(name: str) -> QueryError:
    return QueryError(
        f"{name} is not allowed in a continuous query",
        detail=_NEEDS_REPLAY,
        hint=_NOT_REPLAYABLE.get(name, "bring the value in as a column"),
    )


def _unsupported(node: exp.Expr) -> QueryError:
    text = node.sql(dialect="spark")
    shown = text if len(text) <= 60 else text[:57] + "…"
    return QueryError(f"this is not supported in CQL: {shown}")
