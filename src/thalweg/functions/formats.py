"""Numbers and texts laid out for people: format_number, format_string, printf.

Both follow Java's rules, which differ from C's and Python's in small ways: `%f`
rounds half up on the digits as printed, and `%x` shows the bits of the type.
"""

from __future__ import annotations

import decimal as dec
import math
import re
from collections.abc import Sequence
from typing import Any

from thalweg.functions.cast import double_text
from thalweg.functions.registry import (
    Compute,
    Failure,
    Kind,
    Nulls,
    Signature,
    scalar,
    scalar_by_type,
    takes,
    wrong_count,
    wrong_type,
)
from thalweg.functions.strings import refuse_longer
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    Type,
    is_atomic,
)

# Enough for the largest double and for every fraction.
_EXACT = dec.Context(prec=2_000)
_MOST_FRACTION_DIGITS = 340
_PATTERN = re.compile(r"([#,]*[0,]*)(?:\.(0*)(#*))?")


def _resolve_format_number(name: str, arguments: Sequence[Expression]) -> Signature:
    if arguments and arguments[0].type == STRING:
        raise wrong_type(name, 0, Kind.NUMERIC.value, arguments[0])
    return takes(Kind.NUMERIC, (INT, STRING), gives=STRING)(name, arguments)


@scalar("format_number", resolve=_resolve_format_number)
def _format_number(value: Any, layout: int | str) -> str | None:
    """With separators for thousands; the second argument is digits, or a pattern as #,##0.00."""
    if isinstance(layout, str):
        least, group, fixed, free = _parsed_pattern(layout)
    elif layout < 0:
        return None
    else:
        least, group, fixed, free = 1, 3, min(layout, _MOST_FRACTION_DIGITS), 0
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "∞" if value > 0 else "-∞"
    negative = math.copysign(1, value) < 0 if isinstance(value, float) else value < 0
    digits = dec.Decimal(value).quantize(
        dec.Decimal(1).scaleb(-fixed - free), dec.ROUND_HALF_EVEN, _EXACT
    )
    whole, _, fraction = f"{digits.copy_abs():f}".partition(".")
    kept = fraction[:fixed] + fraction[fixed:].rstrip("0")
    whole = whole.lstrip("0").rjust(least, "0")
    if not whole and not kept:
        whole = "0"
    if group:
        whole = _grouped(whole, group)
    return ("-" if negative else "") + whole + (f".{kept}" if kept else "")


def _parsed_pattern(pattern: str) -> tuple[int, int, int, int]:
    """(least integral digits, group size, fixed and free fraction digits)."""
    if not pattern:
        return 1, 3, 0, 0
    found = _PATTERN.fullmatch(pattern)
    if not found:
        raise Failure(f"{pattern!r} is not a pattern of # , 0 and .")
    integral, fixed, free = found.groups(default="")
    group = len(integral) - integral.rindex(",") - 1 if "," in integral else 0
    return integral.count("0"), group, len(fixed), len(free)


def _grouped(digits: str, size: int) -> str:
    first = len(digits) % size
    groups = [digits[i : i + size] for i in range(first, len(digits), size)]
    return ",".join([digits[:first], *groups] if first else groups)


# printf

_SPECIFIER = re.compile(
    r"%(?:(?P<index>\d{1,10})\$|(?P<again><))?(?P<flags>[-#+ 0,(]*)(?P<width>[1-9]\d{0,9})?"
    r"(?:\.(?P<precision>\d{1,10}))?(?P<conversion>[a-zA-Z%])"
)
_CONVERSIONS = "bBcCdeEfnosSxX%"


def _resolve_format_string(name: str, arguments: Sequence[Expression]) -> Signature:
    if not arguments:
        raise wrong_count(name, 1, None, 0)
    signature = takes(STRING, Kind.ANY, gives=STRING, optional=1, repeats=True)(name, arguments)
    for i, type_ in enumerate(signature.arguments):
        if type_ == BINARY or not (is_atomic(type_) or type_.name == "VOID"):
            raise wrong_type(name, i, "a number, a text, a boolean or a time", arguments[i])
    return signature


@scalar_by_type("format_string", "printf", resolve=_resolve_format_string, nulls=Nulls.SEEN)
def _format_string(signature: Signature) -> Compute:
    types = signature.arguments[1:]

    def compute(layout: str | None, *values: Any) -> str | None:
        return None if layout is None else _Printf(layout, values, types).text()

    return compute


