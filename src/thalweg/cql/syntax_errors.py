"""Where a syntax node is, and syntax errors in our words."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from thalweg.errors import QueryError, Span, did_you_mean, nearest


class Problem(ParseError):
    """A syntax error with its place; a `ParseError` so that the library may backtrack."""

    def __init__(self, error: QueryError) -> None:
        super().__init__(error.message)
        self.error = error


def span_of(node: exp.Expr) -> Span | None:
    """The stretch of text that a syntax node covers, from the tokens below it."""
    found: Span | None = None
    for part in node.walk():
        meta = part.meta
        if meta.get("start") is not None:
            own = Span(meta["start"], meta["end"] + 1)
            found = own if found is None else found | own
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

    def _expect(self, kind: TokenType, symbol: str) -> None:
        if not self._match(kind):
            found = f', found "{self._curr.text}"' if self._curr.text else " at the end"
            self._refuse(f'"{symbol}" is missing{found}')

    def _expect_word(self, word: str, after: str) -> None:
        if not self._match_text_seq(word):
            found = f', found "{self._curr.text}"' if self._curr.text else ""
            self._refuse(
                f"{word} is missing after {after}{found}",
                hint=did_you_mean(self._curr.text, [word]),
            )

    def _since(self, start: Token) -> Span:
        return Span(start.start, self._prev.end + 1)


_CLAUSES = (
    "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "UNION", "EXCEPT", "INTERSECT",
    "JOIN", "ON", "AS", "SELECT", "LIFESPAN", "CLOSING_WHEN",
)  # fmt: skip


def _unexpected(token: Token, before: Token) -> QueryError:
    """A misspelt keyword is taken for an alias, and the word after it is what surprises."""
    misspelt = nearest(before.text, _CLAUSES)
    if misspelt and before.text.upper() != misspelt and before.token_type == TokenType.VAR:
        return QueryError(
            f'unexpected "{token.text}" after "{before.text}"',
            token_span(before),
            hint=f'did you mean "{misspelt}"?',
        )
    return QueryError(
        f'unexpected "{token.text}"', token_span(token), hint=did_you_mean(token.text, _CLAUSES)
    )


def _readable(message: str, token: Token, at_end: bool) -> QueryError:
    """The library's message in our words."""
    span = token_span(token)
    text = token.text
    if "missing for <class" in message:
        if at_end:
            return QueryError(f'something is missing after "{text}"', span)
        return QueryError(f'something is missing before "{text}"', span)
    for prefix in ("Expecting ", "Expected "):
        if message.startswith(prefix):
            wanted = message.removeprefix(prefix).rstrip(".")
            where = "at the end" if at_end else f'before "{text}"'
            quoted = f'"{wanted}"' if len(wanted) == 1 else wanted
            return QueryError(f"expected {quoted} {where}", span)
    return QueryError(message[:1].lower() + message[1:].rstrip("."), span)
