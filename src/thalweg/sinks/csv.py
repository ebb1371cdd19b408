"""Comma-separated text with a header line. NULL is empty, an empty text is ""."""

from __future__ import annotations

from typing import Any

from thalweg.answers import Change, record_names
from thalweg.connectors import OptionSpec
from thalweg.errors import QueryError
from thalweg.functions.cast import to_text
from thalweg.sinks.base import SinkRequest, WholeFile
from thalweg.sinks.jsonl import json_text
from thalweg.types import ArrayType, StructType, Type

OPTIONS: dict[str, OptionSpec] = {}


class Csv:
    def __init__(self, request: SinkRequest) -> None:
        assert request.path is not None, "a file sink has a path"
        self._whole = WholeFile(request.path)
        self._types = [column.type for column in request.columns]
        self._zone = request.zone
        try:
            self._file = self._whole.partial.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise QueryError(f"cannot write {request.path}: {error.strerror}") from None
        self._line([_quoted(name) for name in record_names(request.columns)])

    def write(self, change: Change) -> None:
        cells = (
            _cell(value, type_, self._zone)
            for value, type_ in zip(change.values, self._types, strict=True)
        )
        self._line([str(change.time), change.sign, *cells])

    def _line(self, cells: list[str]) -> None:
        self._file.write(",".join(cells) + "\n")

    def close(self) -> None:
        self._file.close()
        self._whole.publish()

    def discard(self) -> None:
        self._file.close()
        self._whole.discard()


def open_sink(request: SinkRequest) -> Csv:
    return Csv(request)


def _cell(value: Any, type_: Type, zone: str) -> str:
    if value is None:
        return ""
    if isinstance(type_, ArrayType | StructType):
        return _quoted(json_text(value, type_, zone))
    return _quoted(to_text(value, type_, zone))


def _quoted(text: str) -> str:
    if text == "" or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text
