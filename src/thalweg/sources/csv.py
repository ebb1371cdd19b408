"""Comma-separated text, one row per record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from thalweg.connectors import OptionSpec
from thalweg.errors import did_you_mean
from thalweg.functions.registry import Failure
from thalweg.sources.base import (
    Accepted,
    ReadRequest,
    Reject,
    TextRow,
    files_of,
    text_convertible,
)

OPTIONS = {
    "header": OptionSpec(bool, False, "whether the first line names the columns"),
    "sep": OptionSpec(str, ",", "the character between two columns"),
    "quote": OptionSpec(str, '"', "the character around a column that contains separators"),
    "null": OptionSpec(str, "", "the text that stands for NULL"),
}

# One cell; larger ones are rejected with their row.
_LARGEST_CELL = 16 * 1024 * 1024
csv.field_size_limit(_LARGEST_CELL)


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    for column in request.columns:
        if not text_convertible(column.type):
            raise request.error(
                f'column "{column.name}" is {column.type}, which CSV cannot hold',
                hint="use jsonl or parquet",
            )
    for name in ("sep", "quote"):
        if len(request.connector.option(name)) != 1:
            raise request.error(f"option {name} of csv must be one character")
    for path in files_of(request):
        yield from _read_file(path, request)


def _read_file(path: Path, request: ReadRequest) -> Iterator[Accepted | Reject]:
    option = request.connector.option
    convert = TextRow(request.columns, request.required, request.zone)
    null = option("null")
    width = len(request.columns)
    with open_text(path, request) as text:
        reader = csv.reader(text, delimiter=option("sep"), quotechar=option("quote"))
        positions = list(range(width))
        if option("header"):
            header = next(reader, None)
            if header is None:
                return
            positions = _positions(header, path, request)
            width = len(header)
        while True:
            place = f"{path.name}:{reader.line_num + 1}"
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield Reject.of(place, f"the line cannot be split: {error}", "")
                continue
            if not cells:
                continue  # an empty line
            raw = option("sep").join(cells)
            if not raw.isascii() and any("\ud800" <= c <= "\udfff" for c in raw):
                yield Reject.of(place, "the line is not UTF-8", raw)
                continue
            if len(cells) != width:
                yield Reject.of(place, f"{len(cells)} columns instead of {width}", raw)
                continue
            texts = [None if cells[i] == null else cells[i] for i in positions]
            try:
                yield Accepted(convert.values(texts), place)
            except Failure as failure:
                yield Reject.of(place, str(failure), raw)


def _positions(header: list[str], path: Path, request: ReadRequest) -> list[int]:
    names = {name.strip().lower(): i for i, name in enumerate(header)}
    positions = []
    for column in request.columns:
        if column.name.lower() not in names:
            raise request.error(
                f'{path.name} has no column "{column.name}"',
                detail="Its header names: " + ", ".join(header)[:300] + ".",
                hint=did_you_mean(column.name, header),
            )
        positions.append(names[column.name.lower()])
    return positions


def open_text(path: Path, request: ReadRequest) -> io.TextIOWrapper:
    """A file as lines of text; compressed files are recognised by their ending.

    Bytes that are not UTF-8 become lone surrogates, so that only their row is lost.
    """
    try:
        stream = pa.input_stream(str(path), compression="detect")
    except (OSError, pa.ArrowException) as error:
        raise request.error(f"cannot read {path}: {error}") from None
    return io.TextIOWrapper(
        io.BufferedReader(_Raw(stream, path, request)),
        encoding="utf-8-sig",
        errors="surrogateescape",
        newline="",
    )


class _Raw(io.RawIOBase):
    """An Arrow stream as a Python one, with errors that point at the script."""

    def __init__(self, stream: pa.NativeFile, path: Path, request: ReadRequest) -> None:
        self._stream, self._path, self._request = stream, path, request

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (OSError, pa.ArrowException) as error:
            raise self._request.error(f"cannot read {self._path}: {error}") from None
        buffer[: len(data)] = data
        return len(data)
