"""sequence(start, stop, step): numbers, dates or timestamps at equal distances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.coercion import common_type
from thalweg.errors import QueryError
from thalweg.functions.calendar import MICROS_PER_DAY, add_months
from thalweg.functions.operators import timestamp_plus, timestamp_plus_months
from thalweg.functions.registry import (
    Compute,
    Failure,
    Signature,
    scalar_by_type,
    wrong_count,
)
from thalweg.functions.strings import LONGEST_ARRAY, refuse_longer
from thalweg.plan.expressions import Expression
from thalweg.types import (
    DATE,
    DAY_TIME,
    NULL,
    TIMESTAMP,
    YEAR_MONTH,
    ArrayType,
    Type,
    array,
    is_integral,
    is_interval,
)

_DAYS_PER_MONTH = 31


def _resolve_sequence(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) not in (2, 3):
        raise wrong_count(name, 2, 3, len(arguments))
    types = [argument.type for argument in arguments]
    ends, step = common_type(types[0], types[1]), types[2] if len(types) == 3 else None
    if ends is not None and is_integral(ends) and (step in (None, NULL) or is_integral(step)):
        common = ends if step is None else common_type(ends, step)
        assert common is not None, "two integers have a common type"
        return Signature((common,) * len(types), array(common))
    if ends in (DATE, TIMESTAMP) and (step in (None, NULL) or is_interval(step)):
        wide = YEAR_MONTH if step == YEAR_MONTH else DAY_TIME
        steps: tuple[Type, ...] = () if step is None else (wide,)
        return Signature((ends, ends, *steps), array(ends))
    raise QueryError(
        f"{name} goes over integers, dates or timestamps",
        detail=f"It was given {', '.join(map(str, types))}.",
        hint="the step of dates and timestamps is an interval",
    )


@dataclass(frozen=True, slots=True)
class _Walk:
    """How to go through values of one type by steps of another.

    `at(start, step, count, zone)` is the value `count` steps away from the start,
    `reach(step)` the most that one step can cover.
    """

    at: Callable[[int, int, int, str], int]
    reach: Callable[[int], int]
    default: int = MICROS_PER_DAY


@scalar_by_type("sequence", resolve=_resolve_sequence, zoned=True)
def _sequence(signature: Signature) -> Compute:
    """Both ends may be in it; without a step it goes by 1, or by 1 day, up or down."""
    assert isinstance(signature.result, ArrayType), "the signature says so"
    by_months = signature.arguments[2] == YEAR_MONTH
    walk = _WALKS.get((signature.result.element, by_months), _NUMBERS)

    def compute(start: int, stop: int, *rest: Any) -> tuple[int, ...]:
        step = rest[0] if len(rest) == 2 else walk.default if start <= stop else -walk.default
        if (stop - start) * step < 0 or (step == 0 and start != stop):
            raise Failure(f"a step of {step} does not lead from {start} to {stop}")
        if step == 0:
            return (start,)
        refuse_longer(abs(stop - start) // max(walk.reach(abs(step)), 1) + 1, LONGEST_ARRAY)
        found: list[int] = []
        value = start
        while value <= stop if step > 0 else value >= stop:
            found.append(value)
            value = walk.at(start, step, len(found), rest[-1])
        return tuple(found)

    return compute


def _plus(start: int, step: int, count: int, zone: str) -> int:
    return start + step * count


def _date_plus(start: int, micros: int, count: int, zone: str) -> int:
    days, rest = divmod(micros, MICROS_PER_DAY)
    if rest:
        raise Failure("dates are whole days apart")
    return start + days * count


def _date_plus_months(start: int, months: int, count: int, zone: str) -> int:
    return add_months(start, months * count)


def _timestamp_plus(start: int, micros: int, count: int, zone: str) -> int:
    """Days by the wall clock, then hours and less by the instant: 12 hours never make a day."""
    sign = 1 if micros >= 0 else -1
    days, rest = divmod(abs(micros), MICROS_PER_DAY)
    moved = timestamp_plus(start, sign * days * count * MICROS_PER_DAY, zone)
    return moved + sign * rest * count


def _timestamp_plus_months(start: int, months: int, count: int, zone: str) -> int:
    return timestamp_plus_months(start, months * count, zone)


_NUMBERS = _Walk(_plus, reach=lambda step: step, default=1)
_WALKS = {
    (DATE, False): _Walk(_date_plus, reach=lambda micros: micros // MICROS_PER_DAY),
    (DATE, True): _Walk(_date_plus_months, reach=lambda months: months * _DAYS_PER_MONTH),
    (TIMESTAMP, False): _Walk(_timestamp_plus, reach=lambda micros: micros),
    (TIMESTAMP, True): _Walk(
        _timestamp_plus_months, reach=lambda months: months * _DAYS_PER_MONTH * MICROS_PER_DAY
    ),
}
