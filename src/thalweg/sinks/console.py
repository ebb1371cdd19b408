"""Answers on the terminal, one line per record."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from thalweg.answers import Change
from thalweg.catalog import Query
from thalweg.connectors import OptionSpec
from thalweg.functions.cast import timestamp_text, to_text
from thalweg.sinks.base import SinkRequest
from thalweg.units import Unit

OPTIONS: dict[str, OptionSpec] = {}

_STYLES = {"+": "green", "-": "red"}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the caller: the default would end the thread, whichever it is."""
        raise BrokenPipeError


class ConsoleLines:
    """Coloured where there is a terminal; elsewhere plain, and some twenty times as fast."""

    def __init__(self, request: SinkRequest) -> None:
        self._query = request.query
        self._console = _Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

    def write(self, change: Change) -> None:
        if self._console.is_terminal:
            self._console.print(_coloured(self._query, change))
        else:
            sys.stdout.write("".join(_parts(self._query, change)) + "\n")

    def close(self) -> None:
        sys.stdout.flush()


def open_sink(request: SinkRequest) -> ConsoleLines:
    return ConsoleLines(request)


def _parts(query: Query, change: Change) -> tuple[str, str, str]:
    """`09:30:01.5  vwap  + symbol=ACME price=12.5` as instant, query, and the rest."""
    zone = query.settings.timezone
    cells = [
        f"{f.name}={'NULL' if v is None else to_text(v, f.type, zone)}"
        for f, v in zip(query.plan.schema, change.values, strict=True)
    ]
    return (
        instant_text(change.time, query),
        f"  {query.name}  ",
        f"{change.sign} {'  '.join(cells)}",
    )


def _coloured(query: Query, change: Change) -> Text:
    instant, name, rest = _parts(query, change)
    return Text.assemble((instant, "dim"), (name, "bold"), (rest, _STYLES[change.sign]))


def instant_text(time: int, query: Query) -> str:
    """An instant for people: a wall clock where ticks are microseconds, else the number."""
    if query.tick is Unit.MICROSECOND:
        return timestamp_text(time, query.settings.timezone)
    return str(time)


def instant_at(nanoseconds: int, query: Query) -> str:
    """An instant in the ticks of a query, for people."""
    return instant_text(nanoseconds // query.tick.value, query)
