"""No call ends in anything but a value of its type or a `Failure`."""

from __future__ import annotations

import decimal as dec
import random
from typing import Any

import pytest

from thalweg.catalog import Catalog
from thalweg.errors import QueryError
from thalweg.evaluate import Compiler, Failures, Surroundings
from thalweg.functions import SCALARS
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.expressions import Column, Expression, Literal
from thalweg.plan.scope import Scope
from thalweg.settings import Settings
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_MONTH,
    ArrayType,
    DecimalType,
    Field,
    StructType,
    Type,
    array,
    decimal,
    struct,
)

TYPES = (
    BOOLEAN, TINYINT, INT, BIGINT, FLOAT, DOUBLE, decimal(10, 2), decimal(38, 10), STRING, BINARY,
    DATE, TIMESTAMP, DAYS, DAY_TIME, YEAR_MONTH, array(INT), array(STRING), array(array(INT)),
    struct(Field("a", INT), Field("b", STRING)), NULL,
)  # fmt: skip
DAY = 86_400_000_000
NUMBERS = (0, 1, -1, 2, 7, 10, -10, 60, 127, 256, 1990, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
TEXTS = (
    "", "a", "abc", "é👍", "  x ", "123", "-4.5", "1e999999999", "NaN", "2020-02-29",
    "9999999-01-01", "+999999-12-31 23:59:59", "2020-02-29 10:11:12", "yyyy-MM-dd", "a INT",
    "%", "%s", "%5$s", "%100000000d", "[a", "(a)(b)", "a*", "\\", "$1", "$.a", "$.a[*]",
    '{"a":[1,{"b":"x"}]}', "[1", "UTC", "Europe/Paris", "+25:00", "nope", "week", "SECOND",
    "utf-16", "http://a/b?x=1", "%zz", "\0", "\u2028", "ß", "x" * 300, "1" * 50, "'", "====", "_%",
)  # fmt: skip
DOUBLES = (0.0, -0.0, 1.5, -2.5, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 1e10)
VALUES: dict[Type, tuple[Any, ...]] = {
    BOOLEAN: (True, False),
    FLOAT: DOUBLES,
    DOUBLE: DOUBLES,
    STRING: TEXTS,
    BINARY: (b"", b"a", b"\xff\xfe", bytes(range(256))),
    DATE: (0, -1, 18_000, -719_162, 2_932_896, 2**31 - 1, -(2**31)),
    TIMESTAMP: (0, -1, 10**15, -(10**15), 1_585_443_600_000_000, 2**63 - 1, -(2**63)),
    DAYS: (0, DAY, -5 * DAY),
    DAY_TIME: (0, 1, DAY, -DAY, 2**63 - 1, -(2**63)),
    YEAR_MONTH: (0, 1, -12, 2**31 - 1, -(2**31)),
    NULL: (None,),
}


def some_value(rng: random.Random, type_: Type) -> Any:
    if rng.random() < 0.1:
        return None
    match type_:
        case ArrayType(element=element):
            return tuple(some_value(rng, element) for _ in range(rng.randrange(4)))
        case StructType(fields=fields):
            return tuple(some_value(rng, field.type) for field in fields)
        case DecimalType(precision=precision, scale=scale):
            largest = 10**precision - 1
            digits = rng.choice((0, 1, largest, -largest, rng.randint(-largest, largest)))
            return dec.Decimal(digits).scaleb(-scale, dec.Context(prec=precision))
    if type_ in INTEGER_BITS:
        half = 1 << (INTEGER_BITS[type_] - 1)
        return max(-half, min(half - 1, rng.choice(NUMBERS)))
    return rng.choice(VALUES[type_])


def belongs(value: Any, type_: Type) -> bool:
    if value is None:
        return True
    match type_:
        case ArrayType(element=element):
            return isinstance(value, tuple) and all(belongs(part, element) for part in value)
        case StructType(fields=fields):
            pairs = zip(value, fields, strict=True)
            return isinstance(value, tuple) and all(belongs(part, f.type) for part, f in pairs)
        case DecimalType(precision=precision, scale=scale):
            return isinstance(value, dec.Decimal) and value.adjusted() < precision - scale
    if type_ in (BOOLEAN, STRING, BINARY, FLOAT, DOUBLE):
        return type(value) is {BOOLEAN: bool, STRING: str, BINARY: bytes}.get(type_, float)
    bits = INTEGER_BITS.get(type_, 32 if type_ in (DATE, YEAR_MONTH) else 64)
    return type(value) is int and -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def some_arguments(rng: random.Random) -> list[Expression]:
    arguments: list[Expression] = []
    for i in range(rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 6))):
        type_ = rng.choice((*TYPES, *(STRING, INT) * 5))
        if rng.random() < 0.4:
            arguments.append(Literal(value=some_value(rng, type_), type=type_))
        else:
            arguments.append(Column(index=i, name=f"c{i}", type=type_))
    return arguments


NAMES = [name for name in SCALARS if not name.startswith("interval ")]


@pytest.mark.parametrize("name", NAMES)
def test_every_call_gives_a_value_or_fails(name: str) -> None:
    rng = random.Random(name)
    for _ in range(250):
        arguments = some_arguments(rng)
        settings = Settings(timezone=rng.choice(("UTC", "Europe/Paris", "+05:30")))
        binder = ExpressionBinder(Scope(), Catalog(), settings, nothing)
        try:
            call = binder.call(name, arguments)
        except QueryError:
            continue
        evaluate = Compiler(nothing)(call)
        for _ in range(3):
            row = tuple(some_value(rng, argument.type) for argument in arguments)
            value = evaluate(row, Surroundings(None, nothing, Failures()))
            assert belongs(value, call.type), (call, row, value)


def nothing(*_: object) -> Any:
    raise AssertionError("there are no subqueries and no Python functions here")
