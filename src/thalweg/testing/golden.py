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
    feed NAME            rows in the order of arrival; `! word` lines are for
                         engines that can stop, crash or idle a source
    output QUERY         the answer: `time | columns` of a stream,
                         `time | sign | columns` of a relation
    plan QUERY           the plan after all rewrites (`plan QUERY bound`: before)
    late STREAM          rows that must be late
    rejects STREAM       rows that must be rejected: `number | reason`
    failures             calls that must fail: `expression | reason`
    error                the mistakes that must be found

Lines that start with # are comments. Accepting rewrites what is expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from thalweg.answers import Change
from thalweg.catalog import Query, Stream, Table
from thalweg.cql.script import parse_query, parse_script
from thalweg.cql.statements import CreateQuery, CreateView, Name, Statement
from thalweg.errors import QueryError, QueryErrors, SourceText, Span, UsesBrokenName
from thalweg.explain import plan_at, tree
from thalweg.functions.registry import Failure
from thalweg.intake.accept import Accepting
from thalweg.program import Program, apply
from thalweg.testing.cells import cell_text, parse_row, split_row
from thalweg.testing.compare import differences
from thalweg.testing.engines import Engine, Ran, reference
from thalweg.testing.feeds import FeedRow, Feeds, accepted
from thalweg.types import Schema

_OPENING = re.compile(
    r"(stream|table|view|query|script|feed|output|plan|late|rejects|failures|error)"
    r"(?:[ \t]+(.*))?\Z"
)


class GoldenError(Exception):
    """The script itself is malformed."""


@dataclass
class Section:
    word: str
    argument: str
    heading: str
    lines: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[str]:
        return [
            line for line in self.lines if line.strip() and not line.lstrip().startswith(("#", "!"))
        ]

    @property
    def body(self) -> str:
        return "\n".join(self.lines).strip("\n")


@dataclass
class GoldenScript:
    """A parsed script: what comes before the first section, and the sections."""

    name: str
    preamble: list[str]
    sections: list[Section]
    folder: Path

    def expects(self, word: str) -> list[Section]:
        return [section for section in self.sections if section.word == word]


def parse_golden(text: str, name: str = "script", folder: Path | None = None) -> GoldenScript:
    script = GoldenScript(name, [], [], folder or Path.cwd())
    for line in text.splitlines():
        opening = _OPENING.match(line)
        if opening:
            script.sections.append(Section(opening[1], (opening[2] or "").strip(), line))
        elif script.sections:
            script.sections[-1].lines.append(line)
        elif line.strip() and not line.startswith("#"):
            raise GoldenError(f"{name}: a section is needed before {line!r}")
        else:
            script.preamble.append(line)
    if not script.sections:
        raise GoldenError(f"{name}: no section found")
    return script


def read_golden(path: Path) -> GoldenScript:
    return parse_golden(path.read_text(encoding="utf-8"), path.name, path.parent)


def bind_golden(script: GoldenScript) -> tuple[Program, Feeds, list[QueryError]]:
    """The program and feeds of a script, and the mistakes found in it."""
    program = Program(SourceText(script.name, ""), (script.folder,))
    errors: list[QueryError] = []
    tables: dict[str, list[tuple[object, ...]]] = {}
    for section in script.sections:
        source = _source(section)
        if source is None:
            continue
        program.source = source
        _bind_section(section, source, program, errors)
        if section.word == "table" and not errors:
            table = _last(program.catalog.tables(), section)
            tables[table.name] = [
                _row(split_row(row), table.columns, script) for row in section.rows
            ]
    if errors:
        return program, Feeds(), errors
    streams: dict[str, list[FeedRow]] = {}
    for section in script.expects("feed"):
        entry = program.catalog.find(section.argument)
        if not isinstance(entry, Stream):
            raise GoldenError(f"{script.name}: feed {section.argument} is no stream")
        rows = streams.setdefault(entry.name, [])
        rows += [_feed_row(row, entry, script) for row in section.rows]
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


def _row(cells: list[str], columns: Schema, script: GoldenScript) -> tuple[object, ...]:
    try:
        return parse_row(cells, columns)
    except Failure as failure:
        raise GoldenError(f"{script.name}: {' | '.join(cells)}: {failure}") from None


