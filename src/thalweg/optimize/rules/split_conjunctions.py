"""Filter(a AND b) → Filter(a) over Filter(b).

Sound because a row passes a conjunction exactly if it passes every part, NULLs
and failures included: what is not true does not pass. Single parts can then go
different ways. A filter of very many parts is split by the columns that they
read instead: parts over the same columns go the same way.
"""

from __future__ import annotations

from thalweg.optimize.rules.predicates import is_timeless
from thalweg.plan.expressions import Expression, columns_used, conjunction, conjuncts
from thalweg.plan.nodes import Filter, Plan

# As many filters above each other: walks through a plan recur, and Python ends them.
_MOST_PARTS = 50


def split_conjunctions(plan: Plan) -> Plan:
    match plan:
        case Filter(input=source, predicate=predicate):
            parts = conjuncts(predicate)
            if len(parts) > _MOST_PARTS:
                parts = _by_columns(parts)
            if len(parts) == 1 or len(parts) > _MOST_PARTS:
                return plan
            for part in reversed(parts):
                source = Filter(source, part)
            return source
    return plan


def _by_columns(parts: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """One conjunction of the parts that read the same columns, and so can go the same way."""
    alike: dict[object, list[Expression]] = {}
    for part in parts:
        alike.setdefault((columns_used(part), is_timeless(part)), []).append(part)
    return tuple(conjunction(tuple(group)) for group in alike.values())
