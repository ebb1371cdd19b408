"""Comma-separated text, one row per record."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from thalweg.connectors import OptionSpec, need_location
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
from thalweg.sources.csv_records import Record, records

OPTIONS = {
    "header": OptionSpec(bool, False, "whether the first line names the columns"),
    "sep": OptionSpec(str, ",", "the character between two columns"),
    "quote": OptionSpec(str, '"', "the character around a column that contains separators"),
    "null": OptionSpec(str, "", "the text that stands for NULL"),
}


def check(request: ReadRequest) -> None:
    need_location(request.connector, "file.csv")
    for column in request.columns:
        if not text_convertible(column.type):
            raise request.error(
                f'column "{column.name}" is {column.type}, which CSV cannot hold',
                hint="use jsonl or parquet",
            )
    marks = [request.connector.option(name) for name in ("sep", "quote")]
    for name, mark in zip(("sep", "quote"), marks, strict=True):
        if len(mark) != 1 or mark in "\r\n":
            raise request.error(f"option {name} of csv must be one character")
    if marks[0] == marks[1]:
        raise request.error("options sep and quote of csv must differ")


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    for path in files_of(request):
        yield from _read_file(path, request)


def _read_file(path: Path, request: ReadRequest) -> Iterator[Accepted | Reject]:
    option = request.connector.option
    convert = TextRow(request.columns, request.required, request.zone)
    null = option("null")
    width = len(request.columns)
    positions = list(range(width))
    with open_text(path, request) as text:
        rows = records(text, option("sep"), option("quote"))
        if option("header"):
            header = next(rows, None)
            if header is None:
                return
            positions = _positions(header, path, request)
            width = len(header.cells)
        for row in rows:
            place = f"{path.name}:{row.line}"
            if row.problem is not None:
                yield Reject.of(place, f"the line cannot be split: {row.problem}", row.text)
                continue
            # An empty line of a single column is an empty cell, of several it is nothing.
            cells = row.cells or ([""] if width == 1 else [])
            if not cells:
                continue
            if not row.text.isascii() and any("\ud800" <= c <= "\udfff" for c in row.text):
                yield Reject.of(place, "the line is not UTF-8", row.text)
                continue
            if len(cells) != width:
                yield Reject.of(place, f"{len(cells)} columns instead of {width}", row.text)
                continue
            texts = [None if cells[i] == null else cells[i] for i in positions]
            try:
                yield Accepted(convert.values(texts), place)
            except Failure as failure:
                yield Reject.of(place, str(failure), row.text)


def _positions(header: Record, path: Path, request: ReadRequest) -> list[int]:
    if header.problem is not None:
        raise request.error(f"the header of {path.name} cannot be split: {header.problem}")
    names = [name.strip().lower() for name in header.cells]
    listing = "Its header names: " + ", ".join(header.cells)[:300] + "."
    positions = []
    for column in request.columns:
        wanted = column.name.lower()
        if wanted not in names:
            raise request.error(
                f'{path.name} has no column "{column.name}"',
                detail=listing,
                hint=did_you_mean(column.name, header.cells),
            )
        if names.count(wanted) > 1:
            raise request.error(f'{path.name} has several columns "{column.name}"', detail=listing)
        positions.append(names.index(wanted))
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
