"""Filter(Window(s)) → Window(Filter(s)) for RANGE, SLIDE and UNBOUNDED windows.

Sound because whether a row is in such a window depends on its timestamp alone.
Unsound for ROWS, where dropping a row lets an older one back in, so ROWS
windows are left as they are. A predicate with a subquery stays above the window:
it may let a row pass at one instant and not at the next, and below the window a
row is tested once.
"""

from __future__ import annotations

from thalweg.optimize.rules.passing import passing_other_filters
from thalweg.optimize.rules.predicates import is_timeless
from thalweg.plan.nodes import Filter, Plan, RangeWindow, SlideWindow, UnboundedWindow


@passing_other_filters
def push_filter_below_time_window(plan: Plan) -> Plan:
    match plan:
        case Filter(
            input=RangeWindow() | SlideWindow() | UnboundedWindow() as window, predicate=predicate
        ) if is_timeless(predicate):
            return window.with_inputs((Filter(window.input, predicate),))
    return plan