def _feed_row(line: str, stream: Stream, script: GoldenScript) -> FeedRow:
    cells = split_row(line)
    if stream.time_column is not None:
        return FeedRow(_row(cells, stream.columns, script))
    time = None if cells[0] == "NULL" else int(cells[0])
    return FeedRow(_row(cells[1:], stream.columns, script), time)


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
    """
    program, feeds, errors = bind_golden(script)
    actual: dict[int, list[str]] = {}
    complaints: list[str] = []
    if errors or script.expects("error"):
        for i, section in enumerate(script.sections):
            if section.word == "error":
                actual[i] = "\n\n".join(error.render() for error in errors).splitlines()
                complaints += _line_complaints("error", section.body.splitlines(), actual[i])
        if not actual:
            complaints += ["unexpected error:", *(error.render() for error in errors)]
        return Verdict(complaints, _with_expectations(script, actual))
    ran = engine(program, feeds)
    checks: dict[str, Callable[[Section], tuple[list[str], list[str]]]] = {
        "output": lambda section: _check_output(section, program, ran, script),
        "plan": lambda section: _check_plan(section, program),
        "late": lambda section: _check_late(section, program, feeds),
        "rejects": lambda section: _check_rejects(section, program, feeds),
        "failures": lambda section: _check_failures(section, ran),
    }
    for i, section in enumerate(script.sections):
        if section.word in checks:
            wrong, lines = checks[section.word](section)
            if wrong:
                complaints += wrong
                actual[i] = lines
    return Verdict(complaints, _with_expectations(script, actual))


def _check_output(
    section: Section, program: Program, ran: Ran, script: GoldenScript
) -> tuple[list[str], list[str]]:
    query = program.query(section.argument)
    columns = query.plan.schema
    wanted = [_expected_change(row, query, script) for row in section.rows]
    got = ran.answers[query.name]
    wrong = differences(wanted, got, columns)
    title = [f"output {query.name} differs:"] if wrong else []
    return title + wrong, [change_line(change, query) for change in got]


def _expected_change(line: str, query: Query, script: GoldenScript) -> Change:
    cells = split_row(line)
    sign = "+" if query.plan.is_stream else cells.pop(1)
    if sign not in ("+", "-"):
        raise GoldenError(f"{script.name}: {line!r}: the sign must be + or -")
    return Change(int(cells[0]), sign, _row(cells[1:], query.plan.schema, script))


def change_line(change: Change, query: Query) -> str:
    """One line of an output section."""
    cells = [
        cell_text(value, column.type)
        for value, column in zip(change.values, query.plan.schema, strict=True)
    ]
    signs = [] if query.plan.is_stream else [change.sign]
    return " | ".join([str(change.time), *signs, *cells])


def _check_plan(section: Section, program: Program) -> tuple[list[str], list[str]]:
    name, _, stage = section.argument.partition(" ")
    query = program.query(name)
    lines = list(tree(plan_at(query, stage.strip() or "logical"), query.tick, depth=0))
    return _line_complaints(f"plan {name}", section.body.splitlines(), lines), lines


def _accepting(section: Section, program: Program, feeds: Feeds) -> Accepting:
    stream = program.catalog.find(section.argument)
    if not isinstance(stream, Stream):
        raise GoldenError(f"{section.word} {section.argument} is no stream")
    return accepted(stream, feeds.streams.get(stream.name, ()))


def _check_rejects(section: Section, program: Program, feeds: Feeds) -> tuple[list[str], list[str]]:
    rejects = _accepting(section, program, feeds).rejects
    lines = [f"{reject.place.rsplit(':', 1)[-1]} | {reject.reason}" for reject in rejects]
    return _line_complaints(f"rejects {section.argument}", section.rows, lines), lines


def _check_late(section: Section, program: Program, feeds: Feeds) -> tuple[list[str], list[str]]:
    state = _accepting(section, program, feeds)
    stream = state.stream
    lines = [
        " | ".join(
            cell_text(value, column.type)
            for value, column in zip(row.values, stream.columns, strict=True)
        )
        for row in state.late
    ]
    return _line_complaints(f"late {stream.name}", section.rows, lines), lines


def _check_failures(section: Section, ran: Ran) -> tuple[list[str], list[str]]:
    lines = sorted({f"{text} | {reason}" for text, reason, _ in ran.failures.noted})
    return _line_complaints("failures", section.rows, lines), lines


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
        blank = len(section.lines) - len("\n".join(section.lines).rstrip().splitlines())
        lines += [""] * (blank if section.lines else 0)
    return "\n".join(lines).rstrip() + "\n"
