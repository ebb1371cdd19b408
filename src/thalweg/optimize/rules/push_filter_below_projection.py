"""Filter(Project(r)) → Project(Filter(r)), where the filter reads plain columns.

Sound because a projection keeps every row. Where the filter reads a computed
column it stays: below, the computation would be done twice.
"""

from __future__ import annotations

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.plan.expressions import Column, columns_used, remapped
from thalweg.plan.nodes import Filter, Plan, Project


@passing_other_filters
def push_filter_below_projection(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Project(input=source, outputs=outputs, names=names), predicate=predicate):
            positions: dict[int, int] = {}
            for used in columns_used(predicate):
                output = outputs[used]
                if not isinstance(output, Column):
                    return plan
                positions[used] = output.index
            below = remapped(predicate, positions.__getitem__)
            return Project(Filter(source, below), outputs, names)
    return plan
