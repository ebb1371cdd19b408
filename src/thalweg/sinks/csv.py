"""Comma-separated text with a header line. NULL is empty, an empty text is ""."""

from __future__ import annotations

from typing import Any

from thalweg.answers import Change, record_names
from thalweg.connectors import OptionSpec
from thalweg.functions.cast import to_text
from thalweg.sinks.base import SinkRequest, TextLines
from thalweg.sinks.jsonl import json_text
from thalweg.types import ArrayType, StructType, Type

OPTIONS: dict[str, OptionSpec] = {}


class Csv(TextLines):
    def __init__(self, request: SinkRequest) -> None:
        super().__init__(request)
        self.line(",".join(quoted(name) for name in record_names(request.columns)))

    def write(self, change: Change) -> None:
        cells = (
            cell_text(value, type_, self.zone)
            for value, type_ in zip(change.values, self.types, strict=True)
        )
        self.line(",".join((str(change.time), change.sign, *cells)))


def open_sink(request: SinkRequest) -> Csv:
    return Csv(request)


def cell_text(value: Any, type_: Type, zone: str) -> str:
    """A value as a cell; NULL is empty."""
    if value is None:
        return ""
    if isinstance(type_, ArrayType | StructType):
        return quoted(json_text(value, type_, zone))
    return quoted(to_text(value, type_, zone))


def quoted(text: str) -> str:
    """A cell, in quotes where it needs them."""
    if text == "" or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
