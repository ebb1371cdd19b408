"""A whole script, bound: statements in order, each adding to the catalog.

Errors of different statements are collected and reported together. A statement
that failed leaves its name marked, so that its uses do not raise errors of
their own.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlglot import exp

from thalweg.catalog import (
    Catalog,
    Connector,
    Entry,
    Function,
    Query,
    Sink,
    Stream,
    Table,
    View,
    kind_of,
)
from thalweg.connectors import checked_connector
from thalweg.cql.script import parse_script
from thalweg.cql.statements import (
    ColumnDeclaration,
    CreateFunction,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Drop,
    Explain,
    Name,
    SetOption,
    Statement,
)
from thalweg.cql.syntax_errors import span_of
from thalweg.errors import (
    QueryError,
    QueryErrors,
    SourceText,
    Span,
    UnknownName,
    UsesBrokenName,
    did_you_mean,
)
from thalweg.evaluate import describe_exception
from thalweg.functions import AGGREGATES, SCALARS
from thalweg.plan.bind_query import QueryBinder
from thalweg.plan.monotone import reads_stream
from thalweg.settings import Settings, changed
from thalweg.sinks import SINKS
from thalweg.sources import SOURCES, ReadRequest, is_live
from thalweg.types import TIMESTAMP, Field, Schema, is_integral
from thalweg.units import Unit, unit_named
from thalweg.vectorized import is_vectorized


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """An EXPLAIN statement: a query and the stage to show."""

    query: Query
    stage: str | None


@dataclass
class Program:
    """What a script says, ready to run."""

    source: SourceText
    folders: tuple[Path, ...]
    catalog: Catalog = field(default_factory=Catalog)
    settings: Settings = field(default_factory=Settings)
    explains: list[ExplainRequest] = field(default_factory=list)

    def read_request(self, entry: Stream | Table) -> ReadRequest:
        assert entry.connector is not None, f"{entry.name} is fed from memory"
        return ReadRequest(entry.connector, entry.columns, entry.required, entry.zone, self.folders)

    def query(self, name: str) -> Query:
        """A registered query by name."""
        entry = self.catalog.find(name)
        if not isinstance(entry, Query):
            names = [query.name for query in self.catalog.queries()]
            raise QueryError(
                f'there is no query "{name}"',
                detail=f"There is: {', '.join(names)}." if names else None,
                hint=did_you_mean(name, names),
            )
        return entry


def bind_script(
    source: SourceText,
    folders: tuple[Path, ...] = (),
    catalog: Catalog | None = None,
) -> Program:
    """The program of a script, or all its errors together."""
    program = Program(source, folders or (Path.cwd(),), catalog or Catalog())
    parsed = parse_script(source)
    errors = parsed.errors
    for name in parsed.broken:
        program.catalog.mark_broken(name)
    for statement in parsed.statements:
        try:
            apply(program, statement)
        except QueryError as error:
            errors.append(error.inside(source, statement.span))
            _mark_broken(program, statement)
        except QueryErrors as several:
            errors += [error.inside(source, statement.span) for error in several.errors]
            _mark_broken(program, statement)
    shown = [error for error in errors if not isinstance(error, UsesBrokenName)]
    if shown:
        raise QueryErrors([_with_later_definition(error, parsed.statements) for error in shown])
    return program


def _mark_broken(program: Program, statement: Statement) -> None:
    if isinstance(statement, CreateStream | CreateTable | CreateQuery | CreateView):
        program.catalog.mark_broken(statement.name.text)


def _with_later_definition(error: QueryError, statements: list[Statement]) -> QueryError:
    """Say so where a name is missing only because it is created further down."""
    if error.span is None or not isinstance(error, UnknownName):
        return error
    for statement in statements:
        if (
            isinstance(statement, CreateStream | CreateTable | CreateQuery | CreateView)
            and statement.name.text.lower() == error.name.lower()
            and statement.span.start > error.span.start
        ):
            error.hint = f"{statement.name} is created further down: move it up"
    return error


def apply(program: Program, statement: Statement) -> None:
    """Carry out one statement."""
    try:
        _apply(program, statement)
    except RecursionError:
        start = statement.span.start
        raise QueryError("the statement is nested too deeply", Span(start, start + 1)) from None


def _apply(program: Program, statement: Statement) -> None:
    match statement:
        case CreateStream():
            program.catalog.define(_stream(program, statement), statement.name.span)
        case CreateTable():
            program.catalog.define(_table(program, statement), statement.name.span)
        case CreateQuery():
            query = bind_query(program, statement.name, statement.query, statement.span)
            program.catalog.define(query, statement.name.span)
        case CreateView():
            _check_name(statement.name)
            view = View(
                statement.name.text,
                tuple(name.text for name in statement.columns),
                statement.query,
                program.source,
                program.settings,
            )
            _check_view(program, view, statement)
            program.catalog.define(view, statement.name.span)
        case CreateSink():
            program.catalog.define(_sink(program, statement), statement.name.span)
        case CreateFunction():
            program.catalog.define(_function(program, statement), statement.name.span)
        case Drop():
            _drop(program, statement)
        case SetOption():
            program.settings = changed(
                program.settings,
                statement.name.text,
                statement.value,
                statement.name.span,
                statement.value_span,
            )
        case Explain():
            program.explains.append(_explain(program, statement))


# A name becomes the name of a file wherever an answer or a list is written.
_NAME = re.compile(r"[^\W_][\w -]*")
_LONGEST_NAME_BYTES = 200


def _check_name(name: Name) -> None:
    if name.text.startswith("_"):
        raise QueryError(
            f'the name "{name}" starts with an underscore',
            name.span,
            detail="Such names are kept for Thalweg's own outputs.",
        )
    if not _NAME.fullmatch(name.text) or len(name.text.encode()) > _LONGEST_NAME_BYTES:
        raise QueryError(
            f"{name.text[:_LONGEST_NAME_BYTES]!r} cannot be a name",
            name.span,
            detail="Names are made of letters, digits, underscores, hyphens and spaces, begin with "
            f"a letter or a digit, and have at most {_LONGEST_NAME_BYTES} bytes.",
        )


def _columns(declared: tuple[ColumnDeclaration, ...]) -> tuple[Schema, frozenset[int]]:
    seen: set[str] = set()
    for column in declared:
        if column.name.text.lower() in seen:
            raise QueryError(f'column "{column.name}" is declared twice', column.name.span)
        seen.add(column.name.text.lower())
    fields = tuple(Field(column.name.text, column.type) for column in declared)
    return fields, frozenset(i for i, column in enumerate(declared) if not column.nullable)


def _position(name: Name, columns: Schema, of: Name) -> int:
    for i, column in enumerate(columns):
        if column.name.lower() == name.text.lower():
            return i
    names = [column.name for column in columns]
    raise QueryError(
        f'"{of}" has no column "{name}"',
        name.span,
        detail=f"{of} has: {', '.join(names)}.",
        hint=did_you_mean(name.text, names),
    )


def _stream(program: Program, statement: CreateStream) -> Stream:
    _check_name(statement.name)
    columns, required = _columns(statement.columns)
    connector = checked_connector(statement.connector, SOURCES, "source", program.source)
    time, unit = _event_time(statement, columns, connector)
    slack = 0
    if statement.slack is not None:
        slack = statement.slack.ticks(unit or Unit.MICROSECOND, unit, "slack")
    skew = None
    if statement.skew is not None:
        if not is_live(connector):
            raise QueryError(
                "SKEW goes with a source that is live",
                statement.skew.span,
                detail="Of other sources the rows alone say how far time has come.",
                hint="follow a folder (follow = true), or leave SKEW out",
            )
        skew = statement.skew.ticks(unit or Unit.MICROSECOND, unit, "skew")
    stream = Stream(
        name=statement.name.text,
        columns=columns,
        time_column=time,
        unit=unit,
        slack=slack,
        rank=program.catalog.next_rank(),
        key=tuple(_position(name, columns, statement.name) for name in statement.key),
        required=required,
        connector=connector,
        unit_declared=statement.unit is not None,
        zone=program.settings.timezone,
        skew=skew,
    )
    _check_source(program, stream)
    return stream


def _event_time(
    statement: CreateStream, columns: Schema, connector: Connector
) -> tuple[int | None, Unit | None]:
    """The position of the event time, and the unit of an integer one."""
    declared = statement.unit and unit_named(statement.unit.text, statement.unit.span)
    if statement.time is None:
        if connector.name == "memory":
            return None, declared or Unit.SECOND
        raise QueryError(
            f'stream "{statement.name}" does not say which column is its event time',
            statement.name.span,
            hint="write TIMESTAMP BY column after the columns",
        )
    time = _position(statement.time, columns, statement.name)
    type_ = columns[time].type
    if is_integral(type_):
        return time, declared or Unit.SECOND
    if type_ != TIMESTAMP:
        raise QueryError(
            f"event time must be an integer or a TIMESTAMP, not {type_}",
            statement.time.span,
            hint="store it as a BIGINT of microseconds, or as a TIMESTAMP",
        )
    if declared is not None:
        assert statement.unit is not None, "a unit was declared"
        raise QueryError(
            "UNIT goes with an integer event time",
            statement.unit.span,
            detail=f"{columns[time].name} is a TIMESTAMP: its unit is the microsecond.",
        )
    return time, None


def _table(program: Program, statement: CreateTable) -> Table:
    _check_name(statement.name)
    columns, required = _columns(statement.columns)
    if statement.refresh is not None:
        raise QueryError(
            "REFRESH is not available yet",
            statement.refresh.span,
            detail="The clause is part of the language; this version reads a table once.",
        )
    table = Table(
        name=statement.name.text,
        columns=columns,
        key=tuple(_position(name, columns, statement.name) for name in statement.key),
        required=required,
        connector=checked_connector(statement.connector, SOURCES, "source", program.source),
        zone=program.settings.timezone,
    )
    if table.connector is not None and is_live(table.connector):
        raise table.connector.error("a table is read once, and cannot be live")
    _check_source(program, table)
    return table


def _check_source(program: Program, entry: Stream | Table) -> None:
    assert entry.connector is not None, "a declared stream has a connector"
    SOURCES[entry.connector.name].check(program.read_request(entry))


def bind_query(program: Program, name: Name, syntax: exp.Expr, span: Span) -> Query:
    _check_name(name)
    time = _time_of(syntax, program.catalog)
    binder = QueryBinder(
        program.catalog, program.settings, program.source, time.tick, time.bare_unit
    )
    plan = binder.bind(syntax)
    if not reads_stream(plan):
        raise QueryError(
            "the query reads no stream",
            span,
            detail="Without a stream there is no time, and nothing that continues.",
            hint="join the tables with a stream",
        )
    return Query(name.text, plan, time.tick, time.bare_unit, program.settings, program.source, span)


@dataclass(frozen=True, slots=True)
class QueryTime:
    """How time moves in a query: by the finest unit of the streams it reads.

    `bare_unit` is None if any of them has SQL timestamps.
    """

    tick: Unit
    bare_unit: Unit | None


def _time_of(syntax: exp.Expr, catalog: Catalog) -> QueryTime:
    times = list(_times_below(syntax, catalog))
    tick = min((tick for tick, _ in times), key=lambda unit: unit.value, default=Unit.SECOND)
    return QueryTime(tick, None if any(bare is None for _, bare in times) else tick)


def _times_below(
    syntax: exp.Expr, catalog: Catalog, open_views: frozenset[str] = frozenset()
) -> Iterator[tuple[Unit, Unit | None]]:
    """(tick, unit of bare numbers) of everything that FROM names."""
    for name in _names_read(syntax):
        entry = catalog.find(name)
        if isinstance(entry, Stream):
            yield entry.tick, entry.unit
        elif isinstance(entry, Query):
            yield entry.tick, entry.bare_unit
        elif isinstance(entry, View) and name not in open_views:
            # What WITH calls by a name out here means nothing inside the view.
            yield from _times_below(entry.syntax, catalog, open_views | {name})


def _names_read(syntax: exp.Expr) -> Iterator[str]:
    """The names in FROM that mean an entry of the catalog, in lower case."""
    # With each node the names that a WITH clause around it has given another meaning.
    todo: list[tuple[exp.Expr, frozenset[str]]] = [(syntax, frozenset())]
    while todo:
        node, hidden = todo.pop()
        clause = node.args.get("with_")
        for part in clause.expressions if clause is not None else ():
            todo.append((part.this, hidden))
            hidden |= {part.alias.lower()}
        if isinstance(node, exp.Table) and node.name.lower() not in hidden:
            yield node.name.lower()
        todo += [(child, hidden) for child in node.iter_expressions() if child is not clause]


def _check_view(program: Program, view: View, statement: CreateView) -> None:
    """Bind the view once, so that its mistakes show where it is created."""
    time = _time_of(view.syntax, program.catalog)
    binder = QueryBinder(
        program.catalog, program.settings, program.source, time.tick, time.bare_unit
    )
    plan = binder.query(view.syntax, None)
    if view.columns and len(view.columns) != len(plan.schema):
        raise QueryError(
            f"{len(view.columns)} column names for {len(plan.schema)} columns",
            statement.columns[0].span,
        )


def _sink(program: Program, statement: CreateSink) -> Sink:
    _check_name(statement.name)
    entry = program.catalog.find(statement.query.text)
    if not isinstance(entry, Query):
        if program.catalog.is_broken(statement.query.text):
            raise UsesBrokenName(statement.query.span)
        names = [query.name for query in program.catalog.queries()]
        raise QueryError(
            f'there is no query "{statement.query}"',
            statement.query.span,
            detail=f'"{statement.query}" is a {kind_of(entry)}.' if entry else None,
            hint=did_you_mean(statement.query.text, names)
            or "a sink takes the answers of a query made with CREATE QUERY",
        )
    connector = checked_connector(statement.connector, SINKS, "sink", program.source)
    SINKS[connector.name].check(connector)
    return Sink(statement.name.text, entry.name, connector)


def _function(program: Program, statement: CreateFunction) -> Function:
    _check_name(statement.name)
    if statement.name.text.lower() in (*SCALARS, *AGGREGATES):
        raise QueryError(
            f'"{statement.name}" is a built-in function',
            statement.name.span,
            hint="choose another name",
        )
    code = load_python(statement.path, program.folders, statement.aggregate, statement.path_span)
    if is_vectorized(code) and not statement.parameters:
        raise QueryError(
            f'"{statement.name}" takes whole columns, but has no parameters',
            statement.name.span,
            detail="Without a column it cannot know for how many rows it is asked.",
        )
    return Function(
        statement.name.text,
        tuple(parameter.type for parameter in statement.parameters),
        statement.returns,
        statement.path,
        statement.aggregate,
        merges=statement.aggregate and is_vectorized(code) and hasattr(code, "merge"),
    )


def load_python(
    path: str, folders: tuple[Path, ...], aggregate: bool, span: Span | None = None
) -> Any:
    """The Python object at `module:name`; the script's folder counts as a place for modules."""
    module_name, colon, attribute = path.partition(":")
    if not colon or not module_name or not attribute:
        raise QueryError(
            f"'{path}' is not an import path", span, hint="write 'package.module:name'"
        )
    for folder in reversed(folders):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    try:
        found: Any = importlib.import_module(module_name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a script of its own may well end in sys.exit()
        raise QueryError(
            f"cannot import {module_name}", span, detail=describe_exception(error)
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise QueryError(
                f'{module_name} has no "{attribute}"',
                span,
                hint=did_you_mean(part, [n for n in dir(found) if not n.startswith("_")]),
            )
        found = getattr(found, part)
    if not callable(found):
        raise QueryError(f"{path} is not a function", span)
    if aggregate:
        for method in ("add", "result"):
            if not hasattr(found, method):
                raise QueryError(
                    f"{path} has no method {method}",
                    span,
                    detail="An aggregate is a class with add(self, …) and result(self).",
                )
    return found


def _drop(program: Program, statement: Drop) -> None:
    kind, name = statement.kind.lower(), statement.name
    catalog = program.catalog
    functional = kind in ("function", "aggregate")
    entry = catalog.function(name.text) if functional else catalog.find(name.text)
    if entry is None and statement.if_exists:
        return
    if entry is None and catalog.is_broken(name.text):
        raise UsesBrokenName(name.span)
    if entry is not None and kind_of(entry) == kind and not functional:
        user = _reader_of(catalog, name.text)
        if user is not None:
            raise QueryError(
                f'{kind} "{name}" is in use',
                name.span,
                detail=f'{kind_of(user)} "{user.name}" reads it.',
                hint=f"DROP {kind_of(user).upper()} {user.name} first",
            )
    catalog.drop(kind, name.text, name.span)


def _reader_of(catalog: Catalog, name: str) -> Entry | None:
    """Something that reads the named entry."""
    wanted = name.lower()
    for entry in catalog:
        match entry:
            case View(syntax=syntax):
                if wanted in _names_read(syntax):
                    return entry
            case Query(plan=plan):
                read = {getattr(node, "name", "").lower() for node in plan.walk()}
                if wanted in read:
                    return entry
            case Sink(query=query):
                if query.lower() == wanted:
                    return entry
    return None


def _explain(program: Program, statement: Explain) -> ExplainRequest:
    subject = statement.subject
    if isinstance(subject, Name):
        try:
            return ExplainRequest(program.query(subject.text), statement.stage)
        except QueryError as error:
            if program.catalog.is_broken(subject.text):
                raise UsesBrokenName(subject.span) from None
            error.span = subject.span
            raise
    name = Name("query", span_of(subject) or statement.span)
    return ExplainRequest(bind_query(program, name, subject, statement.span), statement.stage)
