"""Which measures an aggregate needs, and what it shows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thalweg.evaluate import Failures
from thalweg.operators import aggregate_values as values
from thalweg.operators.measure_doubles import DoubleSum, SquareSum
from thalweg.operators.measures import (
    Bag,
    Count,
    Distinct,
    Extreme,
    Halves,
    Measure,
    Numbers,
    Quarters,
    States,
    Whole,
    has_order_words,
)
from thalweg.operators.row_words import NARROW
from thalweg.plan.expressions import AggregateCall, Cast, Expression, Literal
from thalweg.plan.nodes import Aggregate
from thalweg.plan.placed import adds_up
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DAY_TIME,
    DAYS,
    DOUBLE,
    INT,
    SMALLINT,
    TINYINT,
    DecimalType,
    Type,
    is_integral,
)
from thalweg.vector.column import Vector

_NARROW = (TINYINT, SMALLINT, INT)
_SPREADS = {
    "stddev": (True, True),
    "std": (True, True),
    "stddev_samp": (True, True),
    "stddev_pop": (False, True),
    "variance": (True, False),
    "var_samp": (True, False),
    "var_pop": (False, False),
}


@dataclass(frozen=True)
class Shown:
    """An aggregate: the measures it needs, and its values, given what those are."""

    measures: tuple[Measure, ...]
    values: Callable[..., Vector]


def shown(call: AggregateCall, failures: Failures, merging: bool) -> Shown:
    """How an aggregate is computed; what has no measures of its own, by its definition."""
    if merging and call.merges and not call.distinct:
        return Shown((States(call),), lambda outcome: outcome)
    if call.path is None:
        conditions = () if call.where is None else (call.where,)
        found = _shown(call, conditions, failures)
        if found is not None:
            return found
    return Shown((Bag(call),), lambda outcome: outcome)


def _shown(
    call: AggregateCall, conditions: tuple[Expression, ...], failures: Failures
) -> Shown | None:
    distinct = Distinct(call.arguments, conditions) if call.distinct and call.arguments else None
    match call.function, call.arguments:
        case "count", arguments:
            counted = arguments if distinct else tuple(a for a in arguments if not _is_there(a))
            return Shown((Count(counted, conditions, distinct),), values.count)
        case ("min" | "any_value" | "max") as name, (argument,) if has_order_words(argument.type):
            return Shown((Extreme(argument, conditions, name == "max"),), lambda value: value)
        case "count_if", (argument,) if argument.type == BOOLEAN and not distinct:
            return Shown((Count((), (*conditions, argument)),), values.count)
        case ("bool_and" | "every" | "bool_or" | "any" | "some") as name, (argument,) if (
            argument.type == BOOLEAN
        ):
            combine = values.all_true if name in ("bool_and", "every") else values.some_true
            both = Count((argument,), conditions), Count((), (*conditions, argument))
            return Shown(both, combine)
        case ("sum" | "avg" | "mean") as name, (argument,):
            added = _unwidened(argument)
            distinct = distinct and Distinct((added,), conditions)
            count = Count((added,), conditions, distinct)
            total = _total(added.type)
            value = _sum_value(name, call, failures)
            if total is None or value is None:
                return None
            return Shown((count, total((added,), conditions, distinct)), value)
        case name, (argument,) if name in _SPREADS and argument.type == DOUBLE:
            given = ((argument,), conditions, distinct)
            measures = Count(*given), DoubleSum(*given), SquareSum(*given)
            return Shown(measures, values.spread(*_SPREADS[name]))
    return None


def _is_there(argument: Expression) -> bool:
    """Whether an argument is never NULL."""
    return isinstance(argument, Literal) and argument.value is not None


def _unwidened(argument: Expression) -> Expression:
    """The same whole numbers, before they were made 64 bits wide to be added up."""
    if isinstance(argument, Cast) and argument.type == BIGINT and argument.input.type in _NARROW:
        return argument.input
    return argument


def _total(type_: Type) -> type[Numbers] | None:
    """The measure that is the sum of values of a type."""
    if type_ in _NARROW:
        return Whole
    if type_ in (BIGINT, DAYS, DAY_TIME):
        return Halves
    if isinstance(type_, DecimalType):
        return Halves if type_.precision <= NARROW else Quarters
    return DoubleSum if type_ == DOUBLE else None


def _sum_value(name: str, call: AggregateCall, failures: Failures) -> Callable[..., Any] | None:
    type_ = call.arguments[0].type
    if isinstance(type_, DecimalType):
        make = values.decimal_total if name == "sum" else values.decimal_mean
        return make(call, failures)
    if type_ == DOUBLE:
        return values.double_total if name == "sum" else values.double_mean
    if name == "sum":
        return values.whole_total(call, failures)
    return values.whole_mean if is_integral(type_) else values.interval_mean(call)


@dataclass(frozen=True)
class Plan:
    """The measures of a node, each once; the first counts the rows of a group."""

    measures: tuple[Measure, ...]
    shown: tuple[Shown, ...]

    @property
    def adds_up(self) -> bool:
        """Whether many rows give no more than one does."""
        return all(measure.adds_up for measure in self.measures)

    @property
    def are_whole(self) -> bool:
        """Whether all are sums of whole numbers over all rows."""
        return all(
            isinstance(measure, Count | Whole | Halves | Quarters) and measure.distinct is None
            for measure in self.measures
        )

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """What measures look at, of every row."""
        return tuple(e for measure in self.measures for e in measure.expressions)

    @property
    def types(self) -> tuple[Type, ...]:
        """The columns of all measures."""
        return tuple(type_ for measure in self.measures for type_ in measure.types)


def measured(plan: Aggregate, failures: Failures) -> Plan:
    every = tuple(shown(call, failures, merging=True) for call in plan.calls)
    if not adds_up(plan.input) or not all(m.adds_up for one in every for m in one.measures):
        # Row by row, what a user's aggregate has come to is no less than the rows.
        every = tuple(shown(call, failures, merging=False) for call in plan.calls)
    needed: dict[Measure, None] = {Count(): None}
    for one in every:
        for measure in one.measures:
            if isinstance(measure, Numbers) and measure.distinct is not None:
                needed[measure.distinct] = None
            needed[measure] = None
    return Plan(tuple(needed), every)


def part_types(plan: Aggregate) -> tuple[Type, ...]:
    """The columns that parts of an aggregate have beside its keys."""
    return measured(plan, Failures()).types


def parts_add_up(plan: Aggregate) -> bool:
    return measured(plan, Failures()).adds_up
