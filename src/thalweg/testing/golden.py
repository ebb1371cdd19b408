"""Golden scripts: a stream as a script, with the answer it must give.

    # Pushed below the ROWS window, the filter would lose the answer at 3.
    stream Trades(symbol text, price int)

    query q
    SELECT Istream(symbol) FROM Trades [Rows 1] WHERE price > 10

    feed Trades
    1 | IBM | 12
    2 | SUN | 9
    3 | IBM | 15

    output q
    1 | IBM
    3 | IBM

A section starts with its word at the beginning of a line:

    stream DECLARATION   as in CREATE STREAM; without TIMESTAMP BY, the first cell
                         of each feed row is the event time, in seconds
    table DECLARATION    as in CREATE TABLE, followed by its rows
    view NAME, query NAME  followed by the query
    script               any statements, as in a .cql file
    feed STREAM          rows in the order of arrival; `! word` lines are for
                         engines that can stop, crash or idle a source
    output QUERY         the answer: `time | columns` of a stream,
                         `time | sign | columns` of a relation
    plan QUERY           the plan after all rewrites (`plan QUERY bound`: before;
                         `plan all global` and `plan all job`: of all queries)
    late STREAM          rows that must be late
    rejects STREAM       rows that must be rejected: `number | reason`
    failures             calls that must fail: `expression | reason`
    error                the mistakes that must be found

Lines that start with # are comments. Accepting rewrites what is expected. A
script that expects nothing fails, and so does one with an expectation that cannot
be checked because of a mistake before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile

from thalweg.answers import Change
from thalweg.catalog import Query, Stream, Table
from thalweg.cql.script import parse_query, parse_script
from thalweg.cql.statements import CreateQuery, CreateView, Name, Statement
from thalweg.errors import QueryError, QueryErrors, SourceText, Span, UsesBrokenName
from thalweg.explain import plan_at, tree
from thalweg.explain_job import explain_global, explain_job, text_of
from thalweg.functions.registry import Failure
from thalweg.intake.accept import Accepting
from thalweg.program import Program, apply
from thalweg.testing.cells import cell_text, parse_cell, parse_row, split_row
from thalweg.testing.compare import differences
from thalweg.testing.engines import Engine, Ran, reference
from thalweg.testing.feeds import FeedRow, Feeds, Values, accepted
from thalweg.testing.sections import (
    WHOLE_STAGES,
    GoldenError,
    GoldenScript,
    Line,
    Section,
    plan_section,
)
from thalweg.types import BIGINT, Schema


def bind_golden(script: GoldenScript) -> tuple[Program, Feeds, list[QueryError]]:
    """The program and feeds of a script, and the mistakes found in it."""
    program = Program(SourceText(script.name, ""), (script.folder,))
    errors: list[QueryError] = []
    tables: dict[str, list[Values]] = {}
    for section in script.sections:
        source = _source(section)
        if source is None:
            continue
        program.source = source
        _bind_section(section, source, program, errors)
        if section.word == "table" and not errors:
            table = _last(program.catalog.tables(), section)
            tables[table.name] = [
                _row(_cells(row, script), table.columns, row, script) for row in section.rows
            ]
    if errors:
        return program, Feeds(), errors
    streams: dict[str, list[FeedRow]] = {}
    for section in script.of("feed"):
        stream = _stream_of(section, program, script)
        rows = streams.setdefault(stream.name, [])
        rows += [_feed_row(row, stream, script) for row in section.rows]
    return program, Feeds(streams, tables), []


def _source(section: Section) -> SourceText | None:
    match section.word:
        case "stream":
            return SourceText("stream", f"CREATE STREAM {section.argument} FROM memory()")
        case "table":
            return SourceText("table", f"CREATE TABLE {section.argument} FROM memory()")
        case "view" | "query":
            return SourceText(section.argument, section.body)
        case "script":
            return SourceText("script", section.body)
    return None


def _bind_section(
    section: Section, source: SourceText, program: Program, errors: list[QueryError]
) -> None:
    name = Name(section.argument, Span(0, 0))
    statements: list[Statement] = []
    try:
        if section.word == "query":
            statements = [CreateQuery(name, parse_query(source), Span(0, len(source.text)))]
        elif section.word == "view":
            statements = [CreateView(name, (), parse_query(source), Span(0, len(source.text)))]
        else:
            parsed = parse_script(source)
            statements = parsed.statements
            errors += parsed.errors
            for broken in parsed.broken:
                program.catalog.mark_broken(broken)
        for statement in statements:
            _apply(program, statement, source, errors)
    except QueryError as error:
        errors.append(error.inside(source))
        program.catalog.mark_broken(section.argument)


def _apply(
    program: Program, statement: Statement, source: SourceText, errors: list[QueryError]
) -> None:
    try:
        apply(program, statement)
        return
    except QueryError as error:
        found = [error]
    except QueryErrors as several:
        found = several.errors
    shown = [error.inside(source) for error in found if not isinstance(error, UsesBrokenName)]
    errors += shown
    name = getattr(statement, "name", None)
    if isinstance(name, Name):
        program.catalog.mark_broken(name.text)


def _last(tables: list[Table], section: Section) -> Table:
    assert tables, f"table {section.argument} was just defined"
    return tables[-1]


def _stream_of(section: Section, program: Program, script: GoldenScript) -> Stream:
    stream = program.catalog.find(section.argument)
    if not isinstance(stream, Stream):
        raise script.wrong(section.number, f'there is no stream "{section.argument}"')
    return stream


def _query_of(name: str, section: Section, program: Program, script: GoldenScript) -> Query:
    try:
        return program.query(name)
    except QueryError as error:
        detail = f". {error.detail}" if error.detail else ""
        raise script.wrong(section.number, error.message + detail) from None


def _cells(row: Line, script: GoldenScript) -> list[str]:
    try:
        return split_row(row.text)
    except Failure as failure:
        raise script.wrong(row.number, f"{row.text}: {failure}") from None


def _row(cells: list[str], columns: Schema, row: Line, script: GoldenScript) -> Values:
    try:
        return parse_row(cells, columns)
    except Failure as failure:
        raise script.wrong(row.number, f"{row.text}: {failure}") from None


def _time(cell: str, row: Line, script: GoldenScript) -> int | None:
    try:
        time = parse_cell(cell, BIGINT)
    except Failure as failure:
        raise script.wrong(row.number, f"{row.text}: the time: {failure}") from None
    assert time is None or isinstance(time, int), "a BIGINT is an integer"
    return time


def _feed_row(row: Line, stream: Stream, script: GoldenScript) -> FeedRow:
    cells = _cells(row, script)
    if stream.time_column is not None:
        return FeedRow(_row(cells, stream.columns, row, script))
    time = _time(cells[0], row, script)
    return FeedRow(_row(cells[1:], stream.columns, row, script), time)


@dataclass(frozen=True)
class Verdict:
    """How a script went: complaints, empty if all is as expected, and what it gave."""

    complaints: list[str]
    text: str

    @property
    def passed(self) -> bool:
        return not self.complaints


def run_golden(script: GoldenScript, engine: Engine = reference) -> Verdict:
    """Run a script on an engine and compare with what it expects.

    `Verdict.text` is the script with its expectations replaced by what happened.
    Raises `GoldenError` where the script itself is wrong, with file and line.
    """
    if not script.expectations():
        raise GoldenError(f"{script.name}: nothing is expected; add a section output QUERY")
    program, feeds, errors = bind_golden(script)
    if errors or script.of("error"):
        return _verdict_on_errors(script, errors)
    ran = engine(program, feeds)
    checks: dict[str, Callable[[Section], tuple[list[str], list[str]]]] = {
        "output": lambda section: _check_output(section, program, ran, script),
        "plan": lambda section: _check_plan(section, program, script),
        "late": lambda section: _check_late(section, program, feeds, script),
        "rejects": lambda section: _check_rejects(section, program, feeds, script),
        "failures": lambda section: _check_failures(section, ran),
    }
    actual: dict[int, list[str]] = {}
    complaints: list[str] = []
    for i, section in enumerate(script.sections):
        if section.word in checks:
            wrong, lines = checks[section.word](section)
            if wrong:
                complaints += wrong
                actual[i] = lines
    return Verdict(complaints, _with_expectations(script, actual))


def _verdict_on_errors(script: GoldenScript, errors: list[QueryError]) -> Verdict:
    """Of a script that has mistakes or expects some: nothing else of it can be checked."""
    found = "\n\n".join(error.render() for error in errors)
    if not script.of("error"):
        return Verdict(["unexpected error:", *found.split("\n")], _with_expectations(script, {}))
    others = [section for section in script.expectations() if section.word != "error"]
    if others:
        raise script.wrong(
            others[0].number, f"{others[0].heading.strip()} is not checked beside an error section"
        )
    if not errors:
        return Verdict(
            ["a mistake was expected, and there is none"], _with_expectations(script, {})
        )
    actual: dict[int, list[str]] = {}
    complaints: list[str] = []
    for i, section in enumerate(script.sections):
        if section.word == "error":
            actual[i] = found.split("\n")
            complaints += _line_complaints("error", section.expected, actual[i])
    return Verdict(complaints, _with_expectations(script, actual))


def _check_output(
    section: Section, program: Program, ran: Ran, script: GoldenScript
) -> tuple[list[str], list[str]]:
    query = _query_of(section.argument, section, program, script)
    columns = query.plan.schema
    wanted = [_expected_change(row, query, script) for row in section.rows]
    got = ran.answers[query.name]
    wrong = differences(wanted, got, columns)
    title = [f"output {query.name} differs:"] if wrong else []
    return title + wrong, [change_line(change, query) for change in got]


def _expected_change(row: Line, query: Query, script: GoldenScript) -> Change:
    time_cell, *cells = _cells(row, script)
    time = _time(time_cell, row, script)
    if time is None:
        raise script.wrong(row.number, f"{row.text}: the time is NULL")
    sign = "+" if query.plan.is_stream else "".join(cells[:1])
    if sign not in ("+", "-"):
        raise script.wrong(
            row.number, f"{row.text}: {query.name} answers as a relation: + or - after the time"
        )
    values = cells if query.plan.is_stream else cells[1:]
    return Change(time, sign, _row(values, query.plan.schema, row, script))


def change_line(change: Change, query: Query) -> str:
    """One line of an output section."""
    cells = [
        cell_text(value, column.type)
        for value, column in zip(change.values, query.plan.schema, strict=True)
    ]
    signs = [] if query.plan.is_stream else [change.sign]
    return " | ".join([str(change.time), *signs, *cells])


def _check_plan(
    section: Section, program: Program, script: GoldenScript
) -> tuple[list[str], list[str]]:
    name, stage = plan_section(section)
    if stage in WHOLE_STAGES:
        only = None if name == "all" else _query_of(name, section, program, script)
        explained = explain_job if stage == "job" else explain_global
        lines = text_of(explained(program, only)).splitlines()
    else:
        query = _query_of(name, section, program, script)
        lines = list(tree(plan_at(query, stage), query.tick, depth=0))
    return _line_complaints(f"plan {name}", section.expected, lines), lines


def _accepting(section: Section, program: Program, feeds: Feeds, script: GoldenScript) -> Accepting:
    stream = _stream_of(section, program, script)
    rows = feeds.streams.get(stream.name, ())
    return accepted(stream, rows, program.catalog.finest_tick())


def _check_rejects(
    section: Section, program: Program, feeds: Feeds, script: GoldenScript
) -> tuple[list[str], list[str]]:
    rejects = _accepting(section, program, feeds, script).rejects
    lines = [f"{reject.place.rsplit(':', 1)[-1]} | {reject.reason}" for reject in rejects]
    return _line_complaints(f"rejects {section.argument}", _texts(section), lines), lines


def _check_late(
    section: Section, program: Program, feeds: Feeds, script: GoldenScript
) -> tuple[list[str], list[str]]:
    state = _accepting(section, program, feeds, script)
    stream = state.stream
    lines = [
        " | ".join(
            cell_text(value, column.type)
            for value, column in zip(row.values, stream.columns, strict=True)
        )
        for row in state.late
    ]
    return _line_complaints(f"late {stream.name}", _texts(section), lines), lines


def _texts(section: Section) -> list[str]:
    return [row.text for row in section.rows]


def _check_failures(section: Section, ran: Ran) -> tuple[list[str], list[str]]:
    lines = sorted({f"{text} | {reason}" for text, reason, _ in ran.failures.noted})
    return _line_complaints("failures", _texts(section), lines), lines


def _line_complaints(what: str, expected: Iterable[str], actual: list[str]) -> list[str]:
    wanted = [line.rstrip() for line in expected]
    got = [line.rstrip() for line in actual]
    if wanted == got:
        return []
    return [f"{what} differs; expected:", *wanted, "but it is:", *got]


def _with_expectations(script: GoldenScript, actual: dict[int, list[str]]) -> str:
    """The text of the script, with the bodies of those sections replaced that differ."""
    lines = list(script.preamble)
    for i, section in enumerate(script.sections):
        lines.append(section.heading)
        if i not in actual:
            lines += section.lines
            continue
        lines += [line for line in section.lines if line.startswith("#")]
        lines += [line.rstrip() for line in actual[i]]
        while_blank = takewhile(lambda line: not line.strip(), reversed(section.lines))
        lines += [""] * len(list(while_blank))
    return "\n".join(lines).rstrip() + "\n"
