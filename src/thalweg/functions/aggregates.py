"""Aggregates, defined on the bag of their argument rows.

None depends on an order: bags have none. Where SQL leaves a choice (which row
of a tie, the order of a list) the smallest value is taken, so that an answer
never depends on how it was computed.

Sums of DOUBLE are exact until the final rounding; an Infinity or NaN therefore
leaves with the row that brought it.
"""

from __future__ import annotations

import decimal as dec
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from thalweg.coercion import bounded_decimal
from thalweg.errors import QueryError
from thalweg.functions.cast import WIDE, fit_decimal, fit_integer
from thalweg.functions.registry import (
    Failure,
    Kind,
    Resolve,
    Signature,
    literal_value,
    same_as_first,
    takes,
    wrong_count,
    wrong_type,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    NULL,
    STRING,
    ArrayType,
    DecimalType,
    Type,
    array,
    is_integral,
    is_interval,
    is_numeric,
)
from thalweg.values import normal_zeros, sort_key

ArgumentRow = tuple[Any, ...]
Aggregate = Callable[[list[ArgumentRow]], Any]


@dataclass(frozen=True)
class AggregateFunction:
    """`make` gives the function from argument rows to the value of a group.

    With `skips_nulls`, rows with a NULL among the first `skips_nulls` arguments
    are left out before it is called.
    """

    name: str
    resolve: Resolve
    make: Callable[[Signature], Aggregate]
    skips_nulls: int = 1
    approximate: bool = False


AGGREGATES: dict[str, AggregateFunction] = {}


def aggregate(
    *names: str, resolve: Resolve, skips_nulls: int = 1, approximate: bool = False
) -> Callable[[Aggregate], Aggregate]:
    def declare(compute: Aggregate) -> Aggregate:
        for name in names:
            AGGREGATES[name] = AggregateFunction(
                name, resolve, lambda signature: compute, skips_nulls, approximate
            )
        return compute

    return declare


def aggregate_by_type(
    *names: str, resolve: Resolve
) -> Callable[[Callable[[Signature], Aggregate]], Callable[[Signature], Aggregate]]:
    def declare(make: Callable[[Signature], Aggregate]) -> Callable[[Signature], Aggregate]:
        for name in names:
            AGGREGATES[name] = AggregateFunction(name, resolve, make)
        return make

    return declare


def first_arguments(rows: list[ArgumentRow]) -> list[Any]:
    return [row[0] for row in rows]


def odd_sum(numbers: Sequence[float]) -> float | None:
    """The sum where an infinity or NaN is among the numbers; None where none is."""
    odd = [x for x in numbers if not math.isfinite(x)]
    return sum(odd) if odd else None


