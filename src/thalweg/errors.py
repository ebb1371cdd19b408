"""A user's mistake: what is wrong, where, what is there, what instead.

Everything that a user can get wrong ends as a `QueryError` (or several of them,
as `QueryErrors`) and is printed by `render`. A broken invariant of Thalweg
itself is an `AssertionError` and is never caught.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a source text: offsets in characters, `end` not included."""

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text that errors can point into, and the name to print for it."""

    name: str
    text: str = field(repr=False)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Both counted from 1."""
        before = self.text[:offset]
        line = before.count("\n") + 1
        return line, offset - (before.rfind("\n") + 1) + 1


class QueryError(Exception):
    """One mistake in a script, its input or its settings.

    `message` is one short fact in lower case; `detail` says what is there;
    `hint` is something to try.
    """

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        detail: str | None = None,
        hint: str | None = None,
        source: SourceText | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.detail = detail
        self.hint = hint
        self.source = source

    def inside(self, source: SourceText, fallback: Span | None = None) -> QueryError:
        """The same error, pointing into `source` unless it already points elsewhere."""
        if self.source is None:
            self.source = source
            self.span = self.span or fallback
        return self

    def render(self) -> str:
        lines = [f"error: {self.message}"]
        if self.source is not None:
            lines += _place(self.source, self.span)
        if self.detail:
            lines += [f"  {line}" for line in self.detail.splitlines()]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()


class UsesBrokenName(QueryError):
    """An error that only repeats another one; whoever reports errors drops it."""

    def __init__(self, span: Span | None = None) -> None:
        super().__init__("its declaration has an error", span)


class UnknownName(QueryError):
    """A name in FROM that means nothing, or nothing yet."""

    def __init__(self, name: str, span: Span | None, known: Sequence[str]) -> None:
        super().__init__(
            f'there is no stream, table, view or query "{name}"',
            span,
            detail=f"There is: {', '.join(known)}." if known else None,
            hint=did_you_mean(name, known),
        )
        self.name = name


# Past that, the first ones are what to mend.
_MOST_SHOWN = 50


class QueryErrors(Exception):
    """All mistakes found in one script, in the order of their places."""

    def __init__(self, errors: Sequence[QueryError]) -> None:
        assert errors, "QueryErrors needs at least one error"
        self.errors = sorted(
            errors, key=lambda error: error.span.start if error.span else len(errors)
        )
        super().__init__(self.render())

    def render(self) -> str:
        shown = [error.render() for error in self.errors[:_MOST_SHOWN]]
        more = len(self.errors) - len(shown)
        return "\n\n".join([*shown, f"and {more} more"] if more else shown)


def shortened(text: str, longest: int = 60) -> str:
    """A text as an error quotes it."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, if any is alike at all; case does not count."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    found = nearest(name, candidates)
    return f'did you mean "{found}"?' if found else None


_LONGEST_LINE = 160


def _place(source: SourceText, span: Span | None) -> list[str]:
    if span is None:
        return [f"  {source.name}"]
    start = min(span.start, len(source.text))
    line, column = source.line_and_column(start)
    line_start = start - (column - 1)
    line_end = source.text.find("\n", line_start)
    text = source.text[line_start : line_end if line_end >= 0 else None].rstrip("\r")
    first = column - 1
    last = max(first + 1, min(span.end - line_start, len(text)))
    if len(text) > _LONGEST_LINE:
        cut = max(0, first - _LONGEST_LINE // 2)
        text = text[cut : cut + _LONGEST_LINE]
        first, last = first - cut, min(last - cut, _LONGEST_LINE)
    printable = [c if c.isprintable() else " " for c in text]
    indent = cell_len("".join(printable[:first]))
    carets = max(1, cell_len("".join(printable[first:last])))
    number = str(line)
    return [
        f"  {source.name}:{line}:{column}",
        f"  {number} | {''.join(printable).rstrip()}",
        f"  {' ' * len(number)} | {' ' * indent}{'^' * carets}",
    ]
