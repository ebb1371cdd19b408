"""What a sink is given: an answer's records, in the order of time.

A record is its instant in ticks, its sign (`+` entered, `-` left) and the
columns of the query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from thalweg.answers import Change
from thalweg.catalog import Connector, Query
from thalweg.connectors import ConnectorKind, need_location, refuse_location
from thalweg.types import Schema


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """Whose answers go where; `path` is None for the terminal."""

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


OpenSink = Callable[[SinkRequest], Writer]


@dataclass(frozen=True)
class SinkKind(ConnectorKind):
    """`suffix` is the ending of the files a sink writes, None if it writes none."""

    open: OpenSink
    suffix: str | None = None

    def check(self, connector: Connector) -> None:
        """Refuse a location that is missing, or that would be ignored."""
        if self.suffix is None:
            refuse_location(connector)
        else:
            need_location(connector, f"file.{self.suffix}")


class TextLines:
    """A file of lines."""

    def __init__(self, request: SinkRequest) -> None:
        assert request.path is not None, "a file sink has a path"
        self.types = [column.type for column in request.columns]
        self.zone = request.zone
        self._file = request.path.open("w", encoding="utf-8", newline="")

    def line(self, text: str) -> None:
        self._file.write(text + "\n")

    def close(self) -> None:
        self._file.close()