def rounded(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def exact_total(numbers: Iterable[float]) -> Fraction:
    return sum(map(Fraction, numbers), Fraction(0))


# Counting


@aggregate("count", resolve=takes(Kind.ANY, gives=BIGINT, repeats=True), skips_nulls=99)
def _count(rows: list[ArgumentRow]) -> int:
    return len(rows)


@aggregate("count_if", resolve=takes(BOOLEAN, gives=BIGINT))
def _count_if(rows: list[ArgumentRow]) -> int:
    return sum(1 for row in rows if row[0])


# Sums and means


def _resolve_sum(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 1:
        raise wrong_count(name, 1, 1, len(arguments))
    type_ = arguments[0].type
    if is_integral(type_):
        return Signature((BIGINT,), BIGINT)
    if isinstance(type_, DecimalType):
        return Signature((type_,), bounded_decimal(type_.precision + 10, type_.scale))
    if is_interval(type_):
        return Signature((type_,), type_)
    if is_numeric(type_) or type_ in (STRING, NULL):
        return Signature((DOUBLE,), DOUBLE)
    raise wrong_type(name, 0, "a number or an interval", arguments[0])


@aggregate_by_type("sum", resolve=_resolve_sum)
def _sum(signature: Signature) -> Aggregate:
    result = signature.result

    def compute(rows: list[ArgumentRow]) -> Any:
        if not rows:
            return None
        if result == DOUBLE:
            numbers = first_arguments(rows)
            odd = odd_sum(numbers)
            return rounded(exact_total(numbers)) if odd is None else odd
        total = _wide_sum(first_arguments(rows))
        if isinstance(result, DecimalType):
            return fit_decimal(total, result)
        return fit_integer(total, 64)

    return compute


def _wide_sum(values: list[Any]) -> Any:
    if isinstance(values[0], dec.Decimal):
        total = dec.Decimal(0)
        for value in values:
            total = WIDE.add(total, value)
        return total
    return sum(values)


def _resolve_avg(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = _resolve_sum(name, arguments)
    type_ = signature.arguments[0]
    if isinstance(type_, DecimalType):
        return Signature((type_,), bounded_decimal(type_.precision + 4, type_.scale + 4))
    if is_interval(type_):
        return signature
    return Signature((type_,), DOUBLE)


@aggregate_by_type("avg", "mean", resolve=_resolve_avg)
def _avg(signature: Signature) -> Aggregate:
    argument, result = signature.arguments[0], signature.result

    def compute(rows: list[ArgumentRow]) -> Any:
        if not rows:
            return None
        values = first_arguments(rows)
        if argument == DOUBLE:
            odd = odd_sum(values)
            return rounded(exact_total(values) / len(values)) if odd is None else odd
        total = _wide_sum(values)
        if isinstance(result, DecimalType):
            return fit_decimal(WIDE.divide(total, dec.Decimal(len(values))), result)
        if is_interval(result):
            return int((Fraction(total, len(values)) + Fraction(1, 2)).__floor__())
        return total / len(values)

    return compute


# Extremes


@aggregate("min", "any_value", resolve=takes(Kind.ANY, gives=same_as_first))
def _min(rows: list[ArgumentRow]) -> Any:
    return min(first_arguments(rows), key=sort_key, default=None)


@aggregate("max", resolve=takes(Kind.ANY, gives=same_as_first))
def _max(rows: list[ArgumentRow]) -> Any:
    return max(first_arguments(rows), key=sort_key, default=None)


def _resolve_by(name: str, arguments: Sequence[Expression]) -> Signature:
    return takes(Kind.ANY, Kind.ANY, gives=same_as_first)(name, arguments)


@aggregate("min_by", resolve=_resolve_by, skips_nulls=0)
def _min_by(rows: list[ArgumentRow]) -> Any:
    """The first argument where the second is least; of a tie, the smallest."""
    ranked = [row for row in rows if row[1] is not None]
    return min(ranked, key=lambda row: (sort_key(row[1]), sort_key(row[0])), default=(None,))[0]


@aggregate("max_by", resolve=_resolve_by, skips_nulls=0)
def _max_by(rows: list[ArgumentRow]) -> Any:
    """The first argument where the second is greatest; of a tie, the smallest."""
    ranked = [row for row in rows if row[1] is not None]
    if not ranked:
        return None
    greatest = max(sort_key(row[1]) for row in ranked)
    return min((row[0] for row in ranked if sort_key(row[1]) == greatest), key=sort_key)


# Logic and bits


@aggregate("bool_and", "every", resolve=takes(BOOLEAN, gives=BOOLEAN))
def _bool_and(rows: list[ArgumentRow]) -> bool | None:
    return all(first_arguments(rows)) if rows else None


@aggregate("bool_or", "any", "some", resolve=takes(BOOLEAN, gives=BOOLEAN))
def _bool_or(rows: list[ArgumentRow]) -> bool | None:
    return any(first_arguments(rows)) if rows else None


def _folded(combine: Callable[[int, int], int]) -> Aggregate:
    def compute(rows: list[ArgumentRow]) -> int | None:
        result: int | None = None
        for (value,) in rows:
            result = value if result is None else combine(result, value)
        return result

    return compute


_BITS = takes(Kind.INTEGRAL, gives=same_as_first)
aggregate("bit_and", resolve=_BITS)(_folded(lambda a, b: a & b))
aggregate("bit_or", resolve=_BITS)(_folded(lambda a, b: a | b))
aggregate("bit_xor", resolve=_BITS)(_folded(lambda a, b: a ^ b))


# Moments: exact until the final rounding; NaN where an infinity or NaN is among the values.


def _moment(values: Sequence[float], power: int) -> Fraction:
    """The sum of the powers of the deviations from the mean."""
    mean = exact_total(values) / len(values)
    return sum(((Fraction(x) - mean) ** power for x in values), Fraction(0))


def _spread(sample: bool, root: bool) -> Aggregate:
    def compute(rows: list[ArgumentRow]) -> float | None:
        n = len(rows)
        if n == 0 or (sample and n == 1):
            return None
        values = first_arguments(rows)
        if odd_sum(values) is not None:
            return math.nan
        variance = rounded(_moment(values, 2) / (n - 1 if sample else n))
        return math.sqrt(variance) if root else variance

    return compute


_ONE_DOUBLE = takes(DOUBLE, gives=DOUBLE)
aggregate("stddev", "std", "stddev_samp", resolve=_ONE_DOUBLE)(_spread(sample=True, root=True))
aggregate("stddev_pop", resolve=_ONE_DOUBLE)(_spread(sample=False, root=True))
aggregate("variance", "var_samp", resolve=_ONE_DOUBLE)(_spread(sample=True, root=False))
aggregate("var_pop", resolve=_ONE_DOUBLE)(_spread(sample=False, root=False))


def _shape(power: int, compute: Callable[[int, float, float], float]) -> Aggregate:
    """Skewness or kurtosis: of n, the second moment and the one of the given power."""

    def shape(rows: list[ArgumentRow]) -> float | None:
        values = first_arguments(rows)
        if not values:
            return None
        if odd_sum(values) is not None:
            return math.nan
        second = _moment(values, 2)
        if second == 0:
            return None
        return compute(len(values), rounded(second), rounded(_moment(values, power)))

    return shape


aggregate("skewness", resolve=_ONE_DOUBLE)(
    _shape(3, lambda n, m2, m3: math.sqrt(n) * m3 / math.pow(m2, 1.5))
)
aggregate("kurtosis", resolve=_ONE_DOUBLE)(_shape(4, lambda n, m2, m4: n * m4 / (m2 * m2) - 3.0))

_TWO_DOUBLES = takes(DOUBLE, DOUBLE, gives=DOUBLE)


def _co_moment(rows: list[ArgumentRow]) -> Fraction:
    n = len(rows)
    mean_x = exact_total(row[0] for row in rows) / n
    mean_y = exact_total(row[1] for row in rows) / n
    return sum(((Fraction(x) - mean_x) * (Fraction(y) - mean_y) for x, y in rows), Fraction(0))


def _any_odd(rows: list[ArgumentRow]) -> bool:
    return odd_sum([x for row in rows for x in row]) is not None


@aggregate("covar_pop", resolve=_TWO_DOUBLES, skips_nulls=2)
def _covar_pop(rows: list[ArgumentRow]) -> float | None:
    if not rows:
        return None
    return math.nan if _any_odd(rows) else rounded(_co_moment(rows) / len(rows))


@aggregate("covar_samp", resolve=_TWO_DOUBLES, skips_nulls=2)
def _covar_samp(rows: list[ArgumentRow]) -> float | None:
    if len(rows) < 2:
        return None
    return math.nan if _any_odd(rows) else rounded(_co_moment(rows) / (len(rows) - 1))


@aggregate("corr", resolve=_TWO_DOUBLES, skips_nulls=2)
def _corr(rows: list[ArgumentRow]) -> float | None:
    if not rows:
        return None
    if _any_odd(rows):
        return math.nan
    spread_x = _moment([row[0] for row in rows], 2)
    spread_y = _moment([row[1] for row in rows], 2)
    if spread_x == 0 or spread_y == 0:
        return None
    return rounded(_co_moment(rows)) / math.sqrt(rounded(spread_x) * rounded(spread_y))


# Quantiles


def _checked_share(name: str, argument: Expression) -> None:
    given = literal_value(name, "percentage", argument)
    shares = given if isinstance(given, tuple) else (given,)
    if not shares or any(share is None or not 0 <= share <= 1 for share in shares):
        raise QueryError(f"the percentage of {name} must lie between 0 and 1", argument.span)


def _resolve_percentile(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    _checked_share(name, arguments[1])
    many = isinstance(arguments[1].type, ArrayType)
    share: Type = array(DOUBLE) if many else DOUBLE
    head = takes(DOUBLE, gives=DOUBLE)(name, arguments[:1])
    return Signature((*head.arguments, share), array(DOUBLE) if many else DOUBLE)


@aggregate("percentile", resolve=_resolve_percentile)
def _percentile(rows: list[ArgumentRow]) -> Any:
    """Interpolated between the two nearest values."""
    if not rows:
        return None
    share = rows[0][1]
    values = sorted(first_arguments(rows), key=sort_key)
    if isinstance(share, tuple):
        return tuple(_interpolated(values, s) for s in share)
    return _interpolated(values, share)


@aggregate("median", resolve=_ONE_DOUBLE)
def _median(rows: list[ArgumentRow]) -> float | None:
    return _interpolated(sorted(first_arguments(rows), key=sort_key), 0.5) if rows else None


def _interpolated(values: list[float], share: float) -> float:
    position = (len(values) - 1) * share
    low, high = math.floor(position), math.ceil(position)
    if low == high or values[low] == values[high]:
        return values[low]
    return (high - position) * values[low] + (position - low) * values[high]


def _resolve_approx_percentile(name: str, arguments: Sequence[Expression]) -> Signature:
    if not 2 <= len(arguments) <= 3:
        raise wrong_count(name, 2, 3, len(arguments))
    _checked_share(name, arguments[1])
    many = isinstance(arguments[1].type, ArrayType)
    signature = takes(Kind.NUMERIC, gives=same_as_first)(name, arguments[:1])
    rest: tuple[Type, ...] = (array(DOUBLE) if many else DOUBLE,)
    if len(arguments) == 3:
        accuracy = literal_value(name, "accuracy", arguments[2])
        if not isinstance(accuracy, int) or accuracy <= 0:
            raise QueryError(f"the accuracy of {name} must be a positive integer")
        rest = (*rest, BIGINT)
    value = signature.result
    return Signature((value, *rest), array(value) if many else value)


@aggregate(
    "approx_percentile",
    "percentile_approx",
    resolve=_resolve_approx_percentile,
    approximate=True,
)
def _approx_percentile(rows: list[ArgumentRow]) -> Any:
    """What the approximation approaches: the smallest value whose rank reaches the share."""
    if not rows:
        return None
    values = sorted(first_arguments(rows), key=sort_key)
    share = rows[0][1]

    def ranked(s: float) -> Any:
        return values[max(0, math.ceil(s * len(values)) - 1)]

    return tuple(map(ranked, share)) if isinstance(share, tuple) else ranked(share)


def _resolve_approx_distinct(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.ANY, DOUBLE, gives=BIGINT, optional=1)(name, arguments)
    if len(arguments) == 2:
        deviation = literal_value(name, "relative standard deviation", arguments[1])
        if deviation is None or not 0 < deviation <= 0.39:
            raise QueryError(
                f"the relative standard deviation of {name} must lie between 0 and 0.39",
                arguments[1].span,
            )
    return signature


@aggregate("approx_count_distinct", resolve=_resolve_approx_distinct, approximate=True)
def _approx_count_distinct(rows: list[ArgumentRow]) -> int:
    """What the approximation approaches: the exact number."""
    return len({sort_key(row[0]) for row in rows})


# Collections


def _resolve_collect(name: str, arguments: Sequence[Expression]) -> Signature:
    return takes(Kind.ANY, gives=lambda types: array(types[0]))(name, arguments)


@aggregate("collect_list", "array_agg", resolve=_resolve_collect)
def _collect_list(rows: list[ArgumentRow]) -> tuple[Any, ...]:
    """All values, in ascending order."""
    return tuple(sorted(first_arguments(rows), key=sort_key))


@aggregate("collect_set", resolve=_resolve_collect)
def _collect_set(rows: list[ArgumentRow]) -> tuple[Any, ...]:
    """The distinct values, in ascending order."""
    distinct = {sort_key(row[0]): row[0] for row in rows}
    return tuple(distinct[key] for key in sorted(distinct))


@aggregate("mode", resolve=takes(Kind.ANY, gives=same_as_first))
def _mode(rows: list[ArgumentRow]) -> Any:
    """The most frequent value; of a tie, the smallest."""
    if not rows:
        return None
    counts = Counter(sort_key(row[0]) for row in rows)
    key = min(counts, key=lambda k: (-counts[k], k))
    return next(row[0] for row in rows if sort_key(row[0]) == key)


def _resolve_listagg(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(STRING, STRING, gives=STRING, optional=1)(name, arguments)
    if len(arguments) == 2:
        literal_value(name, "separator", arguments[1])
    return signature


@aggregate("listagg", "string_agg", resolve=_resolve_listagg)
def _listagg(rows: list[ArgumentRow]) -> str | None:
    """The texts in ascending order, joined by the separator."""
    if not rows:
        return None
    separator = rows[0][1] if len(rows[0]) > 1 else ""
    return str(separator or "").join(sorted(first_arguments(rows)))


ORDER_DEPENDENT = {
    "first": "min_by(x, ts) gives the value of the earliest row",
    "first_value": "min_by(x, ts) gives the value of the earliest row",
    "last": "max_by(x, ts) gives the value of the latest row",
    "last_value": "max_by(x, ts) gives the value of the latest row",
}


def evaluate_aggregate(
    function: AggregateFunction, compute: Aggregate, rows: list[ArgumentRow], distinct: bool
) -> Any:
    """The value of one group; raises `Failure` like any call."""
    skipped = function.skips_nulls
    kept = [row for row in rows if None not in row[:skipped]] if skipped else rows
    kept = [normal_zeros(row) for row in kept]
    if distinct:
        kept = list({tuple(map(sort_key, row)): row for row in kept}.values())
    try:
        return compute(kept)
    except ArithmeticError as error:
        raise Failure(f"{function.name}: {error}") from None
