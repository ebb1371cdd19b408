"""What a script has declared: streams, tables, views, queries, sinks, functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlglot import exp

from thalweg.errors import QueryError, SourceText, Span, did_you_mean
from thalweg.plan.nodes import Plan
from thalweg.settings import Settings
from thalweg.types import Schema, Type
from thalweg.units import Unit


@dataclass(frozen=True, slots=True)
class Connector:
    """Where rows come from or go to; `name` is a key of the table of connectors."""

    name: str
    location: str | None
    options: tuple[tuple[str, Any], ...]
    span: Span | None = field(default=None, compare=False)
    source: SourceText | None = field(default=None, compare=False, repr=False)

    def option(self, name: str, default: Any = None) -> Any:
        return dict(self.options).get(name, default)

    def error(self, message: str, detail: str | None = None, hint: str | None = None) -> QueryError:
        """An error that points at the connector in the script."""
        return QueryError(message, self.span, detail=detail, hint=hint, source=self.source)


@dataclass(frozen=True, slots=True)
class Stream:
    """A declared stream.

    `time_column` is the position of the event time, None where the feed brings it
    beside the columns. `unit` is the unit of an integer event time, None for SQL
    timestamps. `slack` is in units of event time, and so is `skew`: how long after its
    event time a row of a live source can be read at the latest, None if nothing is said.
    `rank` is the place among all streams of the script: it breaks ties between rows of
    one instant. `zone` is the time zone that was set when the stream was declared.
    """

    name: str
    columns: Schema
    time_column: int | None
    unit: Unit | None
    slack: int
    rank: int
    key: tuple[int, ...] = ()
    required: frozenset[int] = frozenset()
    connector: Connector | None = None
    unit_declared: bool = True
    zone: str = "UTC"
    skew: int | None = None

    @property
    def tick(self) -> Unit:
        return self.unit or Unit.MICROSECOND


@dataclass(frozen=True, slots=True)
class Table:
    """A stored relation; `zone` as of a stream."""

    name: str
    columns: Schema
    key: tuple[int, ...] = ()
    required: frozenset[int] = frozenset()
    connector: Connector | None = None
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class View:
    """A named piece of query text, bound anew wherever it is used."""

    name: str
    columns: tuple[str, ...]
    syntax: exp.Expr
    source: SourceText = field(repr=False)
    settings: Settings


@dataclass(frozen=True, slots=True)
class Query:
    """A registered continuous query, bound.

    `bare_unit` is what a number without a unit counts in windows on its answer,
    None where streams with SQL timestamps are below.
    """

    name: str
    plan: Plan
    tick: Unit
    bare_unit: Unit | None
    settings: Settings
    source: SourceText = field(repr=False)
    span: Span


@dataclass(frozen=True, slots=True)
class Sink:
    name: str
    query: str
    connector: Connector


@dataclass(frozen=True, slots=True)
class Function:
    """A user's Python function, or with `aggregate` a class, by import path.

    A class `merges` if it takes whole columns and has a method to merge another object.
    """

    name: str
    parameters: tuple[Type, ...]
    returns: Type
    path: str
    aggregate: bool
    merges: bool = False


Entry = Stream | Table | View | Query | Sink | Function

_KINDS: dict[type[Any], str] = {
    Stream: "stream",
    Table: "table",
    View: "view",
    Query: "query",
    Sink: "sink",
}


def kind_of(entry: Entry) -> str:
    if isinstance(entry, Function):
        return "aggregate" if entry.aggregate else "function"
    return _KINDS[type(entry)]


class Catalog:
    """Entries by name; case does not count. Functions have names of their own."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}
        self._functions: dict[str, Function] = {}
        self._broken: set[str] = set()
        self._ranks = count()

    def __iter__(self) -> Iterator[Entry]:
        yield from self._entries.values()
        yield from self._functions.values()

    def define(self, entry: Entry, span: Span | None = None) -> None:
        table = self._functions if isinstance(entry, Function) else self._entries
        key = entry.name.lower()
        if key in table:
            raise QueryError(
                f'"{entry.name}" is already a {kind_of(table[key])}',
                span,
                hint=f"choose another name, or DROP {kind_of(table[key]).upper()} "
                f"{entry.name} first",
            )
        table[key] = entry  # type: ignore[assignment]

    def mark_broken(self, name: str) -> None:
        """Remember a name whose declaration failed, so that its uses are not errors too."""
        self._broken.add(name.lower())

    def is_broken(self, name: str) -> bool:
        return name.lower() in self._broken

    def find(self, name: str) -> Entry | None:
        return self._entries.get(name.lower())

    def function(self, name: str) -> Function | None:
        return self._functions.get(name.lower())

    def drop(self, kind: str, name: str, span: Span | None = None) -> None:
        table: dict[str, Any] = (
            self._functions if kind in ("function", "aggregate") else (self._entries)
        )
        entry = table.get(name.lower())
        if entry is None or kind_of(entry) != kind:
            raise QueryError(
                f'there is no {kind} "{name}"',
                span,
                detail=f'"{name}" is a {kind_of(entry)}.' if entry is not None else None,
                hint=did_you_mean(name, [e.name for e in table.values() if kind_of(e) == kind]),
            )
        del table[name.lower()]

    def next_rank(self) -> int:
        """The rank of the next stream; that of a dropped one is not given again."""
        return next(self._ranks)

    def streams(self) -> list[Stream]:
        return [entry for entry in self._entries.values() if isinstance(entry, Stream)]

    def finest_tick(self) -> Unit:
        """No query over these streams has a shorter tick: a microsecond, or theirs."""
        ticks = [stream.tick for stream in self.streams()]
        return min(Unit.MICROSECOND, *ticks, key=lambda unit: unit.value)

    def tables(self) -> list[Table]:
        return [entry for entry in self._entries.values() if isinstance(entry, Table)]

    def queries(self) -> list[Query]:
        return [entry for entry in self._entries.values() if isinstance(entry, Query)]

    def sinks(self) -> list[Sink]:
        return [entry for entry in self._entries.values() if isinstance(entry, Sink)]

    def functions(self) -> list[Function]:
        return list(self._functions.values())

    def readable_names(self) -> list[str]:
        """Names that FROM accepts."""
        return [e.name for e in self._entries.values() if not isinstance(e, Sink)]
