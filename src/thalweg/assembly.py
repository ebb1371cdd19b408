"""Plans as operators: which operator computes which part of a plan, each made once.

Plans that are equal become one operator, whoever asks for it. An operator stands behind
those that it reads, so one sweep in their order passes everything on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from thalweg.adapt.choices import DEFAULT, Adaptation
from thalweg.adapt.policies import FILTER_POLICIES
from thalweg.evaluate import Compiler, Failures
from thalweg.group_value import bag_value, begun_state, merged_value
from thalweg.operators.aggregate_calls import measured
from thalweg.operators.aggregate_final import FinalAggregateRun, RepeatedAggregateRun
from thalweg.operators.aggregate_partial import AddingAggregateRun, PartialAggregateRun
from thalweg.operators.answer import NetAnswerRun, RelationAnswerRun, StreamAnswerRun
from thalweg.operators.base import Operator
from thalweg.operators.by_definition import ByDefinitionRun, Leaf
from thalweg.operators.counted import CountedRun, EnteringRun, NetStreamRun, StreamOperatorRun
from thalweg.operators.join import JoinRun
from thalweg.operators.join_caches import CachePool
from thalweg.operators.leaves import ReceivedRun, StreamRun, TableRun
from thalweg.operators.measures import Bag, States
from thalweg.operators.pane_aggregate import PaneAggregateRun
from thalweg.operators.repeated import RstreamRun
from thalweg.operators.stateless import BeginRun, FilterRun, ProjectRun, RescaleRun, UnionRun
from thalweg.operators.stored import StoreRun, StoreView
from thalweg.operators.top import TopRun
from thalweg.operators.windows import RowsWindowRun, TimeWindowRun
from thalweg.plan.expressions import (
    Column,
    Expression,
    Literal,
    columns_used,
    conjuncts,
    plain_columns,
)
from thalweg.plan.inner_joins import inner_graph
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Istream,
    Join,
    JoinGraph,
    JoinKind,
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
    FinalAggregate,
    PartialAggregate,
    Received,
    SteppedRstream,
    adds_up,
    is_fixed,
    is_local,
    shows_groups,
)
from thalweg.types import Schema
from thalweg.vector.chain import Chain
from thalweg.vector.column import Columns, Index
from thalweg.vector.compiled.store import CodeStore
from thalweg.vector.evaluate import VectorCompiler

Values = tuple[Any, ...]


# What feeds a leaf: the name of a source stream, or the number of an exchange.
Origin = str | int


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


class Assembly:
    """The operators of some plans, in the order in which they step.

    With a store, expressions run compiled as soon as it has their code. `adaptation` is that
    of the plan that is being turned into operators.
    """

    def __init__(
        self,
        ranks: Mapping[str, int],
        tables: Mapping[str, Sequence[Values]],
        load_python: Callable[[str], Any],
        store: CodeStore | None = None,
    ) -> None:
        self.failures = Failures()
        self._ranks = ranks
        self._tables = tables
        self._scalar = Compiler(load_python)
        self.compiler = VectorCompiler(self._scalar, self.failures, store)
        self.adaptation = DEFAULT
        self._cache_pool: CachePool | None = None
        self.nodes: list[Node] = []
        self._known: dict[Any, int] = {}
        # By join: the stores that it looks into beside its inputs.
        self.stores: dict[int, set[int]] = {}
        # By operator: the chains of predicates that it has.
        self.chains: dict[int, list[Chain]] = {}

    def answer(self, plan: Plan, adaptation: Adaptation = DEFAULT) -> int:
        """The operator that has the records of a query."""
        self._adapt(adaptation)
        if plan.is_stream:
            index = self._node(plan)
            return self._add(StreamAnswerRun(plan.schema), (index,))
        index = self._from_begin(plan)
        if self._is_net(plan):
            return self._add(NetAnswerRun(plan.schema), (index,))
        return self._add(RelationAnswerRun(plan.schema), (index,))

    def sent(self, plan: Plan, adaptation: Adaptation = DEFAULT) -> int:
        """The operator of what an exchange sends on."""
        self._adapt(adaptation)
        return self._ordered(plan) if plan.is_stream else self._node(plan)

    def _adapt(self, adaptation: Adaptation) -> None:
        self.adaptation = adaptation
        self.compiler.filters = adaptation.filters

    def _add(
        self,
        operator: Operator,
        inputs: tuple[int, ...],
        scales: tuple[int, ...] | None = None,
    ) -> int:
        scales = scales or (1,) * len(inputs)
        sources: dict[str, int] = {}
        for i, scale in zip(inputs, scales, strict=True):
            for name, factor in self.nodes[i].sources:
                sources[name] = factor * scale
        self.nodes.append(Node(operator, inputs, scales, tuple(sources.items())))
        return len(self.nodes) - 1

    def _add_testing(self, make: Callable[[], Operator], inputs: tuple[int, ...]) -> int:
        """An operator that tests predicates."""
        before = len(self.compiler.chains)
        operator = make()
        index = self._add(operator, inputs)
        self.chains[index] = self.compiler.chains[before:]
        return index

    def _leaf(
        self,
        operator: Operator,
        origin: Origin | None,
        tick: int,
        sources: tuple[tuple[str, int], ...],
    ) -> int:
        self.nodes.append(Node(operator, (), (), sources, origin, tick))
        return len(self.nodes) - 1

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
            make = partial(FilterRun, tuple(predicates), self.compiler, needed)
            self._known[key] = self._add_testing(make, (index,))
        return self._known[key]

    def _graph(self, graph: JoinGraph, needed: frozenset[int]) -> int:
        key = ("needed", graph, needed)
        if key not in self._known:
            inputs = tuple(self._node(member) for member in graph.members)
            stores: set[int] = set()

            def view_of(member: int, columns: tuple[int, ...]) -> StoreView:
                store, view = self._view(graph.members[member], columns)
                stores.add(store)
                return view

            policy = FILTER_POLICIES[self.adaptation.joins]
            make = partial(JoinRun, graph, self.compiler, needed, view_of, policy, self._pool())
            self._known[key] = self._add_testing(make, inputs)
            self.stores[self._known[key]] = stores
        return self._known[key]

    def _pool(self) -> CachePool | None:
        """The memory for subresults of joins: as much as the first that keeps some may have."""
        if self.adaptation.caches == "off":
            return None
        if self._cache_pool is None:
            self._cache_pool = CachePool(self.adaptation.cache_memory_bytes)
        return self._cache_pool

    def _view(self, member: Plan, key: tuple[int, ...]) -> tuple[int, StoreView]:
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
        operator = self.nodes[self._known[name]].operator
        assert isinstance(operator, StoreRun), "a store is what was made under this name"
        return self._known[name], StoreView(operator, columns, span)

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
        return self._add(ProjectRun(outputs, self.compiler), (index,))

    def _aggregate(
        self, plan: Aggregate, source: Plan, rstream: SteppedRstream | None = None
    ) -> int:
        measures = measured(plan, self.failures)
        part = PartialAggregate(source, plan, measures.types)
        return self._whole(plan, self._node(part), is_fixed(source), rstream)

    def _parts(self, plan: PartialAggregate) -> int:
        whole, source = plan.aggregate, plan.input
        measures = measured(whole, self.failures)
        begin = partial(begun_state, self._scalar.load_python)
        given = (whole, measures, plan.schema, self.compiler, begin)
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
            return value(measure.call, rows, counts, self._scalar.load_python, self.failures)

        measures = measured(plan, self.failures)
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
            below = self.nodes[index].operator
            orders.append(below if isinstance(below, ByDefinitionRun) else None)
        run = ByDefinitionRun(plan, leaves, orders, self._tables, self._scalar, self.failures)
        return self._add(run, tuple(indexes), tuple(scales))

    def _rank(self, plan: Plan) -> int | None:
        """The place in the script of a source stream."""
        if isinstance(plan, StreamScan):
            return self._ranks.get(plan.name, 0)
        return plan.origins[0][2] if isinstance(plan, Received) else None


def _needed(outputs: tuple[Expression, ...]) -> frozenset[int]:
    return frozenset[int]().union(*map(columns_used, outputs))


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
