"""The statements of a script, as written: names are not yet resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from thalweg.cql.windows import Length
from thalweg.errors import Span
from thalweg.types import Type


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier and its place."""

    text: str
    span: Span

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ColumnDeclaration:
    name: Name
    type: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Option:
    name: Name
    value: Any
    span: Span


@dataclass(frozen=True, slots=True)
class ConnectorCall:
    """`connector('location', option = value, …)`."""

    name: Name
    location: str | None
    options: tuple[Option, ...]
    span: Span
    location_span: Span | None = None


@dataclass(frozen=True, slots=True)
class CreateStream:
    name: Name
    columns: tuple[ColumnDeclaration, ...]
    time: Name | None
    unit: Name | None
    slack: Length | None
    skew: Length | None
    key: tuple[Name, ...]
    connector: ConnectorCall
    span: Span


@dataclass(frozen=True, slots=True)
class CreateTable:
    name: Name
    columns: tuple[ColumnDeclaration, ...]
    key: tuple[Name, ...]
    refresh: Length | None
    connector: ConnectorCall
    span: Span


@dataclass(frozen=True, slots=True)
class CreateQuery:
    name: Name
    query: exp.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class CreateView:
    name: Name
    columns: tuple[Name, ...]
    query: exp.Expr
    span: Span


@dataclass(frozen=True, slots=True)
class CreateSink:
    name: Name
    query: Name
    connector: ConnectorCall
    span: Span


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """A Python function, or with `aggregate` a Python class, by import path."""

    name: Name
    parameters: tuple[ColumnDeclaration, ...]
    returns: Type
    path: str
    path_span: Span
    aggregate: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Drop:
    kind: str
    name: Name
    if_exists: bool
    span: Span


@dataclass(frozen=True, slots=True)
class SetOption:
    name: Name
    value: Any
    value_span: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Explain:
    """`EXPLAIN name` or `EXPLAIN SELECT …`; `stage` is None for the default."""

    subject: Name | exp.Expr
    stage: str | None
    span: Span


Statement = (
    CreateStream
    | CreateTable
    | CreateQuery
    | CreateView
    | CreateSink
    | CreateFunction
    | Drop
    | SetOption
    | Explain
)
