"""Calls: built-in functions, aggregates and users' Python functions.

Every conversion that SQL makes silently is written out as a `Cast`, and the
session's time zone is an argument of whatever depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from thalweg.catalog import Catalog
from thalweg.coercion import converts_implicitly
from thalweg.cql.query_parser import STREAM_OPERATORS
from thalweg.cql.syntax_errors import span_of
from thalweg.errors import QueryError
from thalweg.functions import AGGREGATES, SCALARS, Failure
from thalweg.functions.aggregates import ORDER_DEPENDENT
from thalweg.functions.cast import caster, to_text
from thalweg.functions.registry import unknown_function, wrong_count
from thalweg.plan.expressions import (
    AggregateCall,
    Call,
    Cast,
    Column,
    Expression,
    FieldOf,
    Literal,
    PythonCall,
    walk,
)
from thalweg.plan.nodes import Plan
from thalweg.plan.refused import NOT_REPLAYABLE, not_replayable
from thalweg.plan.scope import Scope
from thalweg.settings import Settings
from thalweg.types import BOOLEAN, INT, STRING, Type, refuse_repeated_fields

BindSubquery = Callable[[exp.Expr, Scope], Plan]


@dataclass
class CallBinder:
    """Binds calls; what is inside them is bound by `bind`.

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
    aliases: dict[str, Expression | None] = field(default_factory=dict)
    inside_aggregate: bool = False

    def bind(self, node: exp.Expr) -> Expression:
        raise NotImplementedError

    def bind_condition(self, node: exp.Expr, clause: str) -> Expression:
        return self.converted(self.bind_test(node, clause), BOOLEAN)

    def bind_test(self, node: exp.Expr, clause: str) -> Expression:
        """Something that can be a condition, not yet converted to one."""
        bound = self.bind(node)
        if not converts_implicitly(bound.type, BOOLEAN):
            noun = "conditions" if clause in ("AND", "OR") else "a condition"
            raise QueryError(f"{clause} needs {noun}, not a value of type {bound.type}", bound.span)
        return bound

    def call(self, name: str, arguments: Sequence[Expression]) -> Expression:
        """A built-in applied to bound arguments, with the conversions it needs."""
        function = SCALARS[name]
        if function.zoned:
            zone = Literal(value=self.settings.timezone, type=STRING)
            arguments = (*arguments, zone)
        signature = function.resolve(name, arguments)
        refuse_repeated_fields(signature.result)
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
        if name in NOT_REPLAYABLE:
            raise not_replayable(name)
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
                merges=user.merges,
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

    # Calls with words for arguments

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


_SYNTAX_CALLS: dict[str, Callable[[CallBinder, str, Sequence[exp.Expr]], Expression]] = {
    "struct": CallBinder._struct,
    "dateadd": CallBinder._unit_call,
    "date_add": CallBinder._unit_call,
    "timestampadd": CallBinder._unit_call,
    "datediff": CallBinder._unit_call,
    "date_diff": CallBinder._unit_call,
    "timestampdiff": CallBinder._unit_call,
}


def has_aggregate(expression: Expression) -> bool:
    return any(isinstance(part, AggregateCall) for part in walk(expression))
