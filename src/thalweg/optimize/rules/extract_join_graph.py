"""A tree of inner joins → one join graph: members, key classes, other predicates.

Sound because an inner join is the filtered product of its inputs, whatever the
tree. Equalities between two plain columns become key classes, closed under
transitivity: a = b and b = c put a, b and c into one class. Equality is
transitive on every type, NaN included, and a class never holds a NULL.
"""

from __future__ import annotations

from thalweg.plan.expressions import Call, Column, Expression, conjuncts, moved
from thalweg.plan.nodes import Join, JoinGraph, JoinKind, KeyClass, Plan

_INNER = (JoinKind.INNER, JoinKind.CROSS)


def extract_join_graph(plan: Plan) -> Plan:
    match plan:
        case Join(kind=kind) if kind in _INNER:
            members: list[Plan] = []
            predicates: list[Expression] = []
            pairs: list[frozenset[int]] = []
            _collect(plan, 0, members, predicates, pairs)
            return JoinGraph(tuple(members), _classes(pairs), tuple(predicates))
    return plan


def _collect(
    plan: Plan,
    start: int,
    members: list[Plan],
    predicates: list[Expression],
    pairs: list[frozenset[int]],
) -> None:
    match plan:
        case Join(kind=kind) if kind in _INNER:
            _collect(plan.left, start, members, predicates, pairs)
            _collect(plan.right, start + len(plan.left.schema), members, predicates, pairs)
            for part in conjuncts(plan.condition) if plan.condition is not None else ():
                _sort_in(moved(part, start), predicates, pairs)
        case JoinGraph():
            members.extend(plan.members)
            pairs.extend(frozenset(i + start for i in key.columns) for key in plan.keys)
            predicates.extend(moved(part, start) for part in plan.predicates)
        case _:
            members.append(plan)


def _sort_in(part: Expression, predicates: list[Expression], pairs: list[frozenset[int]]) -> None:
    match part:
        case Call(function="=", arguments=(Column(index=a), Column(index=b))) if a != b:
            pairs.append(frozenset((a, b)))
        case _:
            predicates.append(part)


def _classes(pairs: list[frozenset[int]]) -> tuple[KeyClass, ...]:
    """Overlapping sets merged, in the order of their smallest columns."""
    classes: list[frozenset[int]] = []
    for pair in pairs:
        touching = [c for c in classes if c & pair]
        classes = [c for c in classes if not c & pair]
        classes.append(pair.union(*touching))
    return tuple(KeyClass(c) for c in sorted(classes, key=min))
