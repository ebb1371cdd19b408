"""Which shard computes what: plans cut into fragments that exchanges connect.

A query runs spread over the shards by some of its output columns, if these can
be traced down to columns by which its streams can be spread: through joins by
their equal columns, through groups by their keys. Equal rows then meet in one
shard, so what each shard says of its rows is net. Where the columns of a group
cannot be traced, the rows below are added up where they are, and the sums move.
What can be spread in no way runs in one shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from thalweg.catalog import Stream
from thalweg.operators.aggregate_calls import part_types, parts_add_up
from thalweg.optimize.entering import istream_to_entering
from thalweg.optimize.merge_scans import merge_scans
from thalweg.optimize.stepping import step_rstreams
from thalweg.plan.expressions import (
    Call,
    Column,
    Expression,
    conjuncts,
    plain_columns,
    transform,
)
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinGraph,
    JoinKind,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RangeWindow,
    RowsWindow,
    SetOperation,
    SlideWindow,
    StreamOperator,
    StreamScan,
    UnboundedWindow,
)
from thalweg.plan.placed import (
    Exchange,
    FinalAggregate,
    PartialAggregate,
    PlacedQuery,
    Placement,
    Received,
    SteppedRstream,
    adds_up,
    is_fixed,
    is_linear,
    is_local,
)

Keys = tuple[int, ...]


def place(queries: Mapping[str, Plan], streams: Mapping[str, Stream]) -> Placement:
    """Cut the plans of all queries; equal fragments are cut once."""
    placer = Placer({name: stream.rank for name, stream in streams.items()})
    times = {name: stream.time_column for name, stream in streams.items()}
    placed = tuple(
        placer.root(name, istream_to_entering(step_rstreams(plan), times))
        for name, plan in queries.items()
    )
    return merge_scans(Placement(tuple(placer.exchanges), placed))


class Placer:
    def __init__(self, ranks: Mapping[str, int]) -> None:
        self._ranks = ranks
        self.exchanges: list[Exchange] = []
        self._known: dict[tuple[Plan, Keys | None], Received] = {}

    def root(self, name: str, plan: Plan) -> PlacedQuery:
        spread = self._spread(plan) or self._brought_together(plan)
        return PlacedQuery(name, self.one(plan) if spread is None else spread, spread is not None)

    def _brought_together(self, plan: Plan) -> Plan | None:
        """The plan spread by columns that it does not show."""
        if _repeats(plan):
            return self._anyhow(plan)
        if isinstance(plan, StreamOperator) and is_local(plan):
            relation = self._netted(plan.input)
            return None if relation is None else replace(plan, input=relation)
        return None if plan.is_stream else self._netted(plan)

    def _spread(self, plan: Plan) -> Plan | None:
        """The plan spread by some of its own columns."""
        for keys in candidates(plan):
            made = len(self.exchanges)
            spread = self.keyed(plan, keys)
            if spread is not None:
                return spread
            self._undo(made)
        return None

    def _undo(self, made: int) -> None:
        """Forget the exchanges of an attempt that came to nothing."""
        for exchange in self.exchanges[made:]:
            del self._known[exchange.plan, exchange.keys]
        del self.exchanges[made:]

    def _netted(self, plan: Plan) -> Plan | None:
        """A relation that is spread by columns it does not show, brought together by those
        it does."""
        below = self._anyhow(plan) if plan.schema else None
        if below is None:
            return None
        return self._exchanged(below, tuple(range(len(plan.schema))))

    def _anyhow(self, plan: Plan) -> Plan | None:
        """The plan spread over the shards in whatever way; None if there is none."""
        spread = self._spread(plan)
        if spread is not None:
            return spread
        match plan:
            case Filter(input=source) | Project(input=source) if is_local(plan):
                return _rebuilt(plan, [self._anyhow(source)])
            case SteppedRstream(input=source):
                return _rebuilt(plan, [self._anyhow(source)])
            case Aggregate(keys=keys) if keys and is_local(plan):
                return self._aggregate(plan, tuple(range(len(keys))))
        return None

    def keyed(self, plan: Plan, keys: Keys) -> Plan | None:
        """The plan with its output spread by the given columns; None if that cannot be."""
        if not is_local(plan):
            return None
        if plan.is_stream and is_linear(plan):
            return self._exchanged(plan, keys)
        match plan:
            case Project(input=source, outputs=outputs):
                below = plain_columns([outputs[key] for key in keys])
                return None if below is None else self._above(plan, source, below)
            case PartitionWindow(input=source, keys=own):
                spreads = set(keys) <= set(own) and is_linear(source)
                return self._above(plan, source, keys) if spreads else None
            case RangeWindow(input=source) | SlideWindow(input=source):
                return self._above(plan, source, keys)
            case UnboundedWindow(input=source) | Filter(input=source) | Distinct(input=source):
                return self._above(plan, source, keys)
            case StreamOperator(input=source):
                return self._above(plan, source, keys)
            case QueryScan(plan=inner):
                below_query = self.keyed(inner, keys)
                return None if below_query is None else replace(plan, plan=below_query)
            case JoinGraph():
                return self._graph(plan, keys)
            case Join():
                return self._join(plan, keys)
            case Aggregate():
                return self._aggregate(plan, keys)
            case SetOperation(left=left, right=right):
                sides = [self.keyed(side, keys) for side in (left, right)]
                return _rebuilt(plan, sides)
        return None

    def _above(self, plan: Plan, source: Plan, keys: Keys) -> Plan | None:
        return _rebuilt(plan, [self.keyed(source, keys)])

    def _graph(self, plan: JoinGraph, keys: Keys) -> Plan | None:
        start, members = 0, []
        for member in plan.members:
            end = start + len(member.schema)
            if is_fixed(member):
                members.append(member)
            else:
                own = [_partner(plan, key, start, end) for key in keys]
                found = [column for column in own if column is not None]
                if len(found) < len(keys):
                    return None
                spread = self.keyed(member, tuple(found))
                if spread is None:
                    return None
                members.append(spread)
            start = end
        return plan.with_inputs(tuple(members))

    def _join(self, plan: Join, keys: Keys) -> Plan | None:
        if plan.null_aware or plan.kind is JoinKind.FULL:
            return None
        width = len(plan.left.schema)
        mirrored = plan.kind is JoinKind.RIGHT
        pairs: dict[int, int] = {}
        for part in conjuncts(plan.condition) if plan.condition is not None else ():
            match part:
                case Call(function="=", arguments=(Column() as a, Column() as b)) if (
                    a.type == b.type and (a.index < width) != (b.index < width)
                ):
                    left, right = sorted((a.index, b.index))
                    pairs[right if mirrored else left] = left if mirrored else right - width
        kept, other = (plan.right, plan.left) if mirrored else (plan.left, plan.right)
        first = width if mirrored else 0
        if not all(first <= key < first + len(kept.schema) for key in keys) or is_fixed(kept):
            return None
        spread = self.keyed(kept, tuple(key - first for key in keys))
        partner: Plan | None = other
        if not is_fixed(other):
            found = [pairs[key] for key in keys if key in pairs]
            partner = self.keyed(other, tuple(found)) if len(found) == len(keys) else None
        return _rebuilt(plan, [partner, spread] if mirrored else [spread, partner])

    def _aggregate(self, plan: Aggregate, keys: Keys) -> Plan | None:
        if not all(key < len(plan.keys) for key in keys):
            return None
        if adds_up(plan.input) and parts_add_up(plan):
            return self._in_parts(plan, plan.input, keys)
        below = plain_columns([plan.keys[key] for key in keys])
        if below is not None:
            made = len(self.exchanges)
            spread = self.keyed(plan.input, below)
            if spread is not None:
                return replace(plan, input=spread)
            self._undo(made)
        anyhow = self._anyhow(plan.input)
        return None if anyhow is None else self._in_parts(plan, anyhow, keys)

    def _in_parts(self, plan: Aggregate, source: Plan, keys: Keys | None) -> Plan:
        part = PartialAggregate(source, plan, part_types(plan))
        return FinalAggregate(self._exchanged(part, keys), plan)

    # One shard

    def one(self, plan: Plan) -> Plan:
        """The plan in one shard."""
        if not is_local(plan):
            return self._scans(plan)
        if plan.is_stream and is_linear(plan):
            return self._exchanged(plan, None)
        if isinstance(plan, RowsWindow | PartitionWindow) and is_linear(plan.input):
            return plan.with_inputs((self._exchanged(plan.input, None),))
        if isinstance(plan, Aggregate) and not is_fixed(plan.input):
            if adds_up(plan.input) and parts_add_up(plan):
                return self._in_parts(plan, plan.input, None)
            anyhow = self._anyhow(plan.input)
            if anyhow is not None:
                return self._in_parts(plan, anyhow, None)
        if isinstance(plan, QueryScan):
            return replace(plan, plan=self.one(plan.plan))
        if isinstance(plan, RowsWindow | PartitionWindow):
            # The order of a derived stream is found from its sources.
            return plan.with_inputs((self._scans(plan.input),))
        return plan.with_inputs(tuple(map(self.one, plan.inputs))) if plan.inputs else plan

    def _scans(self, plan: Plan) -> Plan:
        """Every source stream below by itself, also inside subqueries."""
        if isinstance(plan, StreamScan):
            return self._exchanged(plan, None)
        if isinstance(plan, QueryScan):
            return replace(plan, plan=self._scans(plan.plan))
        if plan.inputs:
            plan = plan.with_inputs(tuple(map(self._scans, plan.inputs)))
        if plan.expressions:
            plan = plan.with_expressions(
                tuple(transform(expression, self._scans_of) for expression in plan.expressions)
            )
        return plan

    def _scans_of(self, expression: Expression) -> Expression:
        if not expression.subplans:
            return expression
        (plan,) = expression.subplans
        return replace(expression, plan=self._scans(plan))  # type: ignore[call-arg]

    def _exchanged(self, plan: Plan, keys: Keys | None) -> Received:
        known = self._known.get((plan, keys))
        if known is None:
            number = len(self.exchanges)
            origins = {name: (scale, rank) for name, scale, rank in self._origins(plan, 1)}
            known = self._known[plan, keys] = Received(
                number,
                plan.schema,
                plan.is_stream,
                tuple((name, *rest) for name, rest in origins.items()),
            )
            self.exchanges.append(Exchange(number, plan, keys))
        return known

    def _origins(self, plan: Plan, scale: int) -> Iterator[tuple[str, int, int]]:
        if isinstance(plan, StreamScan):
            yield plan.name, scale * plan.scale, self._ranks.get(plan.name, 0)
        if isinstance(plan, Received):
            yield from ((name, scale * own, rank) for name, own, rank in plan.origins)
        if isinstance(plan, QueryScan):
            yield from self._origins(plan.plan, scale * plan.scale)
        for child in plan.inputs:
            yield from self._origins(child, scale)


def candidates(plan: Plan) -> Iterator[Keys]:
    """Output columns to spread by, the most promising first."""
    everything = tuple(range(len(plan.schema)))
    groups = _group_columns(plan)
    if len(groups) > 1:
        yield groups
    yield from ((column,) for column in everything)


def _group_columns(plan: Plan) -> Keys:
    """The output columns that are keys of the outermost group."""
    match plan:
        case Project(input=source, outputs=outputs):
            below = set(_group_columns(source))
            return tuple(
                i for i, e in enumerate(outputs) if isinstance(e, Column) and e.index in below
            )
        case Filter(input=source) | StreamOperator(input=source):
            return _group_columns(source)
        case Aggregate(keys=keys):
            return tuple(range(len(keys)))
    return ()


def _partner(plan: JoinGraph, key: int, start: int, end: int) -> int | None:
    """The member's own column that is always equal to an output column."""
    if start <= key < end:
        return key - start
    for key_class in plan.keys:
        if key in key_class.columns:
            for column in sorted(key_class.columns):
                if start <= column < end:
                    return column - start
    return None


def _repeats(plan: Plan) -> bool:
    """Whether the plan is a stream of whole relations: equal rows need not meet."""
    match plan:
        case SteppedRstream():
            return True
        case Filter(input=source) | Project(input=source):
            return plan.is_stream and is_local(plan) and _repeats(source)
    return False


def _rebuilt(plan: Plan, inputs: list[Plan | None]) -> Plan | None:
    found = [source for source in inputs if source is not None]
    return plan.with_inputs(tuple(found)) if len(found) == len(inputs) else None
