"""Comma-separated text, one row per record."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from thalweg.connectors import OptionSpec, need_location
from thalweg.errors import did_you_mean
from thalweg.functions.registry import Failure
from thalweg.sources.base import (
    BEGINNING,
    FOLLOW,
    Accepted,
    Mark,
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
    **FOLLOW,
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
        for row, _ in read_on(path, request, BEGINNING):
            yield row


def read_on(
    path: Path, request: ReadRequest, mark: Mark
) -> Iterator[tuple[Accepted | Reject, Mark]]:
    """The rows after a mark, each with the mark behind it."""
    option = request.connector.option
    convert = TextRow(request.columns, request.required, request.zone)
    null = option("null")
    width = len(request.columns)
    positions = list(range(width))
    if option("header"):
        header = _header(path, request)
        if header is None:
            return
        positions = _positions(header, path, request)
        width = len(header.cells)
        if mark == BEGINNING:
            mark = Mark(header.size, header.lines)
    with open_text(path, request, mark.offset) as text:
        for row in records(text, option("sep"), option("quote"), mark.line):
            mark = Mark(mark.offset + row.size, mark.line + row.lines)
            place = f"{path.name}:{row.line}"
            if row.problem is not None:
                reason = f"the line cannot be split: {row.problem}"
                yield Reject.of(place, reason, row.text), mark
                continue
            # An empty line of a single column is an empty cell, of several it is nothing.
            cells = row.cells or ([""] if width == 1 else [])
            if not cells:
                continue
            if not row.text.isascii() and any("\ud800" <= c <= "\udfff" for c in row.text):
                yield Reject.of(place, "the line is not UTF-8", row.text), mark
                continue
            if len(cells) != width:
                yield Reject.of(place, f"{len(cells)} columns instead of {width}", row.text), mark
                continue
            texts = [None if cells[i] == null else cells[i] for i in positions]
            try:
                yield Accepted(convert.values(texts), place), mark
            except Failure as failure:
                yield Reject.of(place, str(failure), row.text), mark


def _header(path: Path, request: ReadRequest) -> Record | None:
    with open_text(path, request) as text:
        option = request.connector.option
        return next(records(text, option("sep"), option("quote")), None)


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


def open_text(path: Path, request: ReadRequest, offset: int = 0) -> io.TextIOWrapper:
    """A file as lines of text, from a byte of its text on.

    Compressed files are recognised by their ending. Bytes that are not UTF-8 become
    lone surrogates, so that only their row is lost.
    """
    try:
        stream = _opened_at(path, offset)
    except (OSError, pa.ArrowException) as error:
        raise request.error(f"cannot read {path}: {error}") from None
    return io.TextIOWrapper(
        io.BufferedReader(_Raw(stream, path, request)),
        encoding="utf-8",
        errors="surrogateescape",
        newline="",
    )


# What is read at once of a compressed file to get to a place in it.
_SKIPPED_BYTES = 1 << 20


def _opened_at(path: Path, offset: int) -> pa.NativeFile:
    stream = pa.input_stream(str(path), compression="detect")
    if stream.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8:
        offset += len(codecs.BOM_UTF8)
    if stream.seekable():
        stream.seek(offset)
        return stream
    stream = pa.input_stream(str(path), compression="detect")
    while offset > 0:
        skipped = len(stream.read(min(offset, _SKIPPED_BYTES)))
        if not skipped:
            break
        offset -= skipped
    return stream


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
