"""Answers on the terminal, one line per record."""

from __future__ import annotations

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


class ConsoleLines:
    def __init__(self, request: SinkRequest) -> None:
        self._query = request.query
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)

    def write(self, change: Change) -> None:
        self._console.print(record_text(self._query, change))

    def close(self) -> None:
        pass


def open_sink(request: SinkRequest) -> ConsoleLines:
    return ConsoleLines(request)


def record_text(query: Query, change: Change) -> Text:
    """`09:30:01.5  vwap  + symbol=ACME price=12.5`."""
    zone = query.settings.timezone
    cells = [
        f"{f.name}={'NULL' if v is None else to_text(v, f.type, zone)}"
        for f, v in zip(query.plan.schema, change.values, strict=True)
    ]
    line = Text()
    line.append(instant_text(change.time, query), style="dim")
    line.append(f"  {query.name}  ", style="bold")
    line.append(f"{change.sign} {'  '.join(cells)}", style=_STYLES[change.sign])
    return line


def instant_text(time: int, query: Query) -> str:
    """An instant for people: a wall clock where ticks are microseconds, else the number."""
    if query.tick is Unit.MICROSECOND:
        return timestamp_text(time, query.settings.timezone)
    return str(time)
