"""What a connector is asked for, and what it gives: rows, and rows it could not read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg.catalog import Connector
from thalweg.coercion import casts_explicitly
from thalweg.connectors import ConnectorKind, OptionSpec, path_of
from thalweg.errors import QueryError
from thalweg.functions.cast import caster
from thalweg.functions.registry import Failure
from thalweg.types import STRING, Schema, Type

# Enough of a bad row to recognise it.
_RAW_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Accepted:
    """A row in the columns' own value forms, and where it was."""

    values: tuple[Any, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that could not be read: where it was, why, and what it looked like."""

    place: str
    reason: str
    raw: str

    @staticmethod
    def of(place: str, reason: str, raw: object) -> Reject:
        text = raw if isinstance(raw, str) else repr(raw)
        printable = text.encode("utf-8", "backslashreplace").decode()
        return Reject(place, reason, printable[:_RAW_LENGTH])


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Everything a connector needs to read a stream or table.

    `folders` are tried in order for a relative location. Of a live source, `begun` is when
    its job began, in microseconds of the clock, and `found` the list of the files that
    were found so far.
    """

    connector: Connector
    columns: Schema
    required: frozenset[int]
    zone: str
    folders: tuple[Path, ...]
    begun: int | None = None
    found: Path | None = None

    def error(self, message: str, detail: str | None = None, hint: str | None = None) -> QueryError:
        """An error that points at the connector in the script."""
        return self.connector.error(message, detail, hint)


@dataclass(frozen=True, slots=True)
class Mark:
    """A place between two rows of a file.

    `offset` counts what is before it: rows, or in a file of text bytes (after the
    byte-order mark, if there is one) together with the `line`s that they are.
    """

    offset: int = 0
    line: int = 0


BEGINNING = Mark()

Read = Callable[[ReadRequest], Iterator[Accepted | Reject]]
# The rows of a file from a mark on, each with the mark behind it.
ReadOn = Callable[[Path, ReadRequest, Mark], Iterator[tuple[Accepted | Reject, Mark]]]


@dataclass(frozen=True)
class SourceKind(ConnectorKind):
    """`check` refuses what cannot work, without looking at any file.

    `read_on` is there for files whose rows are found again by a mark.
    """

    read: Read
    check: Callable[[ReadRequest], None]
    reads_files: bool = False
    read_on: ReadOn | None = None


FOLLOW = {"follow": OptionSpec(bool, False, "whether files that appear later are read, too")}


def is_live(connector: Connector) -> bool:
    """Whether rows come as time goes by."""
    return bool(connector.option("follow") or connector.option("live"))


def files_of(request: ReadRequest) -> list[Path]:
    """The files that a location names, in order of name: a file, a folder or a pattern."""
    found = files_now(request)
    if found:
        return found
    location = path_of(request.connector)
    tried = [folder / location for folder in request.folders]
    for path in tried:
        if path.is_dir():
            raise request.error(f"the folder {path} holds no files")
    given = request.connector.location
    what = "matches" if any(c in str(location) for c in "*?[") else "is at"
    places = " or ".join(dict.fromkeys(map(str, tried)))
    raise request.error(f"no file {what} {given!r}", detail=f"Looked for {places}.")


def files_now(request: ReadRequest) -> list[Path]:
    """The same, where there may be none yet."""
    for folder in request.folders:
        path = folder / path_of(request.connector)
        try:
            found = _matching(path)
        except OSError as error:
            raise request.error(f"cannot read {path}: {error.strerror}") from None
        except ValueError as error:
            raise request.error(f"cannot read {path}: {error}") from None
        if found or path.is_dir():
            return found
    return []


def _matching(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        inside = path.iterdir()
    elif any(c in str(path) for c in "*?["):
        anchor = Path(path.anchor) if path.anchor else Path()
        inside = anchor.glob(str(path.relative_to(path.anchor)))
    else:
        return []
    return sorted(p for p in inside if p.is_file() and not p.name.startswith((".", "_")))


class TextRow:
    """Turns the texts of one row into values of the declared types."""

    def __init__(self, columns: Schema, required: frozenset[int], zone: str) -> None:
        self.columns = columns
        self.required = required
        self._converts = [caster(STRING, column.type, zone) for column in columns]

    def values(self, texts: list[str | None]) -> tuple[Any, ...]:
        """The values; raises `Failure` naming the column that does not fit."""
        return tuple(self._value(i, text) for i, text in enumerate(texts))

    def _value(self, i: int, text: str | None) -> Any:
        if text is None:
            return not_null(None, i, self.columns, self.required)
        try:
            return self._converts[i](text)
        except Failure as failure:
            raise Failure(f"column {self.columns[i].name}: {failure}") from None


def not_null(value: Any, i: int, columns: Schema, required: frozenset[int]) -> Any:
    if value is None and i in required:
        raise Failure(f"column {columns[i].name} is NULL and was declared NOT NULL")
    return value


def text_convertible(type_: Type) -> bool:
    """Whether a cell of text can hold the type."""
    return casts_explicitly(STRING, type_)
