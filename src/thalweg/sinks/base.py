"""What a sink is given: an answer's records, in the order of time.

A record is its instant in ticks, its sign (`+` entered, `-` left) and the
columns of the query. File sinks write beside the final name and rename at the
end, so that a file is either whole or not there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from thalweg.answers import Change
from thalweg.catalog import Query
from thalweg.connectors import ConnectorKind
from thalweg.errors import QueryError
from thalweg.types import Schema


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """Whose answers go where."""

    query: Query
    path: Path | None

    @property
    def columns(self) -> Schema:
        return self.query.plan.schema

    @property
    def zone(self) -> str:
        return self.query.settings.timezone


class Writer(Protocol):
    def write(self, change: Change) -> None: ...

    def close(self) -> None: ...

    def discard(self) -> None: ...


OpenSink = Callable[[SinkRequest], Writer]


@dataclass(frozen=True)
class SinkKind(ConnectorKind):
    """`suffix` is the ending of the files a sink writes, None if it writes none."""

    open: OpenSink
    suffix: str | None = None


class WholeFile:
    """A file that appears under its name only when it is complete."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.partial.unlink(missing_ok=True)
        except OSError as error:
            raise QueryError(f"cannot write {path}: {error.strerror}") from None

    def publish(self) -> None:
        os.replace(self.partial, self.path)

    def discard(self) -> None:
        self.partial.unlink(missing_ok=True)


class TextLines:
    """A file of lines, written whole."""

    def __init__(self, request: SinkRequest) -> None:
        assert request.path is not None, "a file sink has a path"
        self.types = [column.type for column in request.columns]
        self.zone = request.zone
        self._whole = WholeFile(request.path)
        try:
            self._file = self._whole.partial.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise QueryError(f"cannot write {request.path}: {error.strerror}") from None

    def line(self, text: str) -> None:
        self._file.write(text + "\n")

    def close(self) -> None:
        self._file.close()
        self._whole.publish()

    def discard(self) -> None:
        self._file.close()
        self._whole.discard()
