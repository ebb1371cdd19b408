"""Values as Python people know them: for functions, feeds and results.

Inside, dates and timestamps are numbers (see `thalweg.types`); outside they are
`datetime.date` and `datetime.datetime` in UTC, arrays are lists and structs are
dictionaries.
"""

from __future__ import annotations

import datetime as dt
import decimal as dec
from typing import Any

from thalweg.functions.cast import fit_decimal, fit_integer, to_float32
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
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    is_integral,
)

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def to_python(value: Any, type_: Type) -> Any:
    """A value as Python's own types; beyond their range it stays a number."""
    if value is None:
        return None
    match type_:
        case ArrayType(element=element):
            return [to_python(v, element) for v in value]
        case StructType(fields=fields):
            return {f.name: to_python(v, f.type) for f, v in zip(fields, value, strict=True)}
    try:
        if type_ == DATE:
            return _EPOCH_DAY + dt.timedelta(days=value)
        if type_ == TIMESTAMP:
            return _EPOCH + dt.timedelta(microseconds=value)
        if type_ in (DAYS, DAY_TIME):
            return dt.timedelta(microseconds=value)
    except OverflowError:
        return value
    return value


def from_python(value: Any, type_: Type) -> Any:
    """The inner form of a Python value; raises `Failure` if it is not of the type."""
    if value is None:
        return None
    match type_:
        case ArrayType(element=element):
            if not isinstance(value, list | tuple):
                raise _wrong(value, type_)
            return tuple(from_python(v, element) for v in value)
        case StructType(fields=fields):
            return _struct(value, type_, fields)
        case DecimalType():
            if isinstance(value, bool) or not isinstance(value, int | dec.Decimal):
                raise _wrong(value, type_)
            return fit_decimal(dec.Decimal(value), type_)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if is_integral(type_) and isinstance(value, int) and not isinstance(value, bool):
        return fit_integer(int(value), INTEGER_BITS[type_])
    if type_ in (FLOAT, DOUBLE) and isinstance(value, int | float) and not isinstance(value, bool):
        return to_float32(float(value)) if type_ == FLOAT else float(value)
    if type_ == STRING and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Failure("the text has half a surrogate pair") from None
        return value
    if type_ == BINARY and isinstance(value, bytes | bytearray):
        return bytes(value)
    if type_ == DATE and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return (value - _EPOCH_DAY).days
    if type_ == TIMESTAMP and isinstance(value, dt.datetime):
        if value != value:  # NaT is how pandas says NULL
            return None
        moment = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return (moment - _EPOCH) // _MICROSECOND
    if type_ in (DAYS, DAY_TIME) and isinstance(value, dt.timedelta):
        return value // _MICROSECOND
    if type_ == YEAR_MONTH and isinstance(value, int):
        return value
    raise _wrong(value, type_)


def _struct(value: Any, type_: Type, fields: tuple[Any, ...]) -> tuple[Any, ...]:
    if isinstance(value, dict):
        return tuple(from_python(value.get(f.name), f.type) for f in fields)
    if isinstance(value, list | tuple) and len(value) == len(fields):
        return tuple(from_python(v, f.type) for v, f in zip(value, fields, strict=True))
    raise _wrong(value, type_)


def _wrong(value: Any, type_: Type) -> Failure:
    return Failure(f"{value!r} is not a value of type {type_}")
