"""Where a syntax node is, and syntax errors in our words."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.errors import QueryError, Span, did_you_mean, nearest
from thalweg.types import KNOWN_TYPES, TYPE_NAMES


class Problem(ParseError):
    """A syntax error with its place; a `ParseError` so that the library may backtrack."""

    def __init__(self, error: QueryError) -> None:
        super().__init__(error.message)
        self.error = error


def span_of(node: exp.Expr) -> Span | None:
    """The stretch of text that a syntax node covers, from the tokens below it.

    A node remembers its span, or asking every node of a deep tree would walk
    through the same leaves again and again.
    """
    found: Span | None = None
    todo = [node]
    while todo:
        part = todo.pop()
        meta = part._meta or {}
        own: Span | None = meta.get("span")
        if own is None:
            todo.extend(part.iter_expressions())
            if meta.get("start") is not None:
                own = Span(meta["start"], meta["end"] + 1)
        if own is not None:
            found = own if found is None else found | own
    if found is not None:
        node.meta["span"] = found
    return found


def token_span(token: Token) -> Span:
    return Span(token.start, token.end + 1)


class PointedParser(SparkParser):
    """The library's parser with errors that say what, where and what instead."""

    def raise_error(self, message: str, token: Any = None) -> NoReturn:
        place = token or self._curr or self._prev
        if message.startswith("Invalid expression") and self._prev:
            raise Problem(_unexpected(place, self._prev))
        raise Problem(_readable(message, place, at_end=not (token or self._curr)))

    def _refuse(
        self,
        message: str,
        *,
        token: Token | None = None,
        detail: str | None = None,
        hint: str | None = None,
    ) -> NoReturn:
        place = token or self._curr or self._prev
        raise Problem(QueryError(message, token_span(place), detail=detail, hint=hint))

    def _found(self) -> str:
        """What stands here instead of what is missing; nothing at the end of the text."""
        return f', found "{self._curr.text}"' if self._curr else ""

    def _word(self) -> str:
        """The word here in upper case; empty at the end, and for names in backquotes."""
        if not self._curr or self._curr.token_type == TokenType.IDENTIFIER:
            return ""
        return self._curr.text.upper()

    def _expect(self, kind: TokenType, symbol: str) -> None:
        if not self._match(kind):
            self._refuse(f'"{symbol}" is missing{self._found() or " at the end"}')

    def _expect_word(self, word: str, after: str) -> None:
        if not self._match_text_seq(word):
            hint = did_you_mean(self._word(), [word]) if self._curr else None
            self._refuse(f"{word} is missing after {after}{self._found()}", hint=hint)

    def _since(self, start: Token) -> Span:
        return Span(start.start, self._prev.end + 1)


_CLAUSES = (
    "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT",
    "JOIN", "ON", "AS", "SELECT", "LIFESPAN", "CLOSING_WHEN",
)  # fmt: skip


# Shorter names are like many keywords without being meant as one.
_SHORTEST_MISSPELT = 3


def _misspelt_clause(token: Token) -> str | None:
    """The clause that a word was probably meant to be."""
    if token.token_type != TokenType.VAR or len(token.text) < _SHORTEST_MISSPELT:
        return None
    found = nearest(token.text, _CLAUSES)
    return found if found and found != token.text.upper() else None


def _unexpected(token: Token, before: Token) -> QueryError:
    """A misspelt keyword is taken for an alias, and the word after it is what surprises."""
    misspelt = _misspelt_clause(before)
    if misspelt:
        return QueryError(
            f'unexpected "{token.text}" after "{before.text}"',
            token_span(before),
            hint=f'did you mean "{misspelt}"?',
        )
    clause = _misspelt_clause(token)
    hint = f'did you mean "{clause}"?' if clause else None
    return QueryError(f'unexpected "{token.text}"', token_span(token), hint=hint)


def unknown_type(token: Token) -> QueryError:
    """The error for a word where a type should be."""
    if token.token_type != TokenType.VAR:
        return QueryError(f'a type is missing, found "{token.text}"', token_span(token))
    return QueryError(
        f"type {token.text.upper()} is not supported",
        token_span(token),
        detail=f"Types are: {KNOWN_TYPES}.",
        hint=did_you_mean(token.text.upper(), TYPE_NAMES),
    )


def _readable(message: str, token: Token, at_end: bool) -> QueryError:
    """The library's message in our words."""
    span = token_span(token)
    text = token.text
    if message.startswith("Expected table name"):
        return QueryError(
            "a name is missing at the end" if at_end else f'a name is missing before "{text}"', span
        )
    if "missing for <class" in message:
        if at_end:
            return QueryError(f'something is missing after "{text}"', span)
        return QueryError(f'something is missing before "{text}"', span)
    if message == "Expected TYPE after CAST" and not at_end:
        return unknown_type(token)
    for prefix in ("Expecting ", "Expected "):
        if message.startswith(prefix):
            wanted = message.removeprefix(prefix).rstrip(".")
            where = "at the end" if at_end else f'before "{text}"'
            quoted = f'"{wanted}"' if len(wanted) == 1 else wanted
            return QueryError(f"expected {quoted} {where}", span)
    return QueryError(message[:1].lower() + message[1:].rstrip("."), span)
