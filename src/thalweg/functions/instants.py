"""Timestamps: reading and writing them, Unix times, zones, and distances.

Units of `timestampadd` and `timestampdiff` follow the wall clock for days and
longer, so that one day later is the same time tomorrow, summer or not.
"""

from __future__ import annotations

import decimal as dec
import math
from collections.abc import Sequence
from typing import Any

from thalweg.errors import QueryError, did_you_mean
from thalweg.functions.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    checked_date,
    civil_from_days,
    from_local,
    split_local,
    to_local,
)
from thalweg.functions.cast import WIDE, caster, fit_integer
from thalweg.functions.constants import constant_text
from thalweg.functions.date_patterns import pieces_of, read_timestamp, write_timestamp
from thalweg.functions.operators import timestamp_plus, timestamp_plus_months
from thalweg.functions.registry import (
    Compute,
    Failure,
    Kind,
    Resolve,
    Signature,
    literal_value,
    scalar,
    scalar_by_type,
    takes,
    wrong_count,
    wrong_type,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BIGINT,
    DATE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
    is_numeric,
)

DEFAULT_PATTERN = "yyyy-MM-dd HH:mm:ss"


def _with_pattern(resolve: Resolve, reading: bool) -> Resolve:
    """Refuse a constant pattern, the second argument, that is not one."""

    def resolve_checked(name: str, arguments: Sequence[Expression]) -> Signature:
        signature = resolve(name, arguments)
        pattern = constant_text(arguments[1]) if len(arguments) > 1 else None
        is_used = not reading or signature.arguments[0] == STRING
        if pattern is not None and is_used:
            try:
                pieces_of(pattern, reading)
            except Failure as failure:
                raise QueryError(str(failure), arguments[1].span) from None
        return signature

    return resolve_checked


# Text to timestamp


def _read_as(target: Type) -> Resolve:
    """Text with an optional pattern; what is a time already needs none."""
    return _with_pattern(
        takes((STRING, DATE, TIMESTAMP), STRING, gives=target, optional=1), reading=True
    )


def _resolve_to_timestamp(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) == 1 and is_numeric(arguments[0].type):
        return Signature((arguments[0].type,), TIMESTAMP)
    return _read_as(TIMESTAMP)(name, arguments)


def _reading(signature: Signature) -> Compute:
    """To TIMESTAMP from the first argument, by the second if it is a pattern, in a zone."""
    source = signature.arguments[0]

    def compute(value: Any, *rest: str) -> Any:
        if source == STRING and len(rest) == 2:
            return fit_integer(read_timestamp(value, rest[0], rest[1]), 64)
        return caster(source, TIMESTAMP, rest[-1])(value)

    return compute


@scalar_by_type("to_timestamp", resolve=_resolve_to_timestamp, zoned=True)
def _to_timestamp(signature: Signature) -> Compute:
    return _reading(signature)


@scalar_by_type("try_to_timestamp", resolve=_resolve_to_timestamp, zoned=True)
def _try_to_timestamp(signature: Signature) -> Compute:
    read = _reading(signature)

    def attempt(*values: Any) -> Any:
        if len(values) == 3 and isinstance(values[0], str):
            pieces_of(values[1], reading=True)  # a bad pattern still fails
        try:
            return read(*values)
        except Failure:
            return None

    return attempt


@scalar_by_type("to_date", resolve=_read_as(DATE), zoned=True)
def _to_date(signature: Signature) -> Compute:
    source = signature.arguments[0]
    read = _reading(signature)

    def compute(value: Any, *rest: str) -> Any:
        if source == STRING and len(rest) == 2:
            return split_local(read(value, *rest), rest[1])[0]
        return caster(source, DATE, rest[-1])(value)

    return compute


def _resolve_unix_timestamp(name: str, arguments: Sequence[Expression]) -> Signature:
    if not arguments and name == "unix_timestamp":
        raise QueryError(
            f"{name} without arguments is not allowed in a continuous query",
            detail="It depends on the clock, and answers must be the same when a stream is "
            "replayed.",
            hint=f"give it the stream's time column: {name}(ts)",
        )
    signature = _read_as(BIGINT)(name, arguments)
    if arguments[0].type not in (STRING, DATE, TIMESTAMP, NULL):
        raise wrong_type(name, 0, "a text or a time", arguments[0])
    return signature


