"""Project(Project(r)) → Project(r), and a projection that changes nothing → its input.

Sound because expressions are pure. Computed columns that the outer projection
reads more than once stay computed once: then the two are left apart. So they are
where an inner column with a subquery would be lost (see `has_subquery`).
"""

from __future__ import annotations

from collections import Counter

from thalweg.optimize.rules.predicates import has_subquery, substituted
from thalweg.plan.expressions import Column, Expression, OuterColumn, columns_used, walk
from thalweg.plan.nodes import Plan, Project


def merge_projections(plan: Plan) -> Plan:
    match plan:
        case Project(input=Project() as inner, outputs=outputs, names=names):
            if any(part.subplans for output in outputs for part in walk(output)):
                return plan
            if _repeats_work(outputs, inner.outputs) or _loses_subquery(outputs, inner.outputs):
                return plan
            merged = tuple(substituted(output, inner.outputs) for output in outputs)
            return Project(inner.input, merged, names)
        case Project(input=source, outputs=outputs, names=names):
            same = len(outputs) == len(source.schema) and all(
                isinstance(output, Column) and output.index == i for i, output in enumerate(outputs)
            )
            if same and names == tuple(f.name for f in source.schema):
                return source
    return plan


def _loses_subquery(outer: tuple[Expression, ...], inner: tuple[Expression, ...]) -> bool:
    used = {i for output in outer for i in columns_used(output)}
    return any(has_subquery(output) for i, output in enumerate(inner) if i not in used)


def _repeats_work(outer: tuple[Expression, ...], inner: tuple[Expression, ...]) -> bool:
    uses = Counter(
        part.index for output in outer for part in walk(output) if isinstance(part, Column)
    )
    return any(
        count > 1 and not isinstance(inner[i], Column | OuterColumn) for i, count in uses.items()
    )
