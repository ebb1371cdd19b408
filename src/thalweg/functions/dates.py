"""Dates: their parts, moving them, cutting them off, and making them.

A timestamp given where a date is wanted becomes the date on the session's wall
clock; the binder writes that conversion out.
"""

from __future__ import annotations

import decimal as dec
import math
from collections.abc import Callable, Sequence
from typing import Any

from thalweg.errors import QueryError, did_you_mean
from thalweg.functions.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    add_months,
    checked_date,
    civil_from_days,
    day_of_year,
    days_from_civil,
    days_in_month,
    from_local,
    iso_week,
    split_local,
    to_local,
    weekday,
)
from thalweg.functions.cast import fit_integer
from thalweg.functions.date_patterns import MONTHS, WEEKDAYS
from thalweg.functions.registry import (
    Compute,
    Failure,
    Kind,
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
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_MONTH,
    Type,
    decimal,
    is_interval,
)

# Parts of a date and of a time of day

_SECONDS = decimal(8, 6)


def _year(days: int) -> int:
    return civil_from_days(days)[0]


def _month(days: int) -> int:
    return civil_from_days(days)[1]


def _day(days: int) -> int:
    return civil_from_days(days)[2]


def _quarter(days: int) -> int:
    return (_month(days) + 2) // 3


def _week(days: int) -> int:
    return iso_week(days)[1]


def _sunday_first(days: int) -> int:
    """1 on Sunday to 7 on Saturday."""
    return (weekday(days) + 1) % 7 + 1


_DATE_PARTS: dict[str, Callable[[int], int]] = {
    "YEAR": _year,
    "YEAROFWEEK": lambda days: iso_week(days)[0],
    "QUARTER": _quarter,
    "MONTH": _month,
    "WEEK": _week,
    "DAY": _day,
    "DAYOFWEEK": _sunday_first,
    "DAYOFWEEK_ISO": lambda days: weekday(days) + 1,
    "DOY": day_of_year,
}

_HOUR = 3600 * MICROS_PER_SECOND
_MINUTE = 60 * MICROS_PER_SECOND

_TIME_PARTS: dict[str, Callable[[int], Any]] = {
    "HOUR": lambda micros: micros // _HOUR,
    "MINUTE": lambda micros: micros // _MINUTE % 60,
    "SECOND": lambda micros: dec.Decimal(micros % _MINUTE).scaleb(-6),
}

_OTHER_NAMES = {
    "Y": "YEAR", "YEARS": "YEAR", "YR": "YEAR", "YRS": "YEAR",
    "QTR": "QUARTER",
    "MON": "MONTH", "MONS": "MONTH", "MONTHS": "MONTH",
    "W": "WEEK", "WEEKS": "WEEK",
    "D": "DAY", "DAYS": "DAY",
    "DOW": "DAYOFWEEK", "DOW_ISO": "DAYOFWEEK_ISO",
    "H": "HOUR", "HOURS": "HOUR", "HR": "HOUR", "HRS": "HOUR",
    "M": "MINUTE", "MIN": "MINUTE", "MINS": "MINUTE", "MINUTES": "MINUTE",
    "S": "SECOND", "SEC": "SECOND", "SECONDS": "SECOND", "SECS": "SECOND",
}  # fmt: skip

# Which parts an interval has, each with its type.
_INTERVAL_PARTS: dict[Type, dict[str, Type]] = {
    YEAR_MONTH: {"YEAR": INT, "MONTH": TINYINT},
    DAY_TIME: {"DAY": INT, "HOUR": TINYINT, "MINUTE": TINYINT, "SECOND": _SECONDS},
    DAYS: {"DAY": INT},
}

_OF_A_DATE: dict[tuple[str, ...], Callable[[int], int]] = {
    ("year",): _year,
    ("quarter",): _quarter,
    ("month",): _month,
    ("day", "dayofmonth"): _day,
    ("dayofweek",): _sunday_first,
    ("weekday",): weekday,
    ("dayofyear",): day_of_year,
    ("weekofyear",): _week,
}

for _names, _part in _OF_A_DATE.items():
    scalar(*_names, resolve=takes(DATE, gives=INT))(_part)


@scalar("hour", resolve=takes(TIMESTAMP, gives=INT), zoned=True)
def _hour(micros: int, zone: str) -> int:
    return split_local(micros, zone)[1] // _HOUR


@scalar("minute", resolve=takes(TIMESTAMP, gives=INT), zoned=True)
def _minute(micros: int, zone: str) -> int:
    return split_local(micros, zone)[1] // _MINUTE % 60