@scalar_by_type("unix_timestamp", "to_unix_timestamp", resolve=_resolve_unix_timestamp, zoned=True)
def _unix_timestamp(signature: Signature) -> Compute:
    read = _reading(signature)
    default = signature.arguments[0] == STRING and len(signature.arguments) == 2

    def compute(value: Any, *rest: str) -> int:
        micros = read(value, DEFAULT_PATTERN, *rest) if default else read(value, *rest)
        return _towards_zero(micros, MICROS_PER_SECOND)

    return compute


def _towards_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)


# Timestamp to text


@scalar(
    "date_format",
    resolve=_with_pattern(takes(TIMESTAMP, STRING, gives=STRING), reading=False),
    zoned=True,
)
def _date_format(micros: int, pattern: str, zone: str) -> str:
    return write_timestamp(micros, pattern, zone)


@scalar(
    "from_unixtime",
    resolve=_with_pattern(takes(BIGINT, STRING, gives=STRING, optional=1), reading=False),
    zoned=True,
)
def _from_unixtime(seconds: int, *rest: str) -> str:
    pattern = rest[0] if len(rest) == 2 else DEFAULT_PATTERN
    return write_timestamp(fit_integer(seconds * MICROS_PER_SECOND, 64), pattern, rest[-1])


# Unix times


def _not_text(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.NUMERIC, gives=TIMESTAMP)(name, arguments)
    if arguments[0].type == STRING:
        raise wrong_type(name, 0, Kind.NUMERIC.value, arguments[0])
    return signature


@scalar("timestamp_seconds", resolve=_not_text)
def _timestamp_seconds(seconds: Any) -> int | None:
    if isinstance(seconds, float):
        if not math.isfinite(seconds):
            return None
        return fit_integer(int(seconds * MICROS_PER_SECOND), 64)
    micros = dec.Decimal(seconds).scaleb(6, WIDE)
    if micros != micros.to_integral_value():
        raise Failure(f"{seconds} seconds are not a whole number of microseconds")
    return fit_integer(int(micros), 64)


@scalar("timestamp_millis", resolve=takes(Kind.INTEGRAL, gives=TIMESTAMP))
def _timestamp_millis(millis: int) -> int:
    return fit_integer(millis * 1_000, 64)


@scalar("timestamp_micros", resolve=takes(Kind.INTEGRAL, gives=TIMESTAMP))
def _timestamp_micros(micros: int) -> int:
    return micros


