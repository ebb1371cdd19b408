"""A piece of a stream's source, and the place where the next one begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from thalweg.intake.accept import Arrival
from thalweg.intake.found import found_files
from thalweg.operators.delta import Delta, combined
from thalweg.sources import Accepted, Mark, ReadRequest, Reject, files_of
from thalweg.types import Schema
from thalweg.vector.column import from_values


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a source stands, and all that the rows before mean for those that follow.

    `file` is the place of the file in the order of names, `name` how it is called
    (None before any file was read, and where there are none). `offset` and `line`
    are a mark in it. `seen` counts the rows so far; `largest` is the largest time
    of those that were accepted, or what a clock stands for. `limit` is how much of a live
    source may be read: a number of files, or of rows.
    """

    file: int = 0
    name: str | None = None
    offset: int = 0
    line: int = 0
    seen: int = 0
    largest: int | None = None
    limit: int | None = None

    @property
    def mark(self) -> Mark:
        return Mark(self.offset, self.line)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(document: dict[str, Any]) -> Cursor:
        return Cursor(**document)


@dataclass(frozen=True, slots=True)
class Slice:
    """What a number of rows of a source came to.

    `rows` are the accepted ones, as elements of the stream in its own unit of time;
    columns that nobody reads may be empty.
    With `at_end` the end of the source was met; a slice that holds the last rows
    and no fewer than were asked for does not know yet.
    """

    rows: Delta
    late: list[Accepted]
    rejects: list[Reject]
    cursor: Cursor
    at_end: bool


class Reader(Protocol):
    """Reads a stream's source, slice after slice, from any cursor on."""

    def read(self, cursor: Cursor, rows: int) -> Slice: ...

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        """The next `rows` rows in as many slices as are convenient."""
        ...

    def cuts(self, cursor: Cursor, rows: int, parallel: int) -> tuple[int, ...]:
        """The next `rows` rows, about, as parts for several readers: the rows of each."""
        ...

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor:
        """The cursor behind the next rows, which are another reader's.

        How far time has come there may be left open, if that judges none of the
        `following` rows otherwise.
        """
        ...


def files_at(request: ReadRequest, cursor: Cursor) -> list[Path]:
    """The files of a source, which must still be those that the cursor counted."""
    files = files_of(request) if request.found is None else found_files(request.found)
    files = files[: cursor.limit]
    if cursor.name is not None and (
        cursor.file >= len(files) or files[cursor.file].name != cursor.name
    ):
        raise request.error(
            f"{cursor.name} is no longer number {cursor.file + 1} of the files to read",
            hint="files that were read must stay, and new ones must follow them by name",
        )
    return files


def together(parts: Sequence[Delta], columns: Schema) -> Delta:
    """Rows of one source as they follow each other."""
    some = [part for part in parts if len(part)]
    return combined(some, columns) if some else as_delta([], columns)


def as_delta(arrivals: Sequence[Arrival], columns: Schema) -> Delta:
    """Accepted rows as elements of their stream."""
    time = np.array([arrival.time for arrival in arrivals], np.int64)
    values: list[Sequence[Any]] = list(zip(*(a.values for a in arrivals), strict=True))
    if not arrivals:
        values = [() for _ in columns]
    return Delta(
        tuple(from_values(cells, f.type) for cells, f in zip(values, columns, strict=True)),
        time,
        time,
        np.ones(len(arrivals), np.int64),
        np.array([arrival.position for arrival in arrivals], np.int64),
    )
