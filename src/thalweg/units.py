"""Units of time, lengths of time exact to the nanosecond, and amounts of memory."""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction

from thalweg.errors import QueryError, Span, did_you_mean

# Longer numbers are no lengths of time; Python takes its time over 1e999999999.
_LONGEST_NUMBER = 30
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")


def exact_number(text: str) -> Fraction | None:
    """A number of at most 30 characters, written without an exponent; else None."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    return Fraction(text)


_SIZE = re.compile(r"([0-9.]+)\s*([KMGT]?)(i?)B", re.IGNORECASE)


def size_in_bytes(text: str) -> int | None:
    """What an amount such as 64MB or 1.5 GiB is in bytes; None if it is none."""
    found = _SIZE.fullmatch(text.strip())
    number = exact_number(found[1]) if found else None
    if found is None or number is None:
        return None
    power = " KMGT".index(found[2].upper() or " ")
    return int(number * (1024 if found[3] else 1000) ** power)


class Unit(Enum):
    """A unit of event time; its value is its length in nanoseconds."""

    NANOSECOND = 1
    MICROSECOND = 1_000
    MILLISECOND = 1_000_000
    SECOND = 1_000_000_000
    MINUTE = 60_000_000_000
    HOUR = 3_600_000_000_000
    DAY = 86_400_000_000_000

    def __str__(self) -> str:
        return self.name.lower()

    def ticks_per(self, coarser: Unit) -> int:
        """How many of this unit make one `coarser`."""
        assert coarser.value % self.value == 0, f"{coarser} is not a multiple of {self}"
        return coarser.value // self.value


_NAMES = {unit.name: unit for unit in Unit} | {
    "NS": Unit.NANOSECOND,
    "US": Unit.MICROSECOND,
    "MS": Unit.MILLISECOND,
    "S": Unit.SECOND,
    "SEC": Unit.SECOND,
    "MIN": Unit.MINUTE,
    "H": Unit.HOUR,
    "HR": Unit.HOUR,
    "D": Unit.DAY,
}
_WEEK = 7 * Unit.DAY.value
_CALENDAR = ("MONTH", "QUARTER", "YEAR")


def unit_named(name: str, span: Span | None = None) -> Unit:
    """The unit a word such as SECOND, seconds or ms stands for."""
    word = name.upper()
    unit = _NAMES.get(word) or _NAMES.get(word.removesuffix("S"))
    if unit is None:
        raise QueryError(
            f'"{name}" is not a unit of time',
            span,
            detail="Units are: " + ", ".join(u.name for u in Unit) + ".",
            hint=did_you_mean(name, _NAMES),
        )
    return unit


def is_unit_word(name: str) -> bool:
    word = name.upper().removesuffix("S")
    return word in _NAMES or name.upper() in _NAMES or word in (*_CALENDAR, "WEEK")


def nanoseconds(amount: Fraction, name: str, span: Span | None = None) -> Fraction:
    """The length of `amount` units; months and years have none."""
    word = name.upper().removesuffix("S")
    if word in _CALENDAR:
        raise QueryError(
            f"a {word.lower()} has no fixed length",
            span,
            hint="say it in days, for instance 30 DAYS",
        )
    if word == "WEEK":
        return amount * _WEEK
    return amount * unit_named(name, span).value


def describe(nanos: int) -> str:
    """A length in the coarsest unit that divides it: 90 seconds, 10 minutes, 1 day."""
    for unit in sorted(Unit, key=lambda u: -u.value):
        if nanos % unit.value == 0 and (nanos or unit is Unit.SECOND):
            amount = nanos // unit.value
            return f"{amount} {unit}{'' if amount == 1 else 's'}"
    raise AssertionError("every length is a number of nanoseconds")


# Instants are numbers of ticks of less than 64 bits: the numbers at both ends stand for
# what is before all time and after it.
LAST_INSTANT = 2**63 - 2
FIRST_INSTANT = -LAST_INSTANT
