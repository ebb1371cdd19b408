"""CAST: every conversion between two types, one small function each.

As in Spark with ANSI mode on, a value that does not fit fails; it is never cut
or wrapped. Text is trimmed first.
"""

from __future__ import annotations

import ctypes
import decimal as dec
import math
import re
from collections.abc import Callable
from typing import Any

from thalweg.functions.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    checked_date,
    civil_from_days,
    from_local,
    split_local,
)
from thalweg.functions.registry import Failure
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    MAX_PRECISION,
    NULL,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    is_integral,
    is_numeric,
)

Convert = Callable[[Any], Any]

# Wide enough for any product or quotient of two 38-digit decimals.
WIDE = dec.Context(prec=120, rounding=dec.ROUND_HALF_UP, Emin=-999_999, Emax=999_999)

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_TRUE = {"t", "true", "y", "yes", "1"}
_FALSE = {"f", "false", "n", "no", "0"}
_INTEGER = re.compile(r"[+-]?\d+\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z", re.ASCII)
_FLOAT_SUFFIX = re.compile(r"[dDfF]\Z")
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\Z", re.ASCII | re.S)
_ZONE = r"[A-Za-z][A-Za-z0-9/_+:-]*|[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?"
_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2}))?)?"
    rf"(?:[ T](\d{{1,2}})(?::(\d{{1,2}})(?::(\d{{1,2}})(?:\.(\d{{0,9}}))?\s*({_ZONE})?)?)?)?\Z",
    re.ASCII,
)

# What is trimmed off a text: ASCII blanks and control characters.
_BLANKS = "".join(map(chr, range(0x21)))
_BLANKS_AND_DELETE = _BLANKS + "\x7f"


def caster(source: Type, target: Type, zone: str, quiet: bool = False) -> Convert:
    """The conversion of non-NULL values from `source` to `target`.

    A `quiet` one gives NULL where another fails, inside arrays and structs too.
    """
    if source in (target, NULL):
        return _same
    match source, target:
        case ArrayType(element=a), ArrayType(element=b):
            return _each(caster(a, b, zone, quiet))
        case StructType(fields=a_fields), StructType(fields=b_fields):
            pairs = zip(a_fields, b_fields, strict=True)
            return _fields([caster(a.type, b.type, zone, quiet) for a, b in pairs])
    convert = _atomic_caster(source, target, zone)
    return _or_null(convert) if quiet else convert


def _or_null(convert: Convert) -> Convert:
    def attempt(value: Any) -> Any:
        try:
            return convert(value)
        except Failure:
            return None

    return attempt


def _atomic_caster(source: Type, target: Type, zone: str) -> Convert:
    if target == STRING:
        return lambda value: to_text(value, source, zone)
    if is_integral(target):
        return _to_integer(source, INTEGER_BITS[target])
    if target == DOUBLE:
        return _to_double(source)
    if target == FLOAT:
        double = _to_double(source)
        return lambda value: to_float32(double(value))
    if isinstance(target, DecimalType):
        return _to_decimal(source, target)
    if target == BOOLEAN:
        return _parse_boolean if source == STRING else bool
    if target == DATE:
        if source == TIMESTAMP:
            return lambda micros: split_local(micros, zone)[0]
        return parse_date
    if target == TIMESTAMP:
        return _to_timestamp(source, zone)
    if target == BINARY:
        return _utf8
    if target in (DAYS, DAY_TIME):
        return _same if target == DAY_TIME else _whole_days
    raise AssertionError(f"no conversion from {source} to {target}")


def _same(value: Any) -> Any:
    return value


def _utf8(text: str) -> bytes:
    return text.encode()


def _whole_days(micros: int) -> int:
    days = abs(micros) // MICROS_PER_DAY * MICROS_PER_DAY
    return days if micros >= 0 else -days


def _each(convert: Convert) -> Convert:
    return lambda values: tuple(None if v is None else convert(v) for v in values)


def _fields(converts: list[Convert]) -> Convert:
    return lambda values: tuple(
        None if v is None else convert(v) for v, convert in zip(values, converts, strict=True)
    )


def fit_integer(value: int, bits: int) -> int:
    if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
        raise Failure(f"{value} does not fit into {bits} bits")
    return value


def to_float32(value: float) -> float:
    return ctypes.c_float(value).value


