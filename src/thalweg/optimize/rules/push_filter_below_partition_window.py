"""Filter(PartitionWindow(s)) → PartitionWindow(Filter(s)), on partition keys only.

Sound because all rows of a partition agree on the keys: partitions stay or go
as a whole and none sees another's rows. On any other column the filter would
let an older row of the partition back in. Keys that are equal but not alike
(0.0 and -0.0) are left alone.
"""

from __future__ import annotations

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.optimize.rules.predicates import has_unlike_equals, is_timeless
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import Filter, PartitionWindow, Plan


@passing_other_filters
def push_filter_below_partition_window(plan: Plan) -> Plan:
    match plan:
        case Filter(input=PartitionWindow() as window, predicate=predicate):
            used = columns_used(predicate)
            ambiguous = any(has_unlike_equals(window.schema[i].type) for i in used)
            if used and used <= set(window.keys) and not ambiguous and is_timeless(predicate):
                return window.with_inputs((Filter(window.input, predicate),))
    return plan
