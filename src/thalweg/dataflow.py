"""The operators that answer a set of queries, and one step of all of them.

Plans that are equal become one operator, whoever asks for it. A step takes the
rows that came and the promises that moved, passes changes from operator to
operator in one sweep, and gives what every query has to say about the instants
that are now certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thalweg.evaluate import Compiler, Failures, Note
from thalweg.group_value import bag_value, begun_state, merged_value
from thalweg.operators.aggregate_calls import measured
from thalweg.operators.aggregate_final import FinalAggregateRun, RepeatedAggregateRun
from thalweg.operators.aggregate_partial import AddingAggregateRun, PartialAggregateRun
from thalweg.operators.answer import NetAnswerRun, Records, RelationAnswerRun, StreamAnswerRun
from thalweg.operators.base import Moment, Operator, next_time, restore, snapshot
from thalweg.operators.by_definition import ByDefinitionRun, Leaf
from thalweg.operators.counted import CountedRun, EnteringRun, NetStreamRun, StreamOperatorRun
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta
from thalweg.operators.join import JoinRun
from thalweg.operators.leaves import ReceivedRun, StreamRun, TableRun
from thalweg.operators.measures import Bag, States
from thalweg.operators.pane_aggregate import PaneAggregateRun
from thalweg.operators.repeated import RstreamRun
from thalweg.operators.stateless import BeginRun, FilterRun, ProjectRun, RescaleRun, UnionRun
from thalweg.operators.stored import StoreRun, StoreView
from thalweg.operators.top import TopRun
from thalweg.operators.windows import RowsWindowRun, TimeWindowRun
from thalweg.plan.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    columns_used,
    conjuncts,
    plain_columns,
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
    QueryScan,
    RangeWindow,
    RowsWindow,
    SetKind,
    SetOperation,
    SingleRow,
    SlideWindow,
    StreamOperator,
    StreamScan,
    TableScan,
    Top,
    Window,
)
from thalweg.plan.placed import (
    Entering,
    Exchange,
    FinalAggregate,
    PartialAggregate,
    Received,
    SteppedRstream,
    adds_up,
    is_fixed,
    is_local,
    shows_groups,
)
from thalweg.types import BOOLEAN, Schema
from thalweg.vector.column import Columns, Index
from thalweg.vector.compiled.store import CodeStore
from thalweg.vector.evaluate import VectorCompiler

Values = tuple[Any, ...]


# What feeds a leaf: the name of a source stream, or the number of an exchange.
Origin = str | int
# What an operator works for: a query by its name, an exchange by its number.
Purpose = str | int
# Calls that gave no value, and by all that they were made for.
Noted = dict[Note, None]
Failed = Mapping[Purpose, Noted]
# By source stream, in its own unit: an instant that must have passed in all of them.
Due = dict[str, int]


@dataclass(frozen=True)
class Node:
    """An operator, the nodes it reads with the length of their tick in its own, and the
    source streams below with the length of their unit. A leaf has an origin instead."""

    operator: Operator
    inputs: tuple[int, ...]
    scales: tuple[int, ...]
    sources: tuple[tuple[str, int], ...]
    origin: Origin | None = None
    tick: int = 1


@dataclass(frozen=True)
class Stepped:
    """What came of a step: records of queries, changes for exchanges and how far each is,
    and what failed."""

    answers: Mapping[str, Records]
    sent: Mapping[int, Delta]
    reached: Mapping[Origin, int]
    failures: Failed


class Dataflow:
    """Queries, and fragments that exchanges send on.

    With a store, expressions run compiled as soon as it has their code.
    """

    def __init__(
        self,
        queries: Mapping[str, Plan],
        exchanges: Sequence[Exchange],
        ranks: Mapping[str, int],
        tables: Mapping[str, Sequence[Values]],
        load_python: Callable[[str], Any],
        store: CodeStore | None = None,
    ) -> None:
        self._failures = Failures()
        self._ranks = ranks
        self._tables = tables
        self._scalar = Compiler(load_python)
        self._compiler = VectorCompiler(self._scalar, self._failures, store)
        self._nodes: list[Node] = []
        self._known: dict[Any, int] = {}
        self._answers = {name: self._answer(plan) for name, plan in queries.items()}
        self._sent = {
            exchange.number: self._ordered(exchange.plan)
            if exchange.plan.is_stream
            else self._node(exchange.plan)
            for exchange in exchanges
        }
        self._purposes = self._find_purposes()

    def warm(self) -> int:
        """Have the code of all expressions before the first step; how many functions that is."""
        return self._compiler.warm()

    # One step

    def step(
        self,
        arrivals: Mapping[Origin, Delta],
        promises: Mapping[Origin, int],
        firsts: Mapping[str, int],
        lasts: Mapping[str, int],
    ) -> Stepped:
        """Rows that came, how far each origin is promised, and the first and last instants of
        the rows of streams.

        All are in the units of their streams and fragments.
        """
        frontiers: list[int] = []
        outputs: list[Delta] = []
        failures: dict[Purpose, Noted] = {}
        for node, purposes in zip(self._nodes, self._purposes, strict=True):
            inputs: tuple[Delta, ...]
            if node.origin is not None:
                inputs = (arrivals[node.origin],) if node.origin in arrivals else ()
            else:
                inputs = tuple(outputs[i] for i in node.inputs)
            reached = _reached(node, promises, frontiers)
            frontier = min(reached, default=FOREVER)
            frontiers.append(frontier)
            moment = _moment(node, frontier, tuple(reached), firsts, lasts)
            try:
                outputs.append(node.operator.step(inputs, moment))
            except Exception as error:
                error.add_note(_place(node, purposes))
                raise
            if self._failures.noted:
                for purpose in purposes:
                    failures.setdefault(purpose, {}).update(self._failures.noted)
                self._failures.noted.clear()
        return Stepped(
            {name: self._records(index) for name, index in self._answers.items()},
            {number: outputs[index] for number, index in self._sent.items()},
            {number: frontiers[index] for number, index in self._sent.items()},
            failures,
        )

    def due(self, promises: Mapping[Origin, int], firsts: Mapping[str, int]) -> list[Due]:
        """What the passing of time alone will let out, after a step with these promises."""
        frontiers: list[int] = []
        found: dict[tuple[tuple[str, int], ...], int] = {}
        for node in self._nodes:
            frontiers.append(min(_reached(node, promises, frontiers), default=FOREVER))
            begins = (firsts[name] * scale for name, scale in node.sources if name in firsts)
            # A first row is certain, and something may begin, when time has passed it.
            uncertain = (time for time in begins if time >= frontiers[-1])
            own = next_time(node.operator)
            instants = [*uncertain, *(() if own is None else (own,))]
            if instants and frontiers[-1] < FOREVER and node.sources:
                found[node.sources] = min(*instants, found.get(node.sources, FOREVER))
        return [
            {name: time if time == BEFORE_TIME else time // scale for name, scale in sources}
            for sources, time in found.items()
        ]

    def snapshot(self) -> list[tuple[Any, ...]]:
        """All that passes from one batch to the next, operator by operator."""
        return [snapshot(node.operator) for node in self._nodes]

    def restore(self, state: list[tuple[Any, ...]]) -> None:
        """Go on from where another dataflow of the same plans was."""
        for node, part in zip(self._nodes, state, strict=True):
            restore(node.operator, part)

    def _records(self, index: int) -> Records:
        operator = self._nodes[index].operator
        assert isinstance(operator, RelationAnswerRun | NetAnswerRun | StreamAnswerRun), (
            "an answer is last"
        )
        return operator.records

    # Building

    def _find_purposes(self) -> list[set[Purpose]]:
        found: list[set[Purpose]] = [set() for _ in self._nodes]
        for name, index in self._answers.items():
            found[index].add(name)
        for number, index in self._sent.items():
            found[index].add(number)
        for index in reversed(range(len(found))):
            for below in self._nodes[index].inputs:
                found[below] |= found[index]
        return found

    def _add(
        self,
        operator: Operator,
        inputs: tuple[int, ...],
        scales: tuple[int, ...] | None = None,
    ) -> int:
        scales = scales or (1,) * len(inputs)
        sources: dict[str, int] = {}
        for i, scale in zip(inputs, scales, strict=True):
            for name, factor in self._nodes[i].sources:
                sources[name] = factor * scale
        self._nodes.append(Node(operator, inputs, scales, tuple(sources.items())))
        return len(self._nodes) - 1

    def _leaf(
        self,
        operator: Operator,
        origin: Origin | None,
        tick: int,
        sources: tuple[tuple[str, int], ...],
    ) -> int:
        self._nodes.append(Node(operator, (), (), sources, origin, tick))
        return len(self._nodes) - 1

    def _answer(self, plan: Plan) -> int:
        if plan.is_stream:
            index = self._node(plan)
            return self._add(StreamAnswerRun(plan.schema), (index,))
        index = self._from_begin(plan)
        if self._is_net(plan):
            return self._add(NetAnswerRun(plan.schema), (index,))
        return self._add(RelationAnswerRun(plan.schema), (index,))

    def _node(self, plan: Plan) -> int:
        """The operator of a plan, made once."""
        known = self._known.get(plan)
        if known is None:
            known = self._known[plan] = self._made(plan)
        return known

    def _from_begin(self, plan: Plan) -> int:
        """The operator of a relation, empty before the first row of its streams."""
        index = self._node(plan)
        if not any(isinstance(node, TableScan | SingleRow) for node in plan.walk()):
            return index
        key = ("begin", plan)
        if key not in self._known:
            self._known[key] = self._add(BeginRun(plan.schema), (index,))
        return self._known[key]

    def _is_net(self, plan: Plan) -> bool:
        """Whether the changes of a relation are net as they come, all before the frontier."""
        return shows_groups(plan) and self._from_begin(plan) == self._node(plan)

    def _made(self, plan: Plan) -> int:
        if not is_local(plan):
            return self._by_definition(plan)
        match plan:
            case StreamScan(name=name, columns=columns, scale=scale):
                scan = StreamRun(columns, plan.schema, scale)
                return self._leaf(scan, name, scale, ((name, scale),))
            case Received(number=number, origins=origins):
                sources = tuple((name, scale) for name, scale, _ in origins)
                return self._leaf(ReceivedRun(plan.schema), number, 1, sources)
            case TableScan(name=name, columns=columns):
                rows = [tuple(row[i] for i in columns) for row in self._tables[name]]
                return self._constant(rows, plan.schema)
            case SingleRow():
                return self._constant([()], plan.schema)
            case QueryScan(plan=inner, scale=scale):
                index = self._node(inner) if inner.is_stream else self._from_begin(inner)
                if scale == 1:
                    return index
                return self._add(RescaleRun(scale), (index,), (scale,))
            case Filter(schema=schema):
                return self._filter(plan, frozenset(range(len(schema))), self._node)
            case Project(input=Filter() as filtered, outputs=outputs) if is_local(filtered):
                index = self._filter(filtered, _needed(outputs), self._node)
                return self._project(index, outputs)
            case Project(input=JoinGraph() as graph, outputs=outputs) if is_local(graph):
                return self._project(self._graph(graph, _needed(outputs)), outputs)
            case Project(input=source, outputs=outputs):
                return self._project(self._node(source), outputs)
            case RowsWindow() | PartitionWindow():
                rows_run = RowsWindowRun(plan, plan.schema)
                return self._add(rows_run, (self._ordered(plan.input),))
            case Window(input=source):
                return self._add(TimeWindowRun(plan), (self._node(source),))
            case JoinGraph(schema=schema):
                return self._graph(plan, frozenset(range(len(schema))))
            case Join():
                return self._join(plan)
            case Aggregate(input=source):
                return self._aggregate(plan, source)
            case PartialAggregate():
                return self._parts(plan)
            case FinalAggregate(input=source, aggregate=whole):
                return self._whole(whole, self._node(source), always_there=False)
            case Distinct(input=source):
                return self._counted((self._node(source),), _present, plan.schema)
            case SetOperation():
                return self._set_operation(plan)
            case Top(input=source):
                return self._add(TopRun(plan), (self._node(source),))
            case SteppedRstream(input=source):
                return self._rstream(plan, source)
            case Entering(input=source):
                return self._add(EnteringRun(), (self._from_begin(source),))
            case StreamOperator(input=source):
                of_stream = NetStreamRun if self._is_net(source) else StreamOperatorRun
                run_of = of_stream(plan.schema, isinstance(plan, Istream))
                return self._add(run_of, (self._from_begin(source),))
        raise AssertionError(f"{type(plan).__name__} has no operator")

    def _ordered(self, plan: Plan) -> int:
        """The operator of a stream whose elements have their place in Σ."""
        if isinstance(plan, StreamScan | Received):
            return self._node(plan)
        key = ("ordered", plan)
        if key in self._known:
            return self._known[key]
        match plan:
            case Filter(schema=schema) if is_local(plan):
                index = self._filter(plan, frozenset(range(len(schema))), self._ordered)
            case Project(input=Filter() as filtered, outputs=outputs) if is_local(filtered):
                index = self._filter(filtered, _needed(outputs), self._ordered)
                index = self._project(index, outputs)
            case Project(input=source, outputs=outputs):
                index = self._project(self._ordered(source), outputs)
            case QueryScan(plan=inner, scale=scale):
                index = self._ordered(inner)
                if scale != 1:
                    index = self._add(RescaleRun(scale), (index,), (scale,))
            case _:
                index = self._by_definition(plan)
        self._known[key] = index
        return index

    def _filter(self, plan: Filter, needed: frozenset[int], below: Callable[[Plan], int]) -> int:
        """One operator for filters above each other; the outermost is the first as written."""
        predicates: list[Expression] = []
        source: Plan = plan
        while isinstance(source, Filter) and is_local(source):
            predicates += conjuncts(source.predicate)
            source = source.input
        index = below(source)
        key = ("passing", index, tuple(predicates), needed)
        if key not in self._known:
            run = FilterRun(tuple(predicates), self._compiler, needed)
            self._known[key] = self._add(run, (index,))
        return self._known[key]

    def _graph(self, graph: JoinGraph, needed: frozenset[int]) -> int:
        key = ("needed", graph, needed)
        if key not in self._known:
            inputs = tuple(self._node(member) for member in graph.members)

            def view_of(member: int, columns: tuple[int, ...]) -> StoreView:
                return self._view(graph.members[member], columns)

            run = JoinRun(graph, self._compiler, needed, view_of)
            self._known[key] = self._add(run, inputs)
        return self._known[key]

    def _view(self, member: Plan, key: tuple[int, ...]) -> StoreView:
        """The rows of a member of a join, from a store that others may read too."""
        columns: tuple[int, ...] = tuple(range(len(member.schema)))
        base, span = member, None
        if isinstance(member, RangeWindow):
            base, span = member.input, member.span + 1
            while isinstance(base, Project) and (below := plain_columns(base.outputs)) is not None:
                base, columns = base.input, tuple(below[i] for i in columns)
        stored = tuple(columns[i] for i in key)
        name = ("store", base, stored)
        if name not in self._known:
            run = StoreRun(base.schema, stored, has_ends=span is None)
            self._known[name] = self._add(run, (self._node(base),))
        operator = self._nodes[self._known[name]].operator
        assert isinstance(operator, StoreRun), "a store is what was made under this name"
        return StoreView(operator, columns, span)

    def _rstream(self, plan: SteppedRstream, source: Plan) -> int:
        match source:
            case Aggregate() if is_local(source):
                return self._aggregate(source, source.input, plan)
            case FinalAggregate(input=parts, aggregate=whole):
                return self._whole(whole, self._node(parts), False, plan)
        return self._add(RstreamRun(plan), (self._node(source),))

    def _constant(self, rows: list[Values], schema: Schema) -> int:
        return self._leaf(TableRun(rows, schema), None, 1, ())

    def _project(self, index: int, outputs: tuple[Expression, ...]) -> int:
        return self._add(ProjectRun(outputs, self._compiler), (index,))

    def _aggregate(
        self, plan: Aggregate, source: Plan, rstream: SteppedRstream | None = None
    ) -> int:
        measures = measured(plan, self._failures)
        part = PartialAggregate(source, plan, measures.types)
        return self._whole(plan, self._node(part), is_fixed(source), rstream)

    def _parts(self, plan: PartialAggregate) -> int:
        whole, source = plan.aggregate, plan.input
        measures = measured(whole, self._failures)
        begin = partial(begun_state, self._scalar.load_python)
        given = (whole, measures, plan.schema, self._compiler, begin)
        if not adds_up(source) or not measures.adds_up:
            return self._add(PartialAggregateRun(*given), (self._node(source),))
        if isinstance(source, SlideWindow):
            adding = AddingAggregateRun(*given, source)
            return self._add(adding, (self._node(source.input),))
        return self._add(AddingAggregateRun(*given, None), (self._node(source),))

    def _whole(
        self,
        plan: Aggregate,
        parts: int,
        always_there: bool,
        rstream: SteppedRstream | None = None,
    ) -> int:
        """GROUP BY of parts, or its RSTREAM."""

        def define(measure: Bag | States, rows: Columns, counts: Index) -> Any:
            value = merged_value if isinstance(measure, States) else bag_value
            return value(measure.call, rows, counts, self._scalar.load_python, self._failures)

        measures = measured(plan, self._failures)
        given = (plan, measures, define, always_there)
        if rstream is None:
            return self._add(FinalAggregateRun(*given), (parts,))
        if plan.keys and measures.are_whole:
            return self._add(PaneAggregateRun(plan, measures, rstream), (parts,))
        return self._add(RepeatedAggregateRun(*given, rstream), (parts,))

    def _counted(
        self, inputs: tuple[int, ...], combine: Any, schema: Schema, by_form: bool = False
    ) -> int:
        return self._add(CountedRun(schema, len(inputs), combine, by_form), inputs)

    def _set_operation(self, plan: SetOperation) -> int:
        inputs = (self._node(plan.left), self._node(plan.right))
        if plan.kind is SetKind.UNION:
            both = self._add(UnionRun(plan.schema), inputs)
            return both if plan.all else self._counted((both,), _present, plan.schema)
        return self._counted(inputs, _SET_COUNTS[plan.kind, plan.all], plan.schema)

    def _join(self, plan: Join) -> int:
        graph = inner_graph(plan)
        if plan.kind in (JoinKind.INNER, JoinKind.CROSS):
            return self._node(graph)
        left, right = plan.left.schema, plan.right.schema
        inner = self._node(graph)
        own = tuple(Column(type=f.type, index=i, name=f.name) for i, f in enumerate(graph.schema))
        sides = {
            "left": (self._node(plan.left), own[: len(left)], left),
            "right": (self._node(plan.right), own[len(left) :], right),
        }

        def counted(side: str, combine: Any) -> int:
            index, columns, schema = sides[side]
            partners = self._project(inner, columns)
            return self._counted((index, partners), combine, schema, by_form=True)

        if plan.kind is JoinKind.SEMI:
            return counted("left", _with_partner)
        if plan.kind is JoinKind.ANTI:
            return counted("left", _without_partner)
        parts = [inner]
        if plan.kind in (JoinKind.LEFT, JoinKind.FULL):
            parts.append(self._padded(counted("left", _without_partner), left, (), right, plan))
        if plan.kind in (JoinKind.RIGHT, JoinKind.FULL):
            parts.append(self._padded(counted("right", _without_partner), right, left, (), plan))
        return self._add(UnionRun(plan.schema), tuple(parts))

    def _padded(self, index: int, own: Schema, ahead: Schema, behind: Schema, plan: Join) -> int:
        outputs = (
            *(Literal(type=f.type, value=None) for f in ahead),
            *(Column(type=f.type, index=i, name=f.name) for i, f in enumerate(own)),
            *(Literal(type=f.type, value=None) for f in behind),
        )
        return self._project(index, outputs)

    def _by_definition(self, plan: Plan) -> int:
        found = {id(node): (node, scale) for node, scale in _leaf_streams(plan, 1, top=True)}
        leaves, indexes, scales, orders = [], [], [], []
        for node, scale in found.values():
            index = self._ordered(node)
            leaves.append(Leaf(node, self._rank(node), scale))
            indexes.append(index)
            scales.append(scale)
            below = self._nodes[index].operator
            orders.append(below if isinstance(below, ByDefinitionRun) else None)
        run = ByDefinitionRun(plan, leaves, orders, self._tables, self._scalar, self._failures)
        return self._add(run, tuple(indexes), tuple(scales))

    def _rank(self, plan: Plan) -> int | None:
        """The place in the script of a source stream."""
        if isinstance(plan, StreamScan):
            return self._ranks.get(plan.name, 0)
        return plan.origins[0][2] if isinstance(plan, Received) else None


def _place(node: Node, purposes: set[Purpose]) -> str:
    """Where in the dataflow something is, for whoever has to find out what went wrong."""
    streams = ", ".join(name for name, _ in node.sources)
    queries = ", ".join(sorted(p for p in purposes if isinstance(p, str)))
    what = type(node.operator).__name__
    return f"in {what} over {streams or 'no stream'}" + (f" for {queries}" if queries else "")


def _needed(outputs: tuple[Expression, ...]) -> frozenset[int]:
    return frozenset[int]().union(*map(columns_used, outputs))


def _moment(
    node: Node,
    frontier: int,
    reached: tuple[int, ...],
    firsts: Mapping[str, int],
    lasts: Mapping[str, int],
) -> Moment:
    known, begins = {}, []
    for name, scale in node.sources:
        first = firsts.get(name)
        if first is not None and first * scale < frontier:
            known[name] = first
            begins.append(first * scale)
    return Moment(frontier, reached, known, min(begins, default=None), lasts)


def inner_graph(plan: Join) -> JoinGraph:
    """The pairs of a join on which its condition is true; for NOT IN, not false."""
    width = len(plan.left.schema)
    condition = plan.condition
    members = (plan.left, plan.right)
    if condition is None:
        return JoinGraph(members, (), ())
    if plan.null_aware:
        true = Literal(type=BOOLEAN, value=True)
        perhaps = Call(type=BOOLEAN, function="coalesce", arguments=(condition, true))
        return JoinGraph(members, (), (perhaps,))
    keys, predicates = [], []
    for part in conjuncts(condition):
        match part:
            case Call(function="=", arguments=(Column() as a, Column() as b)) if (
                a.type == b.type and (a.index < width) != (b.index < width)
            ):
                keys.append(KeyClass(frozenset((a.index, b.index))))
            case _:
                predicates.append(part)
    return JoinGraph(members, _merged(keys), tuple(predicates))


def _merged(keys: list[KeyClass]) -> tuple[KeyClass, ...]:
    classes: list[frozenset[int]] = []
    for key in keys:
        touching = [c for c in classes if c & key.columns]
        classes = [c for c in classes if c not in touching]
        classes.append(frozenset(key.columns.union(*touching)))
    return tuple(KeyClass(columns) for columns in classes)


def _leaf_streams(plan: Plan, scale: int, top: bool = False) -> Iterator[tuple[Plan, int]]:
    """The nearest streams below that have elements of their own."""
    if isinstance(plan, StreamScan | Received) or (isinstance(plan, StreamOperator) and not top):
        yield plan, scale
        return
    if isinstance(plan, QueryScan):
        yield from _leaf_streams(plan.plan, scale * plan.scale)
    for child in plan.inputs:
        yield from _leaf_streams(child, scale)
    for expression in plan.expressions:
        yield from _leaf_streams_of(expression, scale)


def _leaf_streams_of(expression: Expression, scale: int) -> Iterator[tuple[Plan, int]]:
    for plan in expression.subplans:
        yield from _leaf_streams(plan, scale)
    for child in expression.children:
        yield from _leaf_streams_of(child, scale)


def _reached(node: Node, promises: Mapping[Origin, int], frontiers: list[int]) -> list[int]:
    """How far the inputs of a node are, in its tick."""
    if node.origin is not None:
        return [_scaled(promises[node.origin], node.tick)]
    below = zip(node.inputs, node.scales, strict=True)
    return [_scaled(frontiers[i], scale) for i, scale in below]


def _scaled(time: int, scale: int) -> int:
    if time in (FOREVER, BEFORE_TIME):
        return time
    return max(BEFORE_TIME, min(FOREVER, time * scale))


def _present(count: Any) -> Any:
    return (count > 0).astype(np.int64)


def _with_partner(count: Any, partners: Any) -> Any:
    return np.where(partners > 0, count, 0)


def _without_partner(count: Any, partners: Any) -> Any:
    return np.where(partners > 0, 0, count)


_SET_COUNTS: dict[tuple[SetKind, bool], Any] = {
    (SetKind.EXCEPT, True): lambda a, b: np.maximum(a - b, 0),
    (SetKind.INTERSECT, True): lambda a, b: np.minimum(a, b),
    (SetKind.EXCEPT, False): lambda a, b: ((a > 0) & (b == 0)).astype(np.int64),
    (SetKind.INTERSECT, False): lambda a, b: ((a > 0) & (b > 0)).astype(np.int64),
}
