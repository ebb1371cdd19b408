"""The logical plan: what a query computes, as frozen nodes.

A node is its fields plus the schema that follows from them. Stream-valued nodes
(`is_stream`) stand for sequences of timed rows, all others for relations that
change over time. Lengths of time are in ticks of the query.

Printing, signatures and evaluation live outside; a rewrite builds a new plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from thalweg.errors import Span
from thalweg.plan.expressions import AggregateCall, Expression
from thalweg.types import Field, Schema


class JoinKind(Enum):
    INNER = "inner"
    CROSS = "cross"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"


class SetKind(Enum):
    UNION = "union"
    EXCEPT = "except"
    INTERSECT = "intersect"


@dataclass(frozen=True)
class Plan:
    @property
    def inputs(self) -> tuple[Plan, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        assert not inputs, f"{type(self).__name__} has no inputs"
        return self

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return ()

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        assert not expressions, f"{type(self).__name__} has no expressions"
        return self

    @cached_property
    def schema(self) -> Schema:
        raise NotImplementedError

    @property
    def is_stream(self) -> bool:
        return False

    def walk(self) -> Iterator[Plan]:
        """This node and all below, subqueries of expressions included."""
        yield self
        for child in self.inputs:
            yield from child.walk()
        for expression in self.expressions:
            for plan in subplans(expression):
                yield from plan.walk()

    def map_expressions(self, change: Callable[[Expression], Expression]) -> Plan:
        """Every expression of every node below changed; the same object if none is."""
        plan: Plan = self
        new_inputs = tuple(child.map_expressions(change) for child in plan.inputs)
        if any(new is not old for new, old in zip(new_inputs, plan.inputs, strict=True)):
            plan = plan.with_inputs(new_inputs)
        expressions = plan.expressions
        changed = tuple(change(expression) for expression in expressions)
        if any(new is not old for new, old in zip(changed, expressions, strict=True)):
            plan = plan.with_expressions(changed)
        return plan


def subplans(expression: Expression) -> Iterator[Plan]:
    """The subqueries of an expression, not those inside of them."""
    yield from expression.subplans
    for child in expression.children:
        yield from subplans(child)


@dataclass(frozen=True)
class OneInput(Plan):
    input: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, input=inputs[0])

    @cached_property
    def schema(self) -> Schema:
        return self.input.schema


@dataclass(frozen=True)
class TwoInputs(Plan):
    left: Plan
    right: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, left=inputs[0], right=inputs[1])


# Leaves


@dataclass(frozen=True)
class StreamScan(Plan):
    """The rows of a source stream; `columns` are positions in its declaration.

    `scale` is the number of ticks of the query in one unit of the stream.
    """

    name: str
    fields: Schema
    columns: tuple[int, ...]
    scale: int = 1

    @cached_property
    def schema(self) -> Schema:
        return self.fields

    @property
    def is_stream(self) -> bool:
        return True


@dataclass(frozen=True)
class TableScan(Plan):
    """A stored relation."""

    name: str
    fields: Schema
    columns: tuple[int, ...]

    @cached_property
    def schema(self) -> Schema:
        return self.fields


@dataclass(frozen=True)
class QueryScan(Plan):
    """The answer of another query, by name; `plan` is what that query computes.

    `scale` is the number of ticks of this query in one tick of that one.
    """

    name: str
    plan: Plan
    scale: int = 1

    @cached_property
    def schema(self) -> Schema:
        return self.plan.schema

    @property
    def is_stream(self) -> bool:
        return self.plan.is_stream


@dataclass(frozen=True)
class SingleRow(Plan):
    """A relation of one row without columns: SELECT without FROM."""

    @cached_property
    def schema(self) -> Schema:
        return ()


# Stream to relation


@dataclass(frozen=True)
class Window(OneInput):
    """A stream made a relation."""


@dataclass(frozen=True)
class RangeWindow(Window):
    """Rows of the last `span` ticks and of this one; `[NOW]` has a span of 0."""

    span: int


@dataclass(frozen=True)
class SlideWindow(Window):
    """At each multiple e of `step`: rows with e − span ≤ time < e."""

    span: int
    step: int


@dataclass(frozen=True)
class RowsWindow(Window):
    """The last `rows` rows."""

    rows: int


@dataclass(frozen=True)
class PartitionWindow(Window):
    """The last `rows` rows of each combination of values of the columns `keys`."""

    keys: tuple[int, ...]
    rows: int


@dataclass(frozen=True)
class UnboundedWindow(Window):
    """Every row so far."""


# Relation to relation


@dataclass(frozen=True)
class Filter(OneInput):
    """The rows on which the predicate is true."""

    predicate: Expression

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.predicate,)

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        return replace(self, predicate=expressions[0])

    @property
    def is_stream(self) -> bool:
        return self.input.is_stream


@dataclass(frozen=True)
class Project(OneInput):
    """One output column per expression, duplicates kept."""

    outputs: tuple[Expression, ...]
    names: tuple[str, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.outputs

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        return replace(self, outputs=expressions)

    @cached_property
    def schema(self) -> Schema:
        return tuple(
            Field(name, output.type) for name, output in zip(self.names, self.outputs, strict=True)
        )

    @property
    def is_stream(self) -> bool:
        return self.input.is_stream


@dataclass(frozen=True)
class Join(TwoInputs):
    """Pairs of rows on which the condition is true, by the kind of join.

    SEMI and ANTI keep left rows with and without a partner. With `null_aware`,
    an ANTI join is SQL's NOT IN: a left row also goes when a pair's condition is
    NULL.
    """

    kind: JoinKind
    condition: Expression | None
    null_aware: bool = False

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return () if self.condition is None else (self.condition,)

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        return replace(self, condition=expressions[0] if expressions else None)

    @cached_property
    def schema(self) -> Schema:
        if self.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return self.left.schema
        return self.left.schema + self.right.schema


@dataclass(frozen=True)
class KeyClass:
    """Columns that an inner join forces to be equal, as positions in its output."""

    columns: frozenset[int]


@dataclass(frozen=True)
class JoinGraph(Plan):
    """An inner join of two or more relations as a whole, free of any order.

    Equal to the product of the inputs, filtered: all columns of a key class are
    equal (and not NULL), and every predicate is true.
    """

    members: tuple[Plan, ...]
    keys: tuple[KeyClass, ...]
    predicates: tuple[Expression, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.members

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, members=inputs)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.predicates

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        return replace(self, predicates=expressions)

    @cached_property
    def schema(self) -> Schema:
        return tuple(f for member in self.members for f in member.schema)


@dataclass(frozen=True)
class Aggregate(OneInput):
    """One row per group: the key values, then the aggregates.

    Without keys there is one group, which exists from the first input row on.
    """

    keys: tuple[Expression, ...]
    key_names: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    call_names: tuple[str, ...]

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.keys, *self.calls)

    def with_expressions(self, expressions: tuple[Expression, ...]) -> Plan:
        split = len(self.keys)
        calls = tuple(call for call in expressions[split:] if isinstance(call, AggregateCall))
        assert len(calls) == len(self.calls), "an aggregate stays an aggregate"
        return replace(self, keys=expressions[:split], calls=calls)

    @cached_property
    def schema(self) -> Schema:
        names = self.key_names + self.call_names
        return tuple(
            Field(name, expression.type)
            for name, expression in zip(names, self.expressions, strict=True)
        )


@dataclass(frozen=True)
class Distinct(OneInput):
    """Each row once."""


@dataclass(frozen=True)
class SetOperation(TwoInputs):
    """UNION, EXCEPT or INTERSECT, of bags with `all` and of sets without."""

    kind: SetKind
    all: bool

    @cached_property
    def schema(self) -> Schema:
        return self.left.schema


@dataclass(frozen=True)
class SortKey:
    """A column position and its direction."""

    column: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True)
class Top(OneInput):
    """`limit` rows after the first `offset`, in the order of the keys.

    Rows that tie on the keys are ordered by all their columns, ascending.
    """

    keys: tuple[SortKey, ...]
    limit: int
    offset: int = 0


# Relation to stream


@dataclass(frozen=True)
class StreamOperator(OneInput):
    """A relation made a stream."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    @property
    def is_stream(self) -> bool:
        return True


@dataclass(frozen=True)
class Istream(StreamOperator):
    """What entered the relation at each instant."""


@dataclass(frozen=True)
class Dstream(StreamOperator):
    """What left the relation at each instant."""


@dataclass(frozen=True)
class Rstream(StreamOperator):
    """The whole relation, at each instant at which it was evaluated anew."""
