"""Filter(a AND b) → Filter(a) over Filter(b).

Sound because a row passes a conjunction exactly if it passes every part, NULLs
and failures included: what is not true does not pass. Single parts can then go
different ways.
"""

from __future__ import annotations

from thalweg.plan.expressions import conjuncts
from thalweg.plan.nodes import Filter, Plan


def split_conjunctions(plan: Plan) -> Plan:
    match plan:
        case Filter(input=source, predicate=predicate):
            parts = conjuncts(predicate)
            if len(parts) == 1:
                return plan
            for part in reversed(parts):
                source = Filter(source, part)
            return source
    return plan