@scalar("second", resolve=takes(TIMESTAMP, gives=INT), zoned=True)
def _second(micros: int, zone: str) -> int:
    return split_local(micros, zone)[1] // MICROS_PER_SECOND % 60


@scalar("dayname", resolve=takes(DATE, gives=STRING))
def _dayname(days: int) -> str:
    return WEEKDAYS[weekday(days)][:3]


@scalar("monthname", resolve=takes(DATE, gives=STRING))
def _monthname(days: int) -> str:
    return MONTHS[_month(days) - 1][:3]


def _resolve_date_part(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    field, source = literal_value(name, "part", arguments[0]), arguments[1]
    if field is None:
        return Signature((STRING, source.type), DOUBLE)
    part = _part_named(str(field))
    if is_interval(source.type):
        result = _INTERVAL_PARTS[source.type].get(part)
        if result is None:
            raise QueryError(f"{source.type} has no {field}", arguments[0].span)
        return Signature((STRING, source.type), result)
    if part in _DATE_PARTS:
        rest = takes(DATE, gives=INT)(name, arguments[1:])
    elif part in _TIME_PARTS:
        result = _SECONDS if part == "SECOND" else INT
        rest = takes(TIMESTAMP, gives=result)(name, arguments[1:])
    else:
        known = [*_DATE_PARTS, *_TIME_PARTS]
        raise QueryError(
            f'"{field}" is not a part of a date or a time',
            arguments[0].span,
            detail=f"Parts are: {', '.join(known)}.",
            hint=did_you_mean(part, known),
        )
    return Signature((STRING, *rest.arguments), rest.result)


def _part_named(field: str) -> str:
    return _OTHER_NAMES.get(field.upper(), field.upper())


@scalar_by_type("date_part", "datepart", resolve=_resolve_date_part, zoned=True)
def _date_part(signature: Signature) -> Compute:
    source = signature.arguments[1]
    if is_interval(source):
        parts = _OF_MONTHS if source == YEAR_MONTH else _OF_MICROS
        return lambda field, value, zone: _with_sign(parts[_part_named(field)], value)
    if source == TIMESTAMP:
        return lambda field, micros, zone: _TIME_PARTS[_part_named(field)](
            split_local(micros, zone)[1]
        )
    return lambda field, days, zone: _DATE_PARTS[_part_named(field)](days)


_OF_MONTHS: dict[str, Callable[[int], Any]] = {
    "YEAR": lambda months: months // 12,
    "MONTH": lambda months: months % 12,
}
_OF_MICROS: dict[str, Callable[[int], Any]] = {
    "DAY": lambda micros: micros // MICROS_PER_DAY,
    "HOUR": lambda micros: micros % MICROS_PER_DAY // _HOUR,
    "MINUTE": _TIME_PARTS["MINUTE"],
    "SECOND": _TIME_PARTS["SECOND"],
}


def _with_sign(part: Callable[[int], Any], value: int) -> Any:
    """The parts of a negative interval are negative."""
    return part(value) if value >= 0 else -part(-value)


# Moving


def _date_and_days(name: str, arguments: Sequence[Expression]) -> Signature:
    text = len(arguments) == 2 and arguments[1].type == STRING
    return takes(DATE, INT if text else Kind.AT_MOST_INT, gives=DATE)(name, arguments)


@scalar("date_add", resolve=_date_and_days)
def _date_add(days: int, more: int) -> int:
    return fit_integer(days + more, 32)


@scalar("date_sub", resolve=_date_and_days)
def _date_sub(days: int, fewer: int) -> int:
    return fit_integer(days - fewer, 32)


@scalar("datediff", "date_diff", resolve=takes(DATE, DATE, gives=INT))
def _datediff(end: int, start: int) -> int:
    return fit_integer(end - start, 32)


@scalar("add_months", resolve=takes(DATE, INT, gives=DATE))
def _add_months(days: int, months: int) -> int:
    return fit_integer(add_months(days, months), 32)


_SECONDS_PER_DAY = 86_400
_SECONDS_PER_MONTH = 31 * _SECONDS_PER_DAY


@scalar(
    "months_between",
    resolve=takes(TIMESTAMP, TIMESTAMP, BOOLEAN, gives=DOUBLE, optional=1),
    zoned=True,
)
def _months_between(end: int, start: int, *rest: Any) -> float:
    """Months of 31 days, but whole ones between equal days and between last days."""
    zone, rounds = rest[-1], rest[0] if len(rest) == 2 else True
    (end_day, end_micros), (start_day, start_micros) = (
        split_local(end, zone),
        split_local(start, zone),
    )
    y1, m1, d1 = civil_from_days(end_day)
    y2, m2, d2 = civil_from_days(start_day)
    months = float((y1 - y2) * 12 + m1 - m2)
    if d1 == d2 or (d1 == days_in_month(y1, m1) and d2 == days_in_month(y2, m2)):
        return months
    seconds = (
        (d1 - d2) * _SECONDS_PER_DAY
        + end_micros // MICROS_PER_SECOND
        - start_micros // MICROS_PER_SECOND
    )
    exact = months + seconds / _SECONDS_PER_MONTH
    return math.floor(exact * 1e8 + 0.5) / 1e8 if rounds else exact


@scalar("last_day", resolve=takes(DATE, gives=DATE))
def _last_day(days: int) -> int:
    year, month, _ = civil_from_days(days)
    return fit_integer(days_from_civil(year, month, days_in_month(year, month)), 32)


_WEEKDAY_NAMES = {
    short: i for i, name in enumerate(WEEKDAYS) for short in (name[:2], name[:3], name)
}


@scalar("next_day", resolve=takes(DATE, STRING, gives=DATE))
def _next_day(days: int, name: str) -> int:
    wanted = _WEEKDAY_NAMES.get(name.title())
    if wanted is None:
        raise Failure(f"{name!r} is not a day of the week")
    return fit_integer(days + (wanted - weekday(days) - 1) % 7 + 1, 32)


# Cutting off


def _start_of_year(days: int) -> int:
    return days_from_civil(_year(days), 1, 1)


def _start_of_quarter(days: int) -> int:
    return days_from_civil(_year(days), _quarter(days) * 3 - 2, 1)


def _start_of_month(days: int) -> int:
    return days - _day(days) + 1


def _start_of_week(days: int) -> int:
    return days - weekday(days)


_DATE_UNITS: dict[str, Callable[[int], int]] = {
    "YEAR": _start_of_year,
    "YYYY": _start_of_year,
    "YY": _start_of_year,
    "QUARTER": _start_of_quarter,
    "MONTH": _start_of_month,
    "MON": _start_of_month,
    "MM": _start_of_month,
    "WEEK": _start_of_week,
}
_TIME_UNITS = {
    "DAY": MICROS_PER_DAY,
    "DD": MICROS_PER_DAY,
    "HOUR": _HOUR,
    "MINUTE": _MINUTE,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}


@scalar("trunc", resolve=takes(DATE, STRING, gives=DATE))
def _trunc(days: int, unit: str) -> int | None:
    """NULL if the unit is not one of a date."""
    start = _DATE_UNITS.get(unit.upper())
    return fit_integer(start(days), 32) if start else None


@scalar("date_trunc", resolve=takes(STRING, TIMESTAMP, gives=TIMESTAMP), zoned=True)
def _date_trunc(unit: str, micros: int, zone: str) -> int | None:
    local = to_local(micros, zone)
    start, length = _DATE_UNITS.get(unit.upper()), _TIME_UNITS.get(unit.upper())
    if start is not None:
        cut = start(local // MICROS_PER_DAY) * MICROS_PER_DAY
        return fit_integer(from_local(cut, zone), 64)
    if length is None:
        return None
    # Stay on the same side of a change to winter time if the clock allows it.
    same_offset = micros - local % length
    cut = local - local % length
    kept = to_local(same_offset, zone) == cut
    return fit_integer(same_offset if kept else from_local(cut, zone), 64)


# Making


@scalar("make_date", resolve=takes(INT, INT, INT, gives=DATE))
def _make_date(year: int, month: int, day: int) -> int:
    return fit_integer(checked_date(year, month, day), 32)


def _strictly_date(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(DATE, gives=INT)(name, arguments)
    if arguments[0].type not in (DATE, NULL):
        raise wrong_type(name, 0, str(DATE), arguments[0])
    return signature


@scalar("unix_date", resolve=_strictly_date)
def _unix_date(days: int) -> int:
    return days


@scalar("date_from_unix_date", resolve=takes(INT, gives=DATE))
def _date_from_unix_date(days: int) -> int:
    return days


@scalar("make_ym_interval", resolve=takes(INT, INT, gives=YEAR_MONTH, optional=2))
def _make_ym_interval(years: int = 0, months: int = 0) -> int:
    return fit_integer(years * 12 + months, 32)


@scalar(
    "make_dt_interval",
    resolve=takes(INT, INT, INT, decimal(18, 6), gives=DAY_TIME, optional=4),
)
def _make_dt_interval(
    days: int = 0, hours: int = 0, minutes: int = 0, seconds: dec.Decimal = dec.Decimal(0)
) -> int:
    whole = days * MICROS_PER_DAY + hours * _HOUR + minutes * _MINUTE
    return fit_integer(whole + int(seconds.scaleb(6)), 64)
