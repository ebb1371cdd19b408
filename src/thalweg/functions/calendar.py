"""Days, months and zones as integer arithmetic on the proleptic Gregorian calendar.

A DATE is days since 1970-01-01, a TIMESTAMP microseconds since 1970-01-01 00:00
UTC. Both reach far beyond the years 1 to 9999 of Python's datetime, so the
calendar is computed here; only the rules of time zones come from `zoneinfo`.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thalweg.functions.registry import Failure

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND

# The Gregorian calendar repeats every 400 years = 146,097 days.
_ERA_DAYS = 146_097
_EPOCH = dt.datetime(1970, 1, 1)
_FIRST_DATETIME_DAY = (dt.datetime(1, 1, 2) - _EPOCH).days
_LAST_DATETIME_DAY = (dt.datetime(9999, 12, 30) - _EPOCH).days


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Years start in March inside, so leap days come last."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a date."""
    days += 719_468
    era = days // _ERA_DAYS
    day_of_era = days - era * _ERA_DAYS
    year_of_era = (
        day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day


def is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def checked_date(year: int, month: int, day: int) -> int:
    if not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
        raise Failure(f"there is no date {year:04d}-{month:02d}-{day:02d}")
    return days_from_civil(year, month, day)


def add_months(days: int, months: int) -> int:
    """The same day of the month, or the last one where the month is shorter."""
    year, month, day = civil_from_days(days)
    year, month = divmod(year * 12 + month - 1 + months, 12)
    month += 1
    return days_from_civil(year, month, min(day, days_in_month(year, month)))


def weekday(days: int) -> int:
    """0 on Monday to 6 on Sunday."""
    return (days + 3) % 7


def day_of_year(days: int) -> int:
    year, _, _ = civil_from_days(days)
    return days - days_from_civil(year, 1, 1) + 1


def iso_week(days: int) -> tuple[int, int]:
    """(year, week) of ISO 8601: the week belongs to the year that its Thursday is in."""
    thursday = days - weekday(days) + 3
    year, _, _ = civil_from_days(thursday)
    return year, (day_of_year(thursday) - 1) // 7 + 1


# The three-letter names that Java knows, and Spark with it.
_SHORT_ZONES = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris", "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo", "MIT": "Pacific/Apia", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi", "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal", "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00", "MST": "-07:00", "HST": "-10:00",
}  # fmt: skip
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d\d)(\d\d)(\d\d)?|(\d\d?)(?::(\d\d?)(?::(\d\d))?)?)", re.ASCII
)
_LARGEST_OFFSET = 18 * 3600


@lru_cache(maxsize=256)
def zone_rules(name: str) -> ZoneInfo | dt.timezone:
    """The rules of a zone name such as Europe/Paris, UTC, Z, +02:00, GMT-5 or PST."""
    text = _SHORT_ZONES.get(name, name)
    if text in ("Z", "UTC", "GMT", "UT"):
        return dt.UTC
    offset = _OFFSET.fullmatch(text)
    if offset:
        sign, *parts = offset.groups()
        hours, minutes, seconds = (
            int(a or b or 0) for a, b in zip(parts[:3], parts[3:], strict=True)
        )
        total = (hours * 60 + minutes) * 60 + seconds
        if minutes > 59 or seconds > 59 or total > _LARGEST_OFFSET:
            raise Failure(f"{name!r} is not a time zone")
        return dt.timezone(dt.timedelta(seconds=-total if sign == "-" else total))
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Failure(f"{name!r} is not a time zone") from None


def is_zone(name: str) -> bool:
    try:
        zone_rules(name)
    except Failure:
        return False
    return True


def to_local(micros: int, zone: str) -> int:
    """The wall clock of an instant, as microseconds since 1970-01-01 00:00 on that clock."""
    rules = zone_rules(zone)
    if rules is dt.UTC:
        return micros
    moment = _EPOCH + dt.timedelta(microseconds=_inside_datetime(micros))
    return micros + _micros(moment.replace(tzinfo=dt.UTC).astimezone(rules).utcoffset())


def from_local(local: int, zone: str) -> int:
    """The instant of a wall clock; the earlier one where the clock shows a time twice.

    A time that the clock skips is moved forward by the length of the gap.
    """
    rules = zone_rules(zone)
    if rules is dt.UTC:
        return local
    moment = _EPOCH + dt.timedelta(microseconds=_inside_datetime(local))
    return local - _micros(moment.replace(tzinfo=rules).utcoffset())


def zone_abbreviation(micros: int, zone: str) -> str:
    """What the zone is called at an instant, such as CET or CEST."""
    rules = zone_rules(zone)
    if not isinstance(rules, ZoneInfo):
        return zone
    moment = (_EPOCH + dt.timedelta(microseconds=_inside_datetime(micros))).replace(tzinfo=dt.UTC)
    return moment.astimezone(rules).tzname() or zone


def split_local(micros: int, zone: str) -> tuple[int, int]:
    """(days, microseconds of the day) on the wall clock of a zone."""
    return divmod(to_local(micros, zone), MICROS_PER_DAY)


def _inside_datetime(micros: int) -> int:
    """The nearest instant that Python's datetime can hold: zone rules end there."""
    day, rest = divmod(micros, MICROS_PER_DAY)
    return min(max(day, _FIRST_DATETIME_DAY), _LAST_DATETIME_DAY) * MICROS_PER_DAY + rest


def _micros(delta: dt.timedelta | None) -> int:
    assert delta is not None, "zone rules always give an offset"
    return delta // dt.timedelta(microseconds=1)