class _Printf:
    """One call: the next argument is state that the specifiers share."""

    def __init__(self, layout: str, values: tuple[Any, ...], types: tuple[Type, ...]) -> None:
        self.layout = layout
        self.values = values
        self.types = types
        self.ordinary = 0
        self.last = -1

    def text(self) -> str:
        done, parts = 0, []
        for found in _SPECIFIER.finditer(self.layout):
            parts += [self._plain(done, found.start()), self._formatted(found)]
            done = found.end()
        return "".join([*parts, self._plain(done, len(self.layout))])

    def _plain(self, start: int, end: int) -> str:
        piece = self.layout[start:end]
        if "%" in piece:
            raise Failure(f"{piece[piece.index('%') :][:10]!r} is not a format specifier")
        return piece

    def _formatted(self, found: re.Match[str]) -> str:
        conversion, flags = found["conversion"], found["flags"]
        if conversion not in _CONVERSIONS:
            raise Failure(f"%{conversion} is not supported")
        width = int(found["width"] or 0)
        refuse_longer(width)
        if conversion == "n":
            return "\n"
        if conversion == "%":
            text = "%"
        else:
            value, type_ = self._argument(found)
            precision = int(found["precision"]) if found["precision"] else None
            text = _converted(value, type_, conversion.lower(), flags, precision)
            if "0" in flags and len(text) < width and conversion in "dxXoef":
                sign = text[:1] if text[:1] in ("-", "+", " ", "(") and text else ""
                text = sign + text[len(sign) :].rjust(width - len(sign), "0")
            text = text.upper() if conversion.isupper() else text
        return text.ljust(width) if "-" in flags else text.rjust(width)

    def _argument(self, found: re.Match[str]) -> tuple[Any, Type]:
        if found["index"]:
            self.last = int(found["index"]) - 1
        elif not found["again"]:
            self.last = self.ordinary
            self.ordinary += 1
        if not 0 <= self.last < len(self.values):
            raise Failure(f"there is no argument for {found[0]}")
        return self.values[self.last], self.types[self.last]


def _converted(value: Any, type_: Type, conversion: str, flags: str, precision: int | None) -> str:
    if conversion == "b":
        return _cut("true" if value is not None and value is not False else "false", precision)
    if value is None:
        return _cut("null", precision)
    if conversion == "s":
        return _cut(_shown(value, type_), precision)
    integral = isinstance(value, int) and type_ != BOOLEAN
    if conversion in "xo" and integral:
        bits = INTEGER_BITS.get(type_, 64 if type_ in (TIMESTAMP, DAYS, DAY_TIME) else 32)
        return format(value % (1 << bits), conversion)
    if conversion == "c" and integral:
        if not 0 <= value <= 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise Failure(f"{value} is not a code point")
        return chr(value)
    if conversion == "c" and isinstance(value, str) and len(value) == 1:
        return value
    if conversion == "d" and integral:
        return _signed(f"{abs(value):{',' if ',' in flags else ''}d}", value < 0, flags)
    if conversion in "ef" and type_ in (FLOAT, DOUBLE):
        return _fraction(value, conversion, flags, 6 if precision is None else precision)
    raise Failure(f"%{conversion} does not go with {type_}")


def _cut(text: str, precision: int | None) -> str:
    return text if precision is None else text[:precision]


def _shown(value: Any, type_: Type) -> str:
    if type_ == BOOLEAN:
        return "true" if value else "false"
    if type_ in (FLOAT, DOUBLE):
        return double_text(value, single=type_ == FLOAT)
    return str(value)


def _signed(digits: str, negative: bool, flags: str) -> str:
    if negative:
        return f"({digits})" if "(" in flags else f"-{digits}"
    return "+" + digits if "+" in flags else " " + digits if " " in flags else digits


def _fraction(value: float, conversion: str, flags: str, precision: int) -> str:
    negative = math.copysign(1, value) < 0
    if not math.isfinite(value):
        return "NaN" if value != value else _signed("Infinity", negative, flags)
    refuse_longer(precision)
    digits = dec.Decimal(repr(abs(value)))
    if conversion == "f":
        size = precision + abs(digits.adjusted()) + 2
        rounded = digits.quantize(
            dec.Decimal(1).scaleb(-precision), dec.ROUND_HALF_UP, dec.Context(prec=size)
        )
        return _signed(f"{rounded:{',' if ',' in flags else ''}f}", negative, flags)
    short = dec.Context(prec=precision + 1, rounding=dec.ROUND_HALF_UP).plus(digits)
    exponent = short.adjusted() if short else 0
    mantissa = short.scaleb(-exponent, _EXACT)
    return _signed(f"{mantissa:.{precision}f}e{exponent:+03d}", negative, flags)
