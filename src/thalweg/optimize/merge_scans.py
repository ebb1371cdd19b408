"""Rows of one stream that go to the shards by the same key go there once.

Every query reads the columns that it needs. Where several send a stream's rows as they
are, by the same key and in the same tick, one exchange with all their columns takes
the place of theirs, and each picks its own behind it. What lies behind can then be
shared too: window stores above all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from thalweg.plan.expressions import Column, Expression, transform
from thalweg.plan.nodes import Plan, Project, QueryScan, StreamScan
from thalweg.plan.placed import Exchange, Placement, Received
from thalweg.types import Field

# Stream, tick, and key in the positions of its declaration.
_Way = tuple[str, int, tuple[int, ...] | None]


def merge_scans(placement: Placement) -> Placement:
    ways: dict[_Way, list[Exchange]] = defaultdict(list)
    for exchange in placement.exchanges:
        if isinstance(exchange.plan, StreamScan):
            ways[_way(exchange, exchange.plan)].append(exchange)
    merged = {own[0].number: _union(own) for own in ways.values() if len(own) > 1}
    if not merged:
        return placement
    gone = {e.number: own[0].number for own in ways.values() for e in own[1:]}
    kept = [exchange for exchange in placement.exchanges if exchange.number not in gone]
    numbers = {exchange.number: i for i, exchange in enumerate(kept)}

    def behind(received: Received) -> Plan:
        """What was received, from where it comes now."""
        first = gone.get(received.number, received.number)
        whole = merged.get(first)
        if whole is None:
            return replace(received, number=numbers[first])
        scan = placement.exchanges[received.number].plan
        assert isinstance(scan, StreamScan), "only scans are merged"
        wider = replace(received, number=numbers[first], fields=whole.schema)
        if scan.columns == whole.columns:
            return wider
        return Project(
            wider,
            tuple(
                Column(type=field.type, index=whole.columns.index(c), name=field.name)
                for field, c in zip(scan.fields, scan.columns, strict=True)
            ),
            tuple(field.name for field in scan.fields),
        )

    def exchange_of(old: Exchange) -> Exchange:
        number, whole = numbers[old.number], merged.get(old.number)
        if whole is None:
            return Exchange(number, _changed(old.plan, behind), old.keys)
        assert isinstance(old.plan, StreamScan), "only scans are merged"
        keys = _declared(old, old.plan)
        own = None if keys is None else tuple(whole.columns.index(key) for key in keys)
        return Exchange(number, whole, own)

    return Placement(
        tuple(map(exchange_of, kept)),
        tuple(replace(q, plan=_changed(q.plan, behind)) for q in placement.queries),
    )


def _way(exchange: Exchange, scan: StreamScan) -> _Way:
    return scan.name, scan.scale, _declared(exchange, scan)


def _declared(exchange: Exchange, scan: StreamScan) -> tuple[int, ...] | None:
    """The key of an exchange, in the positions of the stream's declaration."""
    return None if exchange.keys is None else tuple(scan.columns[key] for key in exchange.keys)


def _union(exchanges: list[Exchange]) -> StreamScan:
    """A scan with all columns of several."""
    fields: dict[int, Field] = {}
    for exchange in exchanges:
        assert isinstance(exchange.plan, StreamScan), "only scans are merged"
        fields.update(zip(exchange.plan.columns, exchange.plan.fields, strict=True))
    columns = tuple(sorted(fields))
    first = exchanges[0].plan
    assert isinstance(first, StreamScan), "only scans are merged"
    return replace(first, columns=columns, fields=tuple(fields[i] for i in columns))


def _changed(plan: Plan, behind: Callable[[Received], Plan]) -> Plan:
    """A plan with everything that it receives changed, also inside subqueries."""
    if isinstance(plan, Received):
        return behind(plan)
    if isinstance(plan, QueryScan):
        return replace(plan, plan=_changed(plan.plan, behind))
    if plan.inputs:
        plan = plan.with_inputs(tuple(_changed(child, behind) for child in plan.inputs))

    def change(expression: Expression) -> Expression:
        if not expression.subplans:
            return expression
        (inner,) = expression.subplans
        return replace(expression, plan=_changed(inner, behind))  # type: ignore[call-arg]

    if plan.expressions:
        plan = plan.with_expressions(tuple(transform(e, change) for e in plan.expressions))
    return plan
