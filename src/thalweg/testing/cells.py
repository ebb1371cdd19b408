"""Rows of a golden script as text: `1 | IBM | 12`.

A cell is the value's text; NULL is `NULL`; text that would be misread (empty,
with spaces at its ends, with a bar, # or quotes, starting with !, or spelled NULL)
stands in JSON quotes; arrays and structs are JSON.
"""

from __future__ import annotations

import json
from typing import Any

from thalweg.functions.cast import caster, to_text
from thalweg.functions.json_values import parse_json
from thalweg.functions.registry import Failure
from thalweg.sinks.jsonl import json_text
from thalweg.sources.jsonl import from_json
from thalweg.types import BINARY, STRING, ArrayType, Schema, StructType, Type


def split_row(line: str) -> list[str]:
    """The cells of a line; a bar inside JSON quotes does not separate.

    Raises `Failure` if a quote is not closed.
    """
    cells, current, quoted, escaped = [], "", False, False
    for character in line:
        if character == "|" and not quoted:
            cells.append(current.strip())
            current = ""
            continue
        if character == '"' and not escaped:
            quoted = not quoted
        escaped = character == "\\" and quoted and not escaped
        current += character
    if quoted:
        raise Failure("a quote is not closed")
    return [*cells, current.strip()]


def parse_cell(text: str, type_: Type) -> Any:
    """The value of a cell; raises `Failure` if it has none."""
    if text == "NULL":
        return None
    if isinstance(type_, ArrayType | StructType):
        return from_json(type_, "UTC")(parse_json(text))
    if text.startswith('"'):
        decoded = parse_json(text)
        if not isinstance(decoded, str):
            raise Failure(f"{text} is not a text")
        text = decoded
    if type_ == BINARY:
        return text.encode()
    return caster(STRING, type_, "UTC")(text)


def cell_text(value: Any, type_: Type) -> str:
    if value is None:
        return "NULL"
    if isinstance(type_, ArrayType | StructType):
        return json_text(value, type_, "UTC")
    text = to_text(value, type_, "UTC")
    plain = text and text == text.strip() and text != "NULL" and text.isprintable()
    if plain and not text.startswith("!") and not any(c in text for c in '|"#'):
        return text
    return json.dumps(text, ensure_ascii=False)


def parse_row(cells: list[str], columns: Schema) -> tuple[Any, ...]:
    if len(cells) != len(columns):
        raise Failure(f"{len(cells)} cells for {len(columns)} columns")
    return tuple(parse_cell(cell, column.type) for cell, column in zip(cells, columns, strict=True))
