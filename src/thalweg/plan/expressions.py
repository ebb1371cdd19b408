"""Bound expressions: every name is a position, every node has a type.

Two expressions are equal when they compute the same thing in the same way;
names and places in the script are carried along for people and do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from thalweg.errors import Span
from thalweg.types import BOOLEAN, Type

if TYPE_CHECKING:
    from thalweg.plan.nodes import Plan


@dataclass(frozen=True, kw_only=True)
class Expression:
    type: Type
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        assert not children, f"{type(self).__name__} has no children"
        return self

    @property
    def subplans(self) -> tuple[Plan, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class Column(Expression):
    """A column of the input, by position."""

    index: int
    name: str = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class OuterColumn(Expression):
    """Inside a subquery: a column of the row of the enclosing query."""

    index: int
    name: str = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class Literal(Expression):
    """A constant; `written` is its text in the script where a conversion has changed it."""

    value: Any
    written: str | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Call(Expression):
    """A built-in function or operator, named as in `thalweg.functions`."""

    function: str
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, arguments=children)


@dataclass(frozen=True, kw_only=True)
class PythonCall(Expression):
    """A user's function: `path` is its import path, `name` what the script calls it."""

    name: str
    path: str
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, arguments=children)


@dataclass(frozen=True, kw_only=True)
class Cast(Expression):
    """Conversion to `type`. A `quiet` cast that fails is NULL without being counted."""

    input: Expression
    zone: str
    quiet: bool = False
    implicit: bool = field(default=False, compare=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, input=children[0])


@dataclass(frozen=True, kw_only=True)
class FieldOf(Expression):
    """One field of a struct."""

    input: Expression
    index: int
    name: str = field(compare=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, input=children[0])


@dataclass(frozen=True, kw_only=True)
class AggregateCall(Expression):
    """An aggregate over the rows of a group; only `Aggregate` nodes evaluate it.

    `path` is set for a user's aggregate, which `merges` if what it has come to on parts of
    the rows can be put together; `where` is its FILTER clause.
    """

    function: str
    arguments: tuple[Expression, ...]
    distinct: bool = False
    where: Expression | None = None
    path: str | None = None
    merges: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments if self.where is None else (*self.arguments, self.where)

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        if self.where is None:
            return replace(self, arguments=children)
        return replace(self, arguments=children[:-1], where=children[-1])


@dataclass(frozen=True, kw_only=True)
class Exists(Expression):
    """Whether a subquery has a row at this instant."""

    plan: Plan
    type: Type = BOOLEAN

    @property
    def subplans(self) -> tuple[Plan, ...]:
        return (self.plan,)


@dataclass(frozen=True, kw_only=True)
class InSubquery(Expression):
    """Whether the values equal some row of a subquery: SQL's three-valued IN."""

    values: tuple[Expression, ...]
    plan: Plan
    type: Type = BOOLEAN

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.values

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return replace(self, values=children)

    @property
    def subplans(self) -> tuple[Plan, ...]:
        return (self.plan,)


@dataclass(frozen=True, kw_only=True)
class ScalarSubquery(Expression):
    """The single value of a subquery: NULL if it has no row, a failure if it has several."""

    plan: Plan

    @property
    def subplans(self) -> tuple[Plan, ...]:
        return (self.plan,)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, not entering subqueries."""
    yield expression
    for child in expression.children:
        yield from walk(child)


def transform(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """Rebuild bottom-up; returns the same object where nothing changed."""
    children = expression.children
    changed = tuple(transform(child, change) for child in children)
    if any(new is not old for new, old in zip(changed, children, strict=True)):
        expression = expression.with_children(changed)
    return change(expression)


def plain_columns(expressions: Sequence[Expression]) -> tuple[int, ...] | None:
    """The positions of expressions that are plain columns; None if one is not."""
    columns = [e.index for e in expressions if isinstance(e, Column)]
    return tuple(columns) if len(columns) == len(expressions) else None


def columns_used(expression: Expression) -> frozenset[int]:
    """Positions of input columns read, including those read by correlated subqueries."""
    used = set()
    for node in walk(expression):
        if isinstance(node, Column):
            used.add(node.index)
        for plan in node.subplans:
            used |= outer_columns_used(plan)
    return frozenset(used)


def outer_columns_used(plan: Plan) -> set[int]:
    """Positions of the enclosing row that a correlated subquery reads."""
    used = {
        part.index
        for expression in plan.expressions
        for part in walk(expression)
        if isinstance(part, OuterColumn)
    }
    # Not into nested subqueries: what is outer there is a row of this plan.
    for child in plan.inputs:
        used |= outer_columns_used(child)
    return used


def conjuncts(predicate: Expression) -> tuple[Expression, ...]:
    """The parts of a conjunction, flattened, in their order."""
    found: list[Expression] = []
    todo = [predicate]
    while todo:
        part = todo.pop()
        if isinstance(part, Call) and part.function == "and":
            todo.extend(reversed(part.arguments))
        else:
            found.append(part)
    return tuple(found)


def conjunction(parts: tuple[Expression, ...]) -> Expression:
    """The parts joined by AND; TRUE if there are none."""
    if not parts:
        return Literal(value=True, type=BOOLEAN)
    return chained(
        parts, lambda left, right: Call(function="and", arguments=(left, right), type=BOOLEAN)
    )


# A chain this long is a tree this deep; walks through a plan recur, and Python ends them.
_LONGEST_CHAIN = 32


def chained(
    parts: Sequence[Expression], combine: Callable[[Expression, Expression], Expression]
) -> Expression:
    """The parts combined from left to right, as written; a long chain as a flat tree."""
    if len(parts) > _LONGEST_CHAIN:
        middle = len(parts) // 2
        return combine(chained(parts[:middle], combine), chained(parts[middle:], combine))
    return reduce(combine, parts)


def moved(expression: Expression, by: int) -> Expression:
    """The expression over an input whose columns stand `by` positions further right."""
    return remapped(expression, lambda index: index + by) if by else expression


def remapped(expression: Expression, position: Callable[[int], int]) -> Expression:
    """The expression with every column position replaced, in correlated subqueries too."""

    def change(part: Expression) -> Expression:
        if isinstance(part, Column):
            new = position(part.index)
            return part if new == part.index else replace(part, index=new)
        if part.subplans:
            return _with_outer(part, position)
        return part

    return transform(expression, change)


def _with_outer(part: Expression, position: Callable[[int], int]) -> Expression:
    def change(inner: Expression) -> Expression:
        if isinstance(inner, OuterColumn):
            new = position(inner.index)
            return inner if new == inner.index else replace(inner, index=new)
        return inner

    assert isinstance(part, Exists | InSubquery | ScalarSubquery)
    plan = part.plan.map_expressions(lambda e: transform(e, change))
    return part if plan is part.plan else replace(part, plan=plan)
