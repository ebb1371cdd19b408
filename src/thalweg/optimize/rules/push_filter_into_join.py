"""Filter(a ⋈ b) → (Filter(a)) ⋈ b, where the filter reads columns of one side only.

Sound for the sides whose rows a join keeps or drops but never pads with NULLs:
both sides of an inner join, the left side of a left, semi or anti join, the
right side of a right join. A filter over both sides of an inner or cross join
joins its condition. The condition of an inner join is treated as a filter too.
"""

from __future__ import annotations

from dataclasses import replace

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.optimize.rules.predicates import reads_only
from thalweg.plan.expressions import Expression, conjunction, conjuncts, moved
from thalweg.plan.nodes import Filter, Join, JoinKind, Plan

_LEFT_PRESERVED = (
    JoinKind.INNER,
    JoinKind.CROSS,
    JoinKind.LEFT,
    JoinKind.SEMI,
    JoinKind.ANTI,
)
_RIGHT_PRESERVED = (JoinKind.INNER, JoinKind.CROSS, JoinKind.RIGHT)
_INNER = (JoinKind.INNER, JoinKind.CROSS)


@passing_other_filters
def push_filter_into_join(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Join() as join, predicate=predicate):
            pushed = _pushed(join, predicate)
            if pushed is not None:
                return pushed
            if join.kind in _INNER:
                parts = () if join.condition is None else conjuncts(join.condition)
                return replace(
                    join, kind=JoinKind.INNER, condition=conjunction((*parts, predicate))
                )
        case Join(kind=JoinKind.INNER, condition=Expression() as condition) as join:
            return _with_condition_pushed(join, conjuncts(condition))
    return plan


def _with_condition_pushed(join: Join, parts: tuple[Expression, ...]) -> Plan:
    """An inner join whose sides have the parts of its condition that read them alone."""
    width, end = len(join.left.schema), len(join.schema)
    left = tuple(part for part in parts if reads_only(part, 0, width))
    right = tuple(moved(part, -width) for part in parts if reads_only(part, width, end))
    if not left and not right:
        return join
    both = tuple(
        part for part in parts if not (reads_only(part, 0, width) or reads_only(part, width, end))
    )
    return Join(
        Filter(join.left, conjunction(left)) if left else join.left,
        Filter(join.right, conjunction(right)) if right else join.right,
        JoinKind.INNER if both else JoinKind.CROSS,
        conjunction(both) if both else None,
    )


def _pushed(join: Join, predicate: Expression) -> Plan | None:
    width = len(join.left.schema)
    if join.kind in _LEFT_PRESERVED and reads_only(predicate, 0, width):
        return replace(join, left=Filter(join.left, predicate))
    if join.kind in _RIGHT_PRESERVED and reads_only(predicate, width, len(join.schema)):
        return replace(join, right=Filter(join.right, moved(predicate, -width)))
    return None
