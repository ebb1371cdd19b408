"""JSON objects, one per line; columns are taken by name."""

from __future__ import annotations

import decimal as dec
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from thalweg.connectors import OptionSpec, need_location
from thalweg.functions.cast import caster, fit_decimal, fit_integer, to_float32
from thalweg.functions.json_values import (
    compact_text,
    expect,
    from_base64,
    number,
    parse_json,
    shown,
)
from thalweg.functions.registry import Failure
from thalweg.sources.base import (
    BEGINNING,
    FOLLOW,
    Accepted,
    Mark,
    ReadRequest,
    Reject,
    files_of,
    not_null,
)
from thalweg.sources.csv import open_text
from thalweg.sources.csv_records import byte_length
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    is_integral,
)

OPTIONS: dict[str, OptionSpec] = {**FOLLOW}

Convert = Callable[[Any], Any]


def check(request: ReadRequest) -> None:
    need_location(request.connector, "file.jsonl")


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    for path in files_of(request):
        for row, _ in read_on(path, request, BEGINNING):
            yield row


def read_on(
    path: Path, request: ReadRequest, mark: Mark
) -> Iterator[tuple[Accepted | Reject, Mark]]:
    """The rows after a mark, each with the mark behind it."""
    names = [column.name for column in request.columns]
    converts = [from_json(column.type, request.zone) for column in request.columns]
    with open_text(path, request, mark.offset) as text:
        for line in text:
            mark = Mark(mark.offset + byte_length(line), mark.line + 1)
            if not line.strip():
                continue
            place = f"{path.name}:{mark.line}"
            try:
                values = row_values(parse_json(line), names, converts)
                checked = tuple(
                    not_null(value, i, request.columns, request.required)
                    for i, value in enumerate(values)
                )
                yield Accepted(checked, place), mark
            except Failure as failure:
                yield Reject.of(place, str(failure), line.rstrip("\n")), mark


def row_values(document: Any, names: list[str], converts: list[Convert]) -> list[Any]:
    """The columns of one object, in order; a missing key is NULL."""
    if not isinstance(document, dict):
        raise Failure("the line is not a JSON object")
    by_lower: dict[str, list[Any]] = {}
    for key, value in document.items():
        by_lower.setdefault(key.lower(), []).append(value)
    values = []
    for name, convert in zip(names, converts, strict=True):
        found = by_lower.get(name.lower(), [None])
        if len(found) > 1:
            raise Failure(f'several keys of the object are "{name}"')
        try:
            values.append(None if found[0] is None else convert(found[0]))
        except Failure as failure:
            raise Failure(f"column {name}: {failure}") from None
    return values


def from_json(type_: Type, zone: str) -> Convert:
    """The conversion of a JSON value (not null) to a value of the type."""
    match type_:
        case ArrayType(element=element):
            inner = from_json(element, zone)
            return lambda value: tuple(
                None if v is None else inner(v) for v in expect(value, list, "an array")
            )
        case StructType(fields=fields):
            names = [f.name for f in fields]
            converts = [from_json(f.type, zone) for f in fields]
            return lambda value: tuple(
                row_values(expect(value, dict, "an object"), names, converts)
            )
        case DecimalType():
            return lambda value: fit_decimal(dec.Decimal(number(value)), type_)
    if type_ == BOOLEAN:
        return lambda value: expect(value, bool, "true or false")
    if is_integral(type_):
        bits = INTEGER_BITS[type_]
        return lambda value: fit_integer(_integer(value), bits)
    if type_ == DOUBLE:
        return _double
    if type_ == FLOAT:
        return lambda value: to_float32(_double(value))
    if type_ == STRING:
        return _text
    if type_ == BINARY:
        return from_base64
    if type_ in (DATE, TIMESTAMP):
        parse = caster(STRING, type_, zone)
        return lambda value: parse(expect(value, str, "a text"))
    raise Failure(f"JSON cannot hold {type_}")


def _integer(value: Any) -> int:
    given = number(value)
    if isinstance(given, int):
        return given
    whole = dec.Decimal(given)
    # Not int() before its size is known: 1e999999999 is short to write.
    if not whole.is_finite() or whole.adjusted() > MAX_PRECISION or whole != int(whole):
        raise Failure(f"{given} is not an integer")
    return int(whole)


_NAMED_NUMBERS = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "-Infinity": float("-inf"),
}


def _double(value: Any) -> float:
    if isinstance(value, str) and value in _NAMED_NUMBERS:
        return _NAMED_NUMBERS[value]
    try:
        return float(number(value))
    except OverflowError:
        raise Failure(f"{shown(value)} does not fit into DOUBLE") from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact_text(value)