def _strictly_timestamp(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(TIMESTAMP, gives=BIGINT)(name, arguments)
    if arguments[0].type not in (TIMESTAMP, NULL):
        raise wrong_type(name, 0, str(TIMESTAMP), arguments[0])
    return signature


@scalar("unix_seconds", resolve=_strictly_timestamp)
def _unix_seconds(micros: int) -> int:
    return micros // MICROS_PER_SECOND


@scalar("unix_millis", resolve=_strictly_timestamp)
def _unix_millis(micros: int) -> int:
    return micros // 1_000


@scalar("unix_micros", resolve=_strictly_timestamp)
def _unix_micros(micros: int) -> int:
    return micros


# Making


@scalar(
    "make_timestamp",
    resolve=takes(INT, INT, INT, INT, INT, decimal(16, 6), STRING, gives=TIMESTAMP, optional=1),
    zoned=True,
)
def _make_timestamp(
    year: int, month: int, day: int, hour: int, minute: int, second: dec.Decimal, *zones: str
) -> int:
    """On the wall clock of the zone given, or else of the session; 60 seconds are a minute."""
    if not 0 <= hour <= 23 or not 0 <= minute <= 59 or not 0 <= second <= 60:
        raise Failure(f"there is no time {hour:02d}:{minute:02d}:{second}")
    days = checked_date(year, month, day)
    micros = (hour * 60 + minute) * 60 * MICROS_PER_SECOND + int(second.scaleb(6))
    return fit_integer(from_local(days * MICROS_PER_DAY + micros, zones[0]), 64)


# Zones


@scalar("from_utc_timestamp", resolve=takes(TIMESTAMP, STRING, gives=TIMESTAMP))
def _from_utc_timestamp(micros: int, zone: str) -> int:
    """The wall clock of a zone, as if it were UTC."""
    return fit_integer(to_local(micros, zone), 64)


@scalar("to_utc_timestamp", resolve=takes(TIMESTAMP, STRING, gives=TIMESTAMP))
def _to_utc_timestamp(micros: int, zone: str) -> int:
    return fit_integer(from_local(micros, zone), 64)


def _resolve_convert_timezone(name: str, arguments: Sequence[Expression]) -> Signature:
    zones = (STRING,) * (len(arguments) - 1)
    if len(zones) not in (1, 2):
        raise wrong_count(name, 2, 3, len(arguments))
    return takes(*zones, TIMESTAMP, gives=TIMESTAMP)(name, arguments)


@scalar("convert_timezone", resolve=_resolve_convert_timezone, zoned=True)
def _convert_timezone(*given: Any) -> int:
    """What the clock of one zone, or the session's, shows on that of another."""
    *zones, micros, session = given
    source, target = zones if len(zones) == 2 else (session, zones[0])
    instant = from_local(to_local(micros, session), source)
    return fit_integer(from_local(to_local(instant, target), session), 64)


# Distances

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": MICROS_PER_SECOND,
    "MINUTE": 60 * MICROS_PER_SECOND,
    "HOUR": 3600 * MICROS_PER_SECOND,
    "DAY": MICROS_PER_DAY,
    "DAYOFYEAR": MICROS_PER_DAY,
    "WEEK": 7 * MICROS_PER_DAY,
}


def _with_unit(name: str, argument: Expression) -> None:
    unit = literal_value(name, "unit", argument)
    if unit not in _MONTHS and unit not in _MICROS:
        known = [*_MICROS, *_MONTHS]
        raise QueryError(
            f'"{unit}" is not a unit of {name}',
            argument.span,
            detail=f"Units are: {', '.join(known)}.",
            hint=did_you_mean(str(unit), known),
        )


def _resolve_timestampadd(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(STRING, BIGINT, TIMESTAMP, gives=TIMESTAMP)(name, arguments)
    _with_unit(name, arguments[0])
    return signature


@scalar("timestampadd", resolve=_resolve_timestampadd, zoned=True)
def _timestampadd(unit: str, amount: int, micros: int, zone: str) -> int:
    if unit in _MONTHS:
        months = fit_integer(amount * _MONTHS[unit], 32)
        return timestamp_plus_months(micros, months, zone)
    distance = fit_integer(amount * _MICROS[unit], 64)
    if _MICROS[unit] < MICROS_PER_DAY:
        return fit_integer(micros + distance, 64)
    return timestamp_plus(micros, distance, zone)


def _resolve_timestampdiff(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(STRING, TIMESTAMP, TIMESTAMP, gives=BIGINT)(name, arguments)
    _with_unit(name, arguments[0])
    return signature


@scalar("timestampdiff", resolve=_resolve_timestampdiff, zoned=True)
def _timestampdiff(unit: str, start: int, end: int, zone: str) -> int:
    """Whole units from start to end."""
    if unit in _MICROS:
        return _towards_zero(to_local(end, zone) - to_local(start, zone), _MICROS[unit])
    if start > end:
        return -_timestampdiff(unit, end, start, zone)
    (y1, m1, *from_day), (y2, m2, *to_day) = _calendar(start, zone), _calendar(end, zone)
    months = (y2 - y1) * 12 + m2 - m1 - (to_day < from_day)
    return months // _MONTHS[unit]


def _calendar(micros: int, zone: str) -> tuple[int, int, int, int]:
    days, rest = split_local(micros, zone)
    return *civil_from_days(days), rest