def fit_decimal(value: dec.Decimal, target: DecimalType) -> dec.Decimal:
    """Round half up to the scale of the type; fail if the digits do not fit."""
    if not value.is_finite():
        raise Failure(f"{value} is not a number that {target} can hold")
    if value and value.adjusted() > MAX_PRECISION:  # too wide to be rounded at all
        raise Failure(f"{value} does not fit into {target}")
    rounded = value.quantize(dec.Decimal(1).scaleb(-target.scale), context=WIDE)
    if rounded and rounded.adjusted() + 1 > target.precision - target.scale:
        raise Failure(f"{value} does not fit into {target}")
    return rounded if rounded else rounded.copy_abs()


def _to_integer(source: Type, bits: int) -> Convert:
    if source == STRING:

        def parse(text: str) -> int:
            trimmed = text.strip(_BLANKS_AND_DELETE)
            if not _INTEGER.match(trimmed):
                raise Failure(f"{text!r} is not an integer")
            return fit_integer(int(trimmed[:40]), bits)

        return parse
    if source == TIMESTAMP:
        return lambda micros: fit_integer(micros // MICROS_PER_SECOND, bits)

    def truncate(value: Any) -> int:
        try:
            return fit_integer(int(value), bits)
        except (ValueError, OverflowError):  # NaN, Infinity
            raise Failure(f"{value} is not an integer") from None

    return truncate


def _to_double(source: Type) -> Convert:
    if source == STRING:
        return parse_double
    if source == TIMESTAMP:
        return lambda micros: micros / MICROS_PER_SECOND
    return float


_INFINITIES = ("inf", "infinity")
_NAMED_DOUBLES = {
    "nan": float("nan"),
    **{f"{sign}{word}": float("inf") for sign in ("", "+") for word in _INFINITIES},
    **{f"-{word}": float("-inf") for word in _INFINITIES},
}


def parse_double(text: str) -> float:
    trimmed = text.strip(_BLANKS)
    named = trimmed.lower()
    if named in _NAMED_DOUBLES:
        return _NAMED_DOUBLES[named]
    digits = _FLOAT_SUFFIX.sub("", trimmed)
    if not _NUMBER.match(digits):
        raise Failure(f"{text!r} is not a number")
    return float(digits)


def _to_decimal(source: Type, target: DecimalType) -> Convert:
    if source == STRING:

        def parse(text: str) -> dec.Decimal:
            trimmed = text.strip(_BLANKS)
            if not _NUMBER.match(trimmed) or len(trimmed) > 4 * MAX_PRECISION:
                raise Failure(f"{text!r} is not a number")
            number = dec.Decimal(trimmed)
            if abs(number.adjusted()) > 3 * MAX_PRECISION and number:
                if number.adjusted() > 0:
                    raise Failure(f"{text!r} does not fit into {target}")
                number = dec.Decimal(0)
            return fit_decimal(number, target)

        return parse
    if source in (FLOAT, DOUBLE):
        # Through the shortest text that reads back as the same number, as Spark does.
        return lambda value: (
            fit_decimal(dec.Decimal(repr(value)), target) if math.isfinite(value) else None
        )
    if source == TIMESTAMP:
        return lambda micros: fit_decimal(dec.Decimal(micros).scaleb(-6, WIDE), target)
    return lambda value: fit_decimal(dec.Decimal(value), target)


def _parse_boolean(text: str) -> bool:
    word = text.strip(_BLANKS_AND_DELETE).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise Failure(f"{text!r} is not a boolean")


def parse_date(text: str) -> int:
    found = _DATE.match(text.strip(_BLANKS_AND_DELETE))
    if not found:
        raise Failure(f"{text!r} is not a date")
    year, month, day = found.groups()
    return fit_integer(checked_date(int(year), int(month or 1), int(day or 1)), 32)


def _to_timestamp(source: Type, zone: str) -> Convert:
    if source == STRING:
        return lambda text: parse_timestamp(text, zone)
    if source == DATE:
        return lambda days: fit_integer(from_local(days * MICROS_PER_DAY, zone), 64)

    def seconds(value: Any) -> int:
        try:
            if isinstance(value, dec.Decimal):
                micros = int(value.scaleb(6, WIDE))
            else:
                micros = int(value * MICROS_PER_SECOND)
        except (ValueError, OverflowError):
            raise Failure(f"{value} is not a time") from None
        if not _LONG_MIN <= micros <= _LONG_MAX:
            raise Failure(f"{value} seconds are beyond the range of TIMESTAMP")
        return micros

    return seconds


def parse_timestamp(text: str, zone: str) -> int:
    """An instant from text; a text without a zone is on the wall clock of `zone`."""
    found = _TIMESTAMP.match(text.strip(_BLANKS_AND_DELETE))
    if not found:
        raise Failure(f"{text!r} is not a timestamp")
    year, month, day, hour, minute, second, fraction, named = found.groups()
    days = checked_date(int(year), int(month or 1), int(day or 1))
    h, m, s = int(hour or 0), int(minute or 0), int(second or 0)
    if h > 23 or m > 59 or s > 59:
        raise Failure(f"{text!r} is not a timestamp")
    micros = int(((fraction or "") + "000000")[:6])
    local = days * MICROS_PER_DAY + ((h * 60 + m) * 60 + s) * MICROS_PER_SECOND + micros
    return fit_integer(from_local(local, named or zone), 64)


def to_text(value: Any, type_: Type, zone: str) -> str:
    """CAST(value AS STRING) of a value that is not NULL."""
    match type_:
        case ArrayType(element=element):
            return "[" + ", ".join(_nested_text(v, element, zone) for v in value) + "]"
        case StructType(fields=fields):
            parts = (_nested_text(v, f.type, zone) for v, f in zip(value, fields, strict=True))
            return "{" + ", ".join(parts) + "}"
        case DecimalType():
            return f"{value:f}"
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ in (FLOAT, DOUBLE):
        return double_text(value, single=type_ == FLOAT)
    if type_ == BINARY:
        return str(value.decode("utf-8", "replace"))
    if type_ == DATE:
        return date_text(value)
    if type_ == TIMESTAMP:
        return timestamp_text(value, zone)
    if type_ in (DAYS, DAY_TIME, YEAR_MONTH):
        return interval_text(value, type_)
    assert type_ in (STRING, NULL) or is_numeric(type_), type_
    return str(value)


def _nested_text(value: Any, type_: Type, zone: str) -> str:
    return "null" if value is None else to_text(value, type_, zone)


def double_text(value: float, *, single: bool = False) -> str:
    """As Java prints it: 1.0, 1.0E10, 1.0E-5, NaN, Infinity."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if str(value).startswith("-") else "0.0"
    sign, digits, exponent = dec.Decimal(_shortest(value, single)).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent  # digits before the decimal point
    if -3 < point <= 7:
        if point <= 0:
            text = "0." + "0" * -point + text
        elif point >= len(text):
            text = text + "0" * (point - len(text)) + ".0"
        else:
            text = text[:point] + "." + text[point:]
    else:
        text = f"{text[0]}.{text[1:] or '0'}E{point - 1}"
    return ("-" if sign else "") + text


def _shortest(value: float, single: bool) -> str:
    """The shortest digits that read back as the value, but two at least, as in Java."""
    if not single:
        text = repr(value)
        return text if sum(c.isdigit() for c in text.split("e")[0]) > 1 else f"{value:.1e}"
    for precision in range(2, 10):
        text = f"{value:.{precision}g}"
        if to_float32(float(text)) == value:
            return text
    return repr(value)


def _year_text(year: int) -> str:
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def date_text(days: int) -> str:
    year, month, day = civil_from_days(days)
    return f"{_year_text(year)}-{month:02d}-{day:02d}"


def timestamp_text(micros: int, zone: str) -> str:
    days, rest = split_local(micros, zone)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        text += f".{fraction:06d}".rstrip("0")
    return f"{date_text(days)} {text}"


def interval_text(value: int, type_: Type) -> str:
    sign, size = ("-" if value < 0 else ""), abs(value)
    if type_ == YEAR_MONTH:
        return f"INTERVAL '{sign}{size // 12}-{size % 12}' YEAR TO MONTH"
    days, rest = divmod(size, MICROS_PER_DAY)
    if type_ == DAYS:
        return f"INTERVAL '{sign}{days}' DAY"
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if fraction:
        clock += f".{fraction:06d}".rstrip("0")
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"
