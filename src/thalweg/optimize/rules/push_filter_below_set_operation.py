"""Filter(a UNION b) → Filter(a) UNION Filter(b), and so for EXCEPT and INTERSECT.

Sound for all of them, with and without ALL: equal rows get the same verdict, so
on each side whole classes of equal rows stay or go. Also Filter(Distinct(r)).
Values that are equal but not alike (0.0 and -0.0) are left alone.
"""

from __future__ import annotations

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.optimize.rules.predicates import has_unlike_equals, is_timeless
from thalweg.plan.expressions import columns_used
from thalweg.plan.nodes import Distinct, Filter, Plan, SetKind, SetOperation


@passing_other_filters
def push_filter_below_set_operation(plan: Plan) -> Plan:
    match plan:
        case Filter(input=Distinct() | SetOperation() as below, predicate=predicate):
            if not is_timeless(predicate):
                return plan
            keeps_rows = isinstance(below, SetOperation) and (
                below.kind is SetKind.UNION and below.all
            )
            types = [below.schema[i].type for i in columns_used(predicate)]
            if not keeps_rows and any(map(has_unlike_equals, types)):
                return plan
            return below.with_inputs(tuple(Filter(child, predicate) for child in below.inputs))
    return plan
