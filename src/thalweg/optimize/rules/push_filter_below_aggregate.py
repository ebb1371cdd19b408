"""Filter(Aggregate(r)) → Aggregate(Filter(r)), where the filter reads group keys only.

Sound because all rows of a group agree on the keys: the group goes as a whole.
Keys that are equal but not alike (0.0 and -0.0) are left alone.
Without keys there is one group that exists even when it is empty, so the filter
stays above. A predicate with a subquery stays too.
"""

from __future__ import annotations

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.optimize.rules.predicates import has_unlike_equals, is_timeless, substituted
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import Aggregate, Filter, Plan


@passing_other_filters
def push_filter_below_aggregate(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Aggregate() as group, predicate=predicate):
            used = columns_used(predicate)
            if not used or max(used) >= len(group.keys) or not is_timeless(predicate):
                return plan
            if any(has_unlike_equals(group.keys[i].type) for i in used):
                return plan
            below = substituted(predicate, group.keys)
            return group.with_inputs((Filter(group.input, below),))
    return plan
