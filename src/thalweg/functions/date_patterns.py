"""Datetime patterns such as `yyyy-MM-dd HH:mm:ss`: reading and writing times with them.

The letters are those of Spark, which has them from Java. A pattern is read once
into its pieces; for reading texts the pieces become one regular expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from thalweg.functions.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    checked_date,
    civil_from_days,
    day_of_year,
    days_from_civil,
    from_local,
    is_leap,
    to_local,
    weekday,
    zone_abbreviation,
)
from thalweg.functions.linear_regex import literal_regex, regex_program
from thalweg.functions.registry import Failure

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_ERAS = ("Before Christ", "Anno Domini")
_HALVES = ("AM", "PM")

# How often each letter may stand in a row.
_LONGEST = {
    "G": 4, "y": 6, "M": 4, "L": 4, "d": 2, "D": 3, "E": 4, "F": 1, "Q": 4, "q": 4, "a": 1,
    "H": 2, "h": 2, "K": 2, "k": 2, "m": 2, "s": 2, "S": 9, "V": 2, "z": 3, "O": 4, "X": 5,
    "x": 5, "Z": 5,
}  # fmt: skip
_WRITTEN_ONLY = "EFQq"


@dataclass(frozen=True, slots=True)
class Letters:
    """A letter and how often it stands there, such as yyyy."""

    letter: str
    count: int


@dataclass(frozen=True, slots=True)
class Maybe:
    """A part in brackets: written always, read where it is there."""

    pieces: tuple[Piece, ...]


Piece = str | Letters | Maybe


@lru_cache(maxsize=256)
def pieces_of(pattern: str, reading: bool) -> tuple[Piece, ...]:
    """The pieces of a pattern; raises `Failure` if it is not a pattern."""
    levels: list[list[Piece]] = [[]]
    position = 0
    while position < len(pattern):
        character = pattern[position]
        end = position + 1
        if character.isascii() and character.isalpha():
            while pattern[end : end + 1] == character:
                end += 1
            levels[-1].append(_letters(character, end - position, pattern, reading))
        elif character == "'":
            text, end = _quoted(pattern, position)
            levels[-1].append(text)
        elif character == "[":
            levels.append([])
        elif character == "]" and len(levels) > 1:
            levels[-2].append(Maybe(tuple(levels.pop())))
        elif character in "]#{}":
            raise Failure(f"{character} stands alone in the datetime pattern {pattern!r}")
        else:
            levels[-1].append(character)
        position = end
    while len(levels) > 1:
        levels[-2].append(Maybe(tuple(levels.pop())))
    return tuple(levels[0])


def _letters(letter: str, count: int, pattern: str, reading: bool) -> Letters:
    if letter not in _LONGEST or (reading and letter in _WRITTEN_ONLY):
        where = " when reading" if letter in _WRITTEN_ONLY else ""
        raise Failure(f"{letter} is not supported{where} in the datetime pattern {pattern!r}")
    if count > _LONGEST[letter] or (letter, count) in (("V", 1), ("O", 2), ("O", 3)):
        raise Failure(f"{letter * count} is not supported in the datetime pattern {pattern!r}")
    return Letters(letter, count)


def _quoted(pattern: str, position: int) -> tuple[str, int]:
    """The text between quotes, and where the pattern goes on; '' is a quote."""
    if pattern.startswith("''", position):
        return "'", position + 2
    text, position = "", position + 1
    while position < len(pattern):
        if pattern.startswith("''", position):
            text, position = text + "'", position + 2
        elif pattern[position] == "'":
            return text, position + 1
        else:
            text, position = text + pattern[position], position + 1
    raise Failure(f"a quote is never closed in the datetime pattern {pattern!r}")


# Writing


@dataclass(frozen=True, slots=True)
class _Moment:
    """An instant on the wall clock of a zone."""

    days: int
    micros: int
    offset_seconds: int
    instant: int
    zone: str
    date: tuple[int, int, int] = field(default=(1970, 1, 1))

    @property
    def hour(self) -> int:
        return self.micros // (3600 * MICROS_PER_SECOND)


def write_timestamp(instant: int, pattern: str, zone: str) -> str:
    local = to_local(instant, zone)
    days, micros = divmod(local, MICROS_PER_DAY)
    offset = (local - instant) // MICROS_PER_SECOND
    moment = _Moment(days, micros, offset, instant, zone, civil_from_days(days))
    return _written(pieces_of(pattern, reading=False), moment)


def _written(pieces: tuple[Piece, ...], moment: _Moment) -> str:
    parts = []
    for piece in pieces:
        if isinstance(piece, Letters):
            parts.append(_WRITERS[piece.letter](moment, piece.count))
        else:
            parts.append(piece if isinstance(piece, str) else _written(piece.pieces, moment))
    return "".join(parts)


def _write_year(moment: _Moment, count: int) -> str:
    year = moment.date[0]
    of_era = year if year > 0 else 1 - year
    if count == 2:
        return f"{of_era % 100:02d}"
    sign = "+" if count >= 4 and of_era >= 10**count else ""
    return f"{sign}{of_era:0{count}d}"


def _named(names: tuple[str, ...], index: int, count: int) -> str:
    return names[index] if count == 4 else names[index][:3]


def _write_month(moment: _Moment, count: int) -> str:
    month = moment.date[1]
    return f"{month:0{count}d}" if count <= 2 else _named(MONTHS, month - 1, count)


def _write_quarter(moment: _Moment, count: int) -> str:
    quarter = (moment.date[1] + 2) // 3
    if count <= 2:
        return f"{quarter:0{count}d}"
    return f"Q{quarter}" if count == 3 else _QUARTERS[quarter - 1]


def _write_era(moment: _Moment, count: int) -> str:
    present = moment.date[0] > 0
    return _ERAS[present] if count == 4 else ("BC", "AD")[present]


def _number(value: Callable[[_Moment], int]) -> Callable[[_Moment, int], str]:
    return lambda moment, count: f"{value(moment):0{count}d}"


def offset_text(seconds: int, count: int, zero: str | None) -> str:
    """An offset from UTC as X to XXXXX write it."""
    if seconds == 0 and zero is not None:
        return zero
    sign, size = "-" if seconds < 0 else "+", abs(seconds)
    hours, minutes, rest = size // 3600, size // 60 % 60, size % 60
    colon = ":" if count in (3, 5) else ""
    text = f"{sign}{hours:02d}"
    if count > 1 or minutes:
        text += f"{colon}{minutes:02d}"
    return text + (f"{colon}{rest:02d}" if count >= 4 and rest else "")


def _write_z(moment: _Moment, count: int) -> str:
    if count == 4:
        return _write_gmt(moment, 4)
    return offset_text(moment.offset_seconds, 5 if count == 5 else 2, "Z" if count == 5 else None)


def _write_gmt(moment: _Moment, count: int) -> str:
    if moment.offset_seconds == 0:
        return "GMT"
    text = offset_text(moment.offset_seconds, 5, None)
    if count == 1:
        sign, hours, rest = text[0], int(text[1:3]), text[3:].removesuffix(":00")
        text = f"{sign}{hours}{rest}"
    return f"GMT{text}"


_WRITERS: dict[str, Callable[[_Moment, int], str]] = {
    "G": _write_era,
    "y": _write_year,
    "M": _write_month,
    "L": _write_month,
    "d": _number(lambda m: m.date[2]),
    "D": _number(lambda m: day_of_year(m.days)),
    "E": lambda m, count: _named(WEEKDAYS, weekday(m.days), count),
    "F": _number(lambda m: (m.date[2] - 1) % 7 + 1),
    "Q": _write_quarter,
    "q": _write_quarter,
    "a": lambda m, _: _HALVES[m.hour >= 12],
    "H": _number(lambda m: m.hour),
    "h": _number(lambda m: m.hour % 12 or 12),
    "K": _number(lambda m: m.hour % 12),
    "k": _number(lambda m: m.hour or 24),
    "m": _number(lambda m: m.micros // (60 * MICROS_PER_SECOND) % 60),
    "s": _number(lambda m: m.micros // MICROS_PER_SECOND % 60),
    "S": lambda m, count: f"{m.micros % MICROS_PER_SECOND:06d}000"[:count],
    "V": lambda m, _: m.zone,
    "z": lambda m, _: zone_abbreviation(m.instant, m.zone),
    "O": _write_gmt,
    "X": lambda m, count: offset_text(m.offset_seconds, count, "Z"),
    "x": lambda m, count: offset_text(m.offset_seconds, count, None),
    "Z": _write_z,
}


# Reading

_ZONE_NAME = r"[A-Za-z][A-Za-z0-9~/._+:-]*|[+-][0-9:]+"
_OFFSETS = {
    1: r"[+-]\d\d(?:\d\d)?",
    2: r"[+-]\d{4}",
    3: r"[+-]\d\d:\d\d",
    4: r"[+-]\d{4}(?:\d\d)?",
    5: r"[+-]\d\d:\d\d(?::\d\d)?",
}


def _readable(piece: Letters) -> str:
    """The regular expression of what some letters read."""
    letter, count = piece.letter, piece.count
    match letter:
        case "y":
            if count == 2:
                return r"\d\d"
            if count < 4:
                return rf"-?\d{{{count},19}}"
            return rf"-?\d{{{count}}}|\+\d{{{count + 1},19}}"
        case "M" | "L" if count > 2:
            return "|".join(name if count == 4 else name[:3] for name in MONTHS)
        case "D":
            return (r"\d{1,19}", r"\d{2,3}", r"\d{3}")[count - 1]
        case "S":
            return rf"\d{{1,{count}}}"
        case "a":
            return "|".join(_HALVES)
        case "G":
            return "|".join(_ERAS if count == 4 else ("BC", "AD"))
        case "V" | "z":
            return _ZONE_NAME
        case "O":
            return r"GMT(?:[+-]\d\d?(?::\d\d)?)?" if count == 1 else r"GMT(?:[+-]\d\d:\d\d)?"
        case "X" | "x":
            return _OFFSETS[count] + ("|Z" if letter == "X" else "")
        case "Z":
            if count == 4:
                return r"GMT(?:[+-]\d\d:\d\d)?"
            return f"{_OFFSETS[5]}|Z" if count == 5 else _OFFSETS[2]
    return r"\d{1,19}" if count == 1 else r"\d\d"


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[Any, tuple[Letters, ...]]:
    found: list[Letters] = []

    def expression(pieces: tuple[Piece, ...]) -> str:
        parts = []
        for piece in pieces:
            if isinstance(piece, Letters):
                found.append(piece)
                parts.append(f"({_readable(piece)})")
            elif isinstance(piece, Maybe):
                parts.append(f"(?:{expression(piece.pieces)})?")
            else:
                parts.append(literal_regex(piece))
        return "".join(parts)

    program = regex_program("(?i)" + expression(pieces_of(pattern, reading=True)))
    return program, tuple(found)


def read_timestamp(text: str, pattern: str, zone: str) -> int:
    """The instant that a text means; without a zone in it, on the wall clock of `zone`."""
    program, letters = _reader(pattern)
    match = program.fullmatch(text)
    if match is None:
        raise Failure(f"{text!r} is not a time written as {pattern!r}")
    values: dict[str, Any] = {}
    for piece, part in zip(letters, match.groups(), strict=True):
        if part is not None:
            name, value = _meaning(piece, part)
            if values.setdefault(name, value) != value:
                raise Failure(f"{text!r} gives two values for one part of {pattern!r}")
    local = _day(values) * MICROS_PER_DAY + _time_of_day(values)
    return from_local(local, values.get("zone", zone))


# The part of a time that a letter reads, its least and its greatest value.
_PARTS = {
    "M": ("month", 1, 12),
    "L": ("month", 1, 12),
    "d": ("day", 1, 31),
    "D": ("day of year", 1, 366),
    "H": ("hour", 0, 23),
    "k": ("hour", 1, 24),
    "K": ("hour of half", 0, 11),
    "h": ("hour of half", 1, 12),
    "m": ("minute", 0, 59),
    "s": ("second", 0, 59),
}


def _meaning(piece: Letters, part: str) -> tuple[str, Any]:
    letter = piece.letter
    if letter == "y":
        return "year", int(part) + (2000 if piece.count == 2 else 0)
    if letter == "G":
        return "era", part[0].upper() == "A"
    if letter == "a":
        return "afternoon", part.upper() == "PM"
    if letter == "S":
        return "fraction", int(part.ljust(9, "0")[:6])
    if letter in "ML" and piece.count > 2:
        wanted = part[:3].title()
        return "month", next(i for i, name in enumerate(MONTHS, 1) if name.startswith(wanted))
    if letter in "VzOXxZ":
        return "zone", part.upper() if letter in "OXxZ" else part
    name, least, greatest = _PARTS[letter]
    value = int(part)
    if not least <= value <= greatest:
        raise Failure(f"{value} is not a {name}")
    # The clocks that start at 1 call midnight and noon 24 and 12.
    return name, 0 if letter in "kh" and value == greatest else value


def _day(values: dict[str, Any]) -> int:
    year = values.get("year", 1970)
    if values.get("era") is False:
        year = 1 - year
    ordinal = values.get("day of year")
    if ordinal is None:
        return checked_date(year, values.get("month", 1), values.get("day", 1))
    if ordinal > 365 + is_leap(year):
        raise Failure(f"{year} has no day {ordinal}")
    days = days_from_civil(year, 1, 1) + int(ordinal) - 1
    _, month, day = civil_from_days(days)
    if (values.get("month", month), values.get("day", day)) != (month, day):
        raise Failure("the day of the year is not the day of the month")
    return days


def _time_of_day(values: dict[str, Any]) -> int:
    afternoon = values.get("afternoon")
    hour = values.get("hour")
    if hour is None:
        hour = values.get("hour of half", 0) + (12 if afternoon else 0)
    elif afternoon is not None and (hour >= 12) != afternoon:
        raise Failure("the hour is not in that half of the day")
    minutes = hour * 60 + values.get("minute", 0)
    seconds = minutes * 60 + values.get("second", 0)
    return int(seconds * MICROS_PER_SECOND + values.get("fraction", 0))
