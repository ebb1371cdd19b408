"""A tree of inner joins and filters → one join graph: members, key classes, predicates.

Sound because an inner join is the filtered product of its inputs, whatever the
tree and wherever its filters stand. A predicate that reads one member filters
that member: it has the same verdict on a row before and after the product, at
each instant. Equalities between two plain columns of one type become key
classes, closed under transitivity: a = b and b = c put a, b and c into one
class. Equality is transitive on every type, NaN included, and a class never
holds a NULL. A conversion is not undone by equality (1 = '1' and 1 = '01'), so
columns of different types stay in a predicate.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.optimize.rules.predicates import reads_only
from thalweg.plan.expressions import Call, Column, Expression, conjunction, conjuncts, moved
from thalweg.plan.nodes import Filter, Join, JoinGraph, JoinKind, KeyClass, Plan

_INNER = (JoinKind.INNER, JoinKind.CROSS)


def extract_join_graph(plan: Plan) -> Plan:
    match plan:
        case Join(kind=kind) if kind in _INNER:
            return _graph(plan)
        case Filter() if isinstance(_below_filters(plan), JoinGraph):
            return _graph(plan)
        case JoinGraph(members=members):
            if any(isinstance(_below_filters(member), JoinGraph) for member in members):
                return _graph(plan)
    return plan


def _below_filters(plan: Plan) -> Plan:
    while isinstance(plan, Filter):
        plan = plan.input
    return plan


@dataclass
class _Parts:
    """What a join graph is made of; positions are those of the whole product."""

    members: list[Plan] = field(default_factory=list)
    predicates: list[Expression] = field(default_factory=list)
    equal: list[frozenset[int]] = field(default_factory=list)

    def collect(self, plan: Plan, start: int) -> None:
        match plan:
            case Join(kind=kind, condition=condition) if kind in _INNER:
                self._collect_side_by_side(plan.inputs, start)
                if condition is not None:
                    self._require(condition, start)
            case JoinGraph(keys=keys, predicates=predicates):
                self._collect_side_by_side(plan.inputs, start)
                self.equal += [frozenset(i + start for i in key.columns) for key in keys]
                self.predicates += [moved(part, start) for part in predicates]
            case Filter(input=source, predicate=predicate) if _is_product(_below_filters(plan)):
                self.collect(source, start)
                self._require(predicate, start)
            case _:
                self.members.append(plan)

    def _collect_side_by_side(self, plans: tuple[Plan, ...], start: int) -> None:
        for plan in plans:
            self.collect(plan, start)
            start += len(plan.schema)

    def _require(self, predicate: Expression, start: int) -> None:
        self.predicates += [moved(part, start) for part in conjuncts(predicate)]


def _is_product(plan: Plan) -> bool:
    return isinstance(plan, JoinGraph) or (isinstance(plan, Join) and plan.kind in _INNER)


def _graph(plan: Plan) -> JoinGraph:
    parts = _Parts()
    parts.collect(plan, 0)
    members: list[Plan] = []
    predicates, start = parts.predicates, 0
    for member in parts.members:
        end = start + len(member.schema)
        own = tuple(part for part in predicates if reads_only(part, start, end))
        predicates = [part for part in predicates if not reads_only(part, start, end)]
        members.append(Filter(member, moved(conjunction(own), -start)) if own else member)
        start = end
    equal = [*parts.equal, *(pair for pair in map(_equal_columns, predicates) if pair)]
    others = tuple(part for part in predicates if not _equal_columns(part))
    return JoinGraph(tuple(members), _classes(equal), others)


def _equal_columns(part: Expression) -> frozenset[int] | None:
    """The two columns of one type that a predicate says are equal."""
    match part:
        case Call(function="=", arguments=(Column() as a, Column() as b)):
            if a.index != b.index and a.type == b.type:
                return frozenset((a.index, b.index))
    return None


def _classes(pairs: list[frozenset[int]]) -> tuple[KeyClass, ...]:
    """Overlapping sets merged, in the order of their smallest columns."""
    classes: list[frozenset[int]] = []
    for pair in pairs:
        touching = [c for c in classes if c & pair]
        classes = [c for c in classes if not c & pair]
        classes.append(pair.union(*touching))
    return tuple(KeyClass(c) for c in sorted(classes, key=min))
