"""The rewrite rules, one per file; their order is the tuple below."""

from thalweg.optimize.rewrite import Rewritten, Rule, rewrite
from thalweg.optimize.rules.drop_true_filters import drop_true_filters
from thalweg.optimize.rules.drop_unused_columns import drop_unused_columns
from thalweg.optimize.rules.extract_join_graph import extract_join_graph
from thalweg.optimize.rules.fold_constants import fold_constants
from thalweg.optimize.rules.merge_projections import merge_projections
from thalweg.optimize.rules.push_filter_below_aggregate import push_filter_below_aggregate
from thalweg.optimize.rules.push_filter_below_partition_window import (
    push_filter_below_partition_window,
)
from thalweg.optimize.rules.push_filter_below_projection import push_filter_below_projection
from thalweg.optimize.rules.push_filter_below_set_operation import (
    push_filter_below_set_operation,
)
from thalweg.optimize.rules.push_filter_below_time_window import push_filter_below_time_window
from thalweg.optimize.rules.push_filter_into_join import push_filter_into_join
from thalweg.optimize.rules.split_conjunctions import split_conjunctions
from thalweg.optimize.rules.subquery_to_join import subquery_to_join
from thalweg.plan.nodes import Plan

RULES: tuple[Rule, ...] = (
    fold_constants,
    split_conjunctions,
    drop_true_filters,  # wants folded, single conjuncts
    subquery_to_join,  # wants single conjuncts; the pushes and the join graph want joins
    push_filter_below_projection,  # the pushes want single conjuncts
    push_filter_below_aggregate,
    push_filter_below_set_operation,
    push_filter_into_join,
    push_filter_below_time_window,
    push_filter_below_partition_window,
    extract_join_graph,  # wants filters pushed as far as they go
    merge_projections,
    drop_unused_columns,  # last: the rules above change what is used
)


def optimized(plan: Plan) -> Rewritten:
    """A bound plan after all rules."""
    return rewrite(plan, RULES)


__all__ = ["RULES", "optimized"]
