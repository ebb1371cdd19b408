"""Plan nodes that say where things run.

An exchange carries the output of one fragment to the shards: rows with equal
values of its key columns to one shard, or all rows to the first shard where it
has no key. A fragment that reads a source stream runs in the intake, any other
in the shards, one batch earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from thalweg.plan.expressions import Column, Expression
from thalweg.plan.nodes import (
    Aggregate,
    Filter,
    OneInput,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RowsWindow,
    Rstream,
    SlideWindow,
    StreamOperator,
    StreamScan,
    subplans,
)
from thalweg.types import Field, Schema, Type


@dataclass(frozen=True)
class Received(Plan):
    """What an exchange brings.

    `origins` are the source streams below, each with the length of its unit in
    ticks here and its rank.
    """

    number: int
    fields: Schema
    stream: bool
    origins: tuple[tuple[str, int, int], ...]

    @cached_property
    def schema(self) -> Schema:
        return self.fields

    @property
    def is_stream(self) -> bool:
        return self.stream


@dataclass(frozen=True)
class Entering(StreamOperator):
    """ISTREAM of a relation whose rows show when they enter and leave.

    Equal rows then enter at one instant and leave at another: nothing cancels, and
    every row can be given out as it comes.
    """


@dataclass(frozen=True)
class Lasting:
    """A window over a source stream whose unit has `scale` ticks here.

    Its last change follows from the last row of the stream.
    """

    stream: str
    scale: int
    span: int
    step: int


@dataclass(frozen=True)
class SteppedRstream(Rstream):
    """RSTREAM of a relation that is evaluated at the multiples of some steps alone.

    `lasting` are the windows up to whose last change time is counted; there are none
    where every row leaves by itself.
    """

    steps: tuple[int, ...]
    lasting: tuple[Lasting, ...]


@dataclass(frozen=True)
class PartialAggregate(OneInput):
    """Rows as parts of groups: keys, then what the aggregates need to know.

    Where rows of one batch share a group and a stretch of time, and what is needed adds
    up, they are one part. The whole is the sum of its parts wherever they come from.
    """

    aggregate: Aggregate
    parts: tuple[Type, ...]

    @cached_property
    def schema(self) -> Schema:
        keys = self.aggregate.schema[: len(self.aggregate.keys)]
        return (*keys, *(Field(f"part {i}", type_) for i, type_ in enumerate(self.parts)))


@dataclass(frozen=True)
class FinalAggregate(OneInput):
    """The aggregate whose parts come in."""

    aggregate: Aggregate

    @cached_property
    def schema(self) -> Schema:
        return self.aggregate.schema


@dataclass(frozen=True)
class Exchange:
    """A fragment and the columns by which its output is spread; None: all to one shard."""

    number: int
    plan: Plan
    keys: tuple[int, ...] | None

    @cached_property
    def stream(self) -> str | None:
        """The source stream that the fragment reads, None if it runs in the shards."""
        names = [node.name for node in self.plan.walk() if isinstance(node, StreamScan)]
        return names[0] if names else None


@dataclass(frozen=True)
class PlacedQuery:
    """A query over what exchanges bring; `spread` over all shards, or in the first alone."""

    name: str
    plan: Plan
    spread: bool


@dataclass(frozen=True)
class Placement:
    """Where everything runs: the exchanges in order of number, and the queries."""

    exchanges: tuple[Exchange, ...]
    queries: tuple[PlacedQuery, ...]

    def queries_of(self, shard: int) -> dict[str, Plan]:
        """What a shard computes; what only the first one does comes last."""
        spread = {query.name: query.plan for query in self.queries if query.spread}
        if shard != 0:
            return spread
        return spread | {query.name: query.plan for query in self.queries if not query.spread}

    def columns_read(self, stream: str) -> frozenset[int]:
        """The columns of a stream that somebody reads."""
        return frozenset(
            column
            for exchange in self.exchanges
            for node in exchange.plan.walk()
            if isinstance(node, StreamScan) and node.name == stream
            for column in node.columns
        )

    def queries_for(self, purpose: str | int) -> frozenset[str]:
        """A query itself, or the queries that need what an exchange brings."""
        return frozenset((purpose,)) if isinstance(purpose, str) else self._needed_by[purpose]

    @cached_property
    def served(self) -> dict[int, tuple[str, ...]]:
        """By exchange: the queries that need what it brings, in the order of the script."""
        places = {query.name: place for place, query in enumerate(self.queries)}
        return {
            number: tuple(sorted(names, key=places.__getitem__))
            for number, names in enumerate(self._needed_by)
        }

    @cached_property
    def _needed_by(self) -> list[frozenset[str]]:
        needed: list[frozenset[str]] = [frozenset()] * len(self.exchanges)
        for query in self.queries:
            for number in _received(query.plan):
                needed[number] |= {query.name}
        for exchange in reversed(self.exchanges):  # one reads only those before it
            for number in _received(exchange.plan):
                needed[number] |= needed[exchange.number]
        return needed

    @cached_property
    def in_order(self) -> frozenset[int]:
        """Exchanges whose rows are put into the order of their sources, so that each has to
        bring its place there: those below windows that count rows, and below what is
        computed by definition."""
        plans = [(query.plan, False) for query in self.queries]
        plans += [(e.plan, e.plan.is_stream) for e in self.exchanges if e.stream is None]
        return frozenset(number for plan, needed in plans for number in _in_order(plan, needed))


def _received(plan: Plan) -> Iterator[int]:
    """The exchanges that a plan reads, also inside other queries."""
    for node in plan.walk():
        if isinstance(node, Received):
            yield node.number
        if isinstance(node, QueryScan):
            yield from _received(node.plan)


def _in_order(plan: Plan, needed: bool) -> Iterator[int]:
    needed = needed or isinstance(plan, RowsWindow | PartitionWindow) or not is_local(plan)
    if isinstance(plan, Received) and needed:
        yield plan.number
    below = [*plan.inputs, *(p for e in plan.expressions for p in subplans(e))]
    if isinstance(plan, QueryScan):
        below.append(plan.plan)
    for child in below:
        yield from _in_order(child, needed)


def is_linear(plan: Plan) -> bool:
    """A stream that is made of a source row by row."""
    match plan:
        case StreamScan():
            return True
        case Filter(input=source) | Project(input=source):
            return is_local(plan) and is_linear(source)
    return False


def is_local(plan: Plan) -> bool:
    """Whether the node can be computed from what one shard has."""
    if isinstance(plan, Rstream) and not isinstance(plan, SteppedRstream):
        return False
    return not any(map(has_subquery, plan.expressions))


def is_fixed(plan: Plan) -> bool:
    """Whether the relation is the same at all times: every shard has it whole."""
    return not any(node.is_stream or isinstance(node, QueryScan | Received) for node in plan.walk())


def shows_groups(plan: Plan) -> bool:
    """Whether the rows are those of groups, in full: no two that are there at once are equal,
    and none leaves as it enters."""
    match plan:
        case Aggregate() | FinalAggregate():
            return True
        case Filter(input=source):
            return is_local(plan) and shows_groups(source)
        case Project(input=source, outputs=outputs):
            shown = {output.index for output in outputs if isinstance(output, Column)}
            whole = shown == set(range(len(source.schema)))
            return whole and is_local(plan) and shows_groups(source)
    return False


def adds_up(plan: Plan) -> bool:
    """Whether many rows below share their stretch of time, so that adding them up first pays."""
    match plan:
        case SlideWindow(input=source):
            return is_linear(source)
        case Filter(input=source) | Project(input=source):
            return is_local(plan) and adds_up(source)
    return False


def has_subquery(expression: Expression) -> bool:
    return bool(expression.subplans) or any(map(has_subquery, expression.children))
