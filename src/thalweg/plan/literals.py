"""Constants as they are written: numbers and intervals."""

from __future__ import annotations

import decimal as dec
import math
from fractions import Fraction

from sqlglot import exp

from thalweg.errors import QueryError, shortened
from thalweg.plan.expressions import Literal
from thalweg.types import (
    BIGINT,
    DAY_TIME,
    DAYS,
    DOUBLE,
    INT,
    MAX_PRECISION,
    YEAR_MONTH,
    Type,
    decimal,
)
from thalweg.units import Unit, exact_number, nanoseconds

_INT_RANGE = range(-(2**31), 2**31)
_LONG_RANGE = range(-(2**63), 2**63)


def number(text: str) -> Literal:
    """INT, BIGINT or DECIMAL by size; DOUBLE with an exponent."""
    plain = text.lower().replace("_", "")
    if "e" in plain:
        value = float(plain)
        if math.isinf(value):
            raise QueryError(f"{shortened(text)} is beyond the range of DOUBLE")
        return Literal(value=value, type=DOUBLE)
    exact = dec.Decimal(plain)
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int), "a literal is finite"
    scale = max(0, -exponent)
    precision = max(len(digits), scale)
    if precision > MAX_PRECISION:
        raise QueryError(f"{shortened(text)} has more than {MAX_PRECISION} digits")
    if "." not in plain and int(exact) in _INT_RANGE:
        return Literal(value=int(exact), type=INT)
    if "." not in plain and int(exact) in _LONG_RANGE:
        return Literal(value=int(exact), type=BIGINT)
    return Literal(value=exact, type=decimal(precision, scale))


_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def interval_value(node: exp.Expr) -> tuple[int, Type]:
    unit = node.args.get("unit")
    text = node.this.name if isinstance(node.this, exp.Literal) else None
    if text is None or unit is None:
        raise QueryError(
            "an interval needs a constant and a unit", hint="write INTERVAL '10' SECOND"
        )
    if isinstance(unit, exp.IntervalSpan):
        return _interval_range(text, unit.this.name.upper(), unit.expression.name.upper())
    word = unit.name.upper()
    amount = exact_number(text.strip())
    if amount is None:
        raise QueryError(f"'{shortened(text)}' is not a number of {word.lower()}")
    singular = word.removesuffix("S")
    if singular in _MONTHS:
        months = amount * _MONTHS[singular]
        if months.denominator != 1:
            raise QueryError(f"{text} {word.lower()} is not a whole number of months")
        return _within(int(months), _INT_RANGE), YEAR_MONTH
    micros = nanoseconds(amount, word) / 1000
    return _within(int(micros), _LONG_RANGE), DAYS if singular in ("DAY", "WEEK") else DAY_TIME


def _within(value: int, allowed: range) -> int:
    if value not in allowed:
        raise QueryError("the interval is too long")
    return value


def _interval_range(text: str, first: str, last: str) -> tuple[int, Type]:
    """`'1-2' YEAR TO MONTH`, `'1 02:03:04.5' DAY TO SECOND` and the shorter forms."""
    sign = -1 if text.strip().startswith("-") else 1
    body = text.strip().lstrip("+-")
    wrong = QueryError(f"'{shortened(text)}' is not an interval of {first} TO {last}")

    def amount(part: str) -> Fraction:
        value = exact_number(part)
        if value is None:
            raise wrong
        return value

    if (first, last) == ("YEAR", "MONTH"):
        years, dash, months = body.partition("-")
        total = amount(years) * 12 + amount(months)
        if not dash or total.denominator != 1:
            raise wrong
        return _within(sign * int(total), _INT_RANGE), YEAR_MONTH
    units = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if first not in units or last not in units:
        raise wrong
    wanted = units[units.index(first) : units.index(last) + 1]
    parts = body.replace(" ", ":", 1).split(":") if first == "DAY" else body.split(":")
    if len(parts) != len(wanted):
        raise wrong
    nanos = sum(amount(part) * Unit[unit].value for part, unit in zip(parts, wanted, strict=True))
    return _within(sign * int(nanos / 1000), _LONG_RANGE), DAY_TIME
