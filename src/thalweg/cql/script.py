"""A script: its text, split into statements and parsed; all syntax errors at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlglot import exp
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.cql.dialect import Cql
from thalweg.cql.statement_parser import CqlParser
from thalweg.cql.statements import Statement
from thalweg.cql.syntax_errors import Problem, token_span
from thalweg.errors import QueryError, SourceText, Span

# A script is written by people; what is larger is a data file given by mistake.
MAX_SCRIPT_CHARACTERS = 1_000_000

_CLOSERS = {"'": "'", '"': '"', "`": "`", "--": "\n", "/*": "*/"}

T = TypeVar("T")


def read_script(path: Path) -> SourceText:
    """The text of a script file."""
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise QueryError(f"{path} is a folder, not a script") from None
    except FileNotFoundError:
        raise QueryError(f"there is no file {path}") from None
    except OSError as error:
        raise QueryError(f"cannot read {path}: {error.strerror}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise QueryError(
            f"{path} is not text in UTF-8",
            detail=f"Byte {error.start} (line {line}) is 0x{raw[error.start]:02x}.",
            hint="is it a CQL script?",
        ) from None
    return SourceText(path.name, text)


@dataclass
class Parsed:
    """The statements that parse, the errors of those that do not, and their names."""

    statements: list[Statement] = field(default_factory=list)
    errors: list[QueryError] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


def parse_script(source: SourceText) -> Parsed:
    """A script, statement by statement."""
    parsed = Parsed()
    try:
        chunks = _chunks(_tokens(source))
    except QueryError as error:
        parsed.errors.append(error.inside(source))
        return parsed
    for chunk in chunks:
        try:
            parsed.statements.append(_parse(source, chunk, CqlParser.cql_statement))
        except QueryError as error:
            parsed.errors.append(error)
            if chunk[0].token_type == TokenType.CREATE and len(chunk) > 2:
                parsed.broken.append(chunk[2].text)
    return parsed


def parse_query(source: SourceText) -> exp.Expr:
    """A single SELECT, without a statement around it."""
    chunks = _chunks(_tokens(source))
    if len(chunks) != 1:
        raise QueryError("expected one query", source=source)
    return _parse(source, chunks[0], CqlParser._query)


def _tokens(source: SourceText) -> list[Token]:
    if len(source.text) > MAX_SCRIPT_CHARACTERS:
        raise QueryError(
            f"{source.name} has {len(source.text):,} characters",
            detail=f"A script may have {MAX_SCRIPT_CHARACTERS:,}.",
            hint="is it a CQL script?",
        )
    zero = source.text.find("\0")
    if zero >= 0:
        raise QueryError(
            "a script cannot contain a zero byte",
            Span(zero, zero + 1),
            hint="is it a CQL script?",
            source=source,
        )
    try:
        return Cql().tokenize(source.text)
    except (TokenError, ValueError, OverflowError):
        raise _unreadable(source) from None


def _unreadable(source: SourceText) -> QueryError:
    """Where the first quote or comment opens that is never closed."""
    text, position = source.text, 0
    while position < len(text):
        opener = next((o for o in _CLOSERS if text.startswith(o, position)), None)
        if opener is None:
            position += 1
            continue
        end = position + len(opener)
        closer = _CLOSERS[opener]
        while not text.startswith(closer, end):
            end += 2 if text[end : end + 1] == "\\" and opener in "'\"" else 1
            if end >= len(text):
                if closer == "\n":
                    break
                what = "the comment" if opener == "/*" else f"the quote {opener}"
                return QueryError(
                    f"{what} is never closed", Span(position, position + len(opener)), source=source
                )
        position = end + len(closer)
    return QueryError("the script cannot be split into words", source=source)


def _chunks(tokens: list[Token]) -> list[list[Token]]:
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _parse(source: SourceText, tokens: list[Token], method: Callable[[CqlParser], T]) -> T:
    parser = CqlParser(error_level=ErrorLevel.IMMEDIATE, dialect=Cql())
    whole = Span(tokens[0].start, tokens[-1].end + 1)
    try:
        parsed = parser._parse(method, tokens, source.text)  # type: ignore[arg-type]
    except Problem as problem:
        raise problem.error.inside(source, whole) from None
    except QueryError as error:
        raise error.inside(source, whole) from None
    except RecursionError:
        raise QueryError(
            "the statement is nested too deeply", Span(whole.start, whole.start + 1), source=source
        ) from None
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        # The library stumbles over some mistakes instead of refusing them.
        place = token_span(parser._curr or parser._prev or tokens[0])
        raise QueryError("this cannot be parsed", place, source=source) from error
    if not parsed:  # the library takes ELSE for the end of a block
        raise QueryError(
            f'a statement cannot start with "{tokens[0].text}"',
            token_span(tokens[0]),
            source=source,
        )
    return parsed[0]  # type: ignore[return-value]
