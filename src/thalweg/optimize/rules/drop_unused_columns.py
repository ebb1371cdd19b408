"""Read and carry only the columns that something above needs.

What a filter on a stream reads and nobody else does ends there: the rows that
pass are copied without it.

Sound because no operator looks at a column it does not name, except those that
compare whole rows (DISTINCT, set operations other than UNION ALL, LIMIT with its
ties, ISTREAM and its kin): these need all of theirs. A column with a subquery is
kept: without it the query would forget a stream that it reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from thalweg.optimize.rewrite import in_subqueries, whole_plan
from thalweg.optimize.rules.predicates import has_subquery
from thalweg.plan.expressions import AggregateCall, Column, Expression, columns_used, remapped
from thalweg.plan.nodes import (
    Aggregate,
    Filter,
    Join,
    JoinGraph,
    JoinKind,
    KeyClass,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    SetKind,
    SetOperation,
    StreamScan,
    TableScan,
    Window,
)

Needed = frozenset[int]
# A narrower plan, and where each kept column of the old one now stands.
Pruned = tuple[Plan, dict[int, int]]


@whole_plan
def drop_unused_columns(plan: Plan) -> Plan:
    pruned, positions = _prune(plan, _everything(plan))
    return _restored(plan, pruned, positions)


def _everything(plan: Plan) -> Needed:
    return frozenset(range(len(plan.schema)))


def _identity(plan: Plan) -> dict[int, int]:
    return {i: i for i in range(len(plan.schema))}


def _restored(plan: Plan, pruned: Plan, positions: dict[int, int]) -> Plan:
    """The pruned plan with exactly the columns of the old one, in their order."""
    if positions == _identity(plan) and len(pruned.schema) == len(plan.schema):
        return pruned
    outputs = tuple(
        Column(index=positions[i], name=f.name, type=f.type) for i, f in enumerate(plan.schema)
    )
    return Project(pruned, outputs, tuple(f.name for f in plan.schema))


def _prune(plan: Plan, needed: Needed) -> Pruned:
    """A plan with at least the needed columns; unchanged plans keep their identity."""
    plan = in_subqueries(drop_unused_columns, plan)
    match plan:
        case StreamScan() | TableScan():
            return _prune_scan(plan, needed)
        case QueryScan():
            inner = drop_unused_columns(plan.plan)
            return (
                plan if inner is plan.plan else replace(plan, plan=inner),
                _identity(plan),
            )
        case Filter():
            return _narrowed(_prune_filter(plan, needed), needed)
        case Project():
            return _prune_project(plan, needed)
        case PartitionWindow(keys=keys):
            source, positions = _prune(plan.input, needed | frozenset(keys))
            if source is plan.input:
                return plan, positions
            moved_keys = tuple(positions[key] for key in keys)
            return PartitionWindow(source, moved_keys, plan.rows), positions
        case Window():
            source, positions = _prune(plan.input, needed)
            return plan if source is plan.input else plan.with_inputs((source,)), positions
        case Join():
            return _prune_join(plan, needed)
        case JoinGraph():
            return _prune_graph(plan, needed)
        case Aggregate():
            return _prune_aggregate(plan, needed)
        case SetOperation(kind=SetKind.UNION, all=True):
            return _prune_union(plan, needed)
    inputs = plan.inputs
    new_inputs = tuple(drop_unused_columns(child) for child in inputs)
    if any(new is not old for new, old in zip(new_inputs, inputs, strict=True)):
        plan = plan.with_inputs(new_inputs)
    return plan, _identity(plan)


def _prune_scan(plan: StreamScan | TableScan, needed: Needed) -> Pruned:
    kept = sorted(needed)
    if len(kept) == len(plan.fields):
        return plan, _identity(plan)
    smaller = replace(
        plan,
        fields=tuple(plan.fields[i] for i in kept),
        columns=tuple(plan.columns[i] for i in kept),
    )
    return smaller, {old: new for new, old in enumerate(kept)}


def _prune_filter(plan: Filter, needed: Needed) -> Pruned:
    source, positions = _prune_below(plan.input, needed | columns_used(plan.predicate))
    if source is plan.input:
        return plan, positions
    return Filter(source, _moved(plan.predicate, positions)), positions


def _prune_below(plan: Plan, needed: Needed) -> Pruned:
    """The input of a filter or a projection, which takes from a filter what it needs."""
    if not isinstance(plan, Filter):
        return _prune(plan, needed)
    plan = in_subqueries(drop_unused_columns, plan)
    assert isinstance(plan, Filter), "pruned subqueries leave a filter a filter"
    return _prune_filter(plan, needed)


def _narrowed(pruned: Pruned, needed: Needed) -> Pruned:
    plan, positions = pruned
    if not plan.is_stream or len(needed) == len(plan.schema):
        return pruned
    kept = sorted(needed)
    fields = [plan.schema[positions[i]] for i in kept]
    outputs = tuple(
        Column(index=positions[i], name=f.name, type=f.type)
        for i, f in zip(kept, fields, strict=True)
    )
    narrow = Project(plan, outputs, tuple(f.name for f in fields))
    return narrow, {old: new for new, old in enumerate(kept)}


def _prune_project(plan: Project, needed: Needed) -> Pruned:
    kept = [k for k, output in enumerate(plan.outputs) if k in needed or has_subquery(output)]
    below = frozenset(i for k in kept for i in columns_used(plan.outputs[k]))
    source, positions = _prune_below(plan.input, below)
    if source is plan.input and len(kept) == len(plan.outputs):
        return plan, _identity(plan)
    outputs = tuple(_moved(plan.outputs[k], positions) for k in kept)
    names = tuple(plan.names[k] for k in kept)
    return Project(source, outputs, names), {old: new for new, old in enumerate(kept)}


def _prune_sides(sides: Iterable[Plan], needed: Needed) -> tuple[list[Plan], dict[int, int], bool]:
    """Prune inputs whose columns stand side by side."""
    pruned: list[Plan] = []
    positions: dict[int, int] = {}
    start = new_start = 0
    changed = False
    for side in sides:
        width = len(side.schema)
        own = frozenset(i - start for i in needed if start <= i < start + width)
        smaller, moved = _prune(side, own)
        positions |= {start + old: new_start + new for old, new in moved.items()}
        changed = changed or smaller is not side
        pruned.append(smaller)
        start += width
        new_start += len(smaller.schema)
    return pruned, positions, changed


def _prune_join(plan: Join, needed: Needed) -> Pruned:
    used = columns_used(plan.condition) if plan.condition is not None else frozenset()
    sides, positions, changed = _prune_sides(plan.inputs, needed | used)
    if plan.kind in (JoinKind.SEMI, JoinKind.ANTI):
        width = len(plan.left.schema)
        visible = {old: new for old, new in positions.items() if old < width}
    else:
        visible = positions
    if not changed:
        return plan, visible
    condition = plan.condition and _moved(plan.condition, positions)
    return replace(plan, left=sides[0], right=sides[1], condition=condition), visible


def _prune_graph(plan: JoinGraph, needed: Needed) -> Pruned:
    used = frozenset(i for part in plan.predicates for i in columns_used(part))
    keys = frozenset(i for key in plan.keys for i in key.columns)
    members, positions, changed = _prune_sides(plan.members, needed | used | keys)
    if not changed:
        return plan, positions
    return JoinGraph(
        tuple(members),
        tuple(KeyClass(frozenset(positions[i] for i in key.columns)) for key in plan.keys),
        tuple(_moved(part, positions) for part in plan.predicates),
    ), positions


def _prune_aggregate(plan: Aggregate, needed: Needed) -> Pruned:
    width = len(plan.keys)
    kept = [k for k, call in enumerate(plan.calls) if width + k in needed or has_subquery(call)]
    calls = [plan.calls[k] for k in kept]
    used = frozenset(i for part in (*plan.keys, *calls) for i in columns_used(part))
    source, positions = _prune(plan.input, used)
    if source is plan.input and len(calls) == len(plan.calls):
        return plan, _identity(plan)
    moved_calls = [_moved(call, positions) for call in calls]
    smaller = Aggregate(
        source,
        tuple(_moved(key, positions) for key in plan.keys),
        plan.key_names,
        tuple(call for call in moved_calls if isinstance(call, AggregateCall)),
        tuple(plan.call_names[k] for k in kept),
    )
    new_positions = {i: i for i in range(width)}
    new_positions |= {width + k: width + new for new, k in enumerate(kept)}
    return smaller, new_positions


def _prune_union(plan: SetOperation, needed: Needed) -> Pruned:
    kept = sorted(needed)
    sides = []
    for side in plan.inputs:
        smaller, positions = _prune(side, needed)
        in_order = {old: new for new, old in enumerate(kept)}
        if positions != in_order or len(smaller.schema) != len(kept):
            outputs = tuple(
                Column(index=positions[i], name=side.schema[i].name, type=side.schema[i].type)
                for i in kept
            )
            smaller = Project(smaller, outputs, tuple(side.schema[i].name for i in kept))
        sides.append(smaller)
    if all(new is old for new, old in zip(sides, plan.inputs, strict=True)):
        return plan, _identity(plan)
    return plan.with_inputs(tuple(sides)), {old: new for new, old in enumerate(kept)}


def _moved(expression: Expression, positions: dict[int, int]) -> Expression:
    return remapped(expression, positions.__getitem__)
