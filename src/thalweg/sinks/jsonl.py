"""JSON objects, one per line."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

from thalweg.answers import Change, record_names
from thalweg.connectors import OptionSpec
from thalweg.functions.calendar import to_local
from thalweg.functions.cast import date_text, timestamp_text, to_text
from thalweg.sinks.base import SinkRequest, TextLines
from thalweg.types import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    is_interval,
)

OPTIONS: dict[str, OptionSpec] = {}


class JsonLines(TextLines):
    def __init__(self, request: SinkRequest) -> None:
        super().__init__(request)
        self._names = [one_line(name) for name in record_names(request.columns)]

    def write(self, change: Change) -> None:
        values = (
            json_text(value, type_, self.zone)
            for value, type_ in zip(change.values, self.types, strict=True)
        )
        cells = (str(change.time), f'"{change.sign}"', *values)
        pairs = (f"{name}: {cell}" for name, cell in zip(self._names, cells, strict=True))
        self.line("{" + ", ".join(pairs) + "}")


def open_sink(request: SinkRequest) -> JsonLines:
    return JsonLines(request)


def json_text(value: Any, type_: Type, zone: str) -> str:
    """A value as JSON. Decimals keep their digits; NaN and infinities become text."""
    if value is None:
        return "null"
    match type_:
        case ArrayType(element=element):
            return "[" + ", ".join(json_text(v, element, zone) for v in value) + "]"
        case StructType(fields=fields):
            pairs = (
                f"{json.dumps(f.name, ensure_ascii=False)}: {json_text(v, f.type, zone)}"
                for f, v in zip(fields, value, strict=True)
            )
            return "{" + ", ".join(pairs) + "}"
        case DecimalType():
            return f"{value:f}"
    if type_ in (FLOAT, DOUBLE) and not math.isfinite(value):
        return json.dumps(to_text(value, type_, zone))
    if type_ == BINARY:
        return json.dumps(base64.b64encode(value).decode())
    if type_ == DATE:
        return f'"{date_text(value)}"'
    if type_ == TIMESTAMP:
        return (
            f'"{timestamp_text(value, zone).replace(" ", "T")}{offset_text(_ahead(value, zone))}"'
        )
    if is_interval(type_):
        return json.dumps(to_text(value, type_, zone))
    return one_line(value)


# Characters that some readers take for the end of a line.
LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def one_line(document: Any) -> str:
    """A JSON document that is one line for every reader of lines."""
    return json.dumps(document, ensure_ascii=False).translate(LINE_ENDS)


def _ahead(micros: int, zone: str) -> int:
    """How many seconds a wall clock is ahead of UTC."""
    return (to_local(micros, zone) - micros) // 1_000_000


def offset_text(seconds: int) -> str:
    """How far a wall clock is ahead of UTC, for people: Z, +02:00."""
    if seconds == 0:
        return "Z"
    sign, size = ("-" if seconds < 0 else "+"), abs(seconds)
    return f"{sign}{size // 3600:02d}:{size // 60 % 60:02d}"
