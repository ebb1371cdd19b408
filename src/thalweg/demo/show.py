"""Answers on one screen: relations as they stand, streams by their latest elements."""

from __future__ import annotations

import heapq
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from thalweg.answers import Change
from thalweg.bags import top_order
from thalweg.catalog import Query
from thalweg.errors import SourceText
from thalweg.functions.cast import to_text
from thalweg.plan.nodes import Top
from thalweg.program import Program, bind_script, load_python
from thalweg.reference import Reference
from thalweg.report import RunReport
from thalweg.run import read_inputs
from thalweg.sinks.console import instant_text

_LATEST = 4
_FRAMES_PER_SECOND = 10


@dataclass
class View:
    """What one query has answered up to now."""

    query: Query
    rows: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    latest: deque[Change] = field(default_factory=lambda: deque(maxlen=_LATEST))
    records: int = 0

    def apply(self, change: Change) -> None:
        self.records += 1
        if self.query.plan.is_stream:
            self.latest.append(change)
        else:
            self.rows[change.values] += 1 if change.sign == "+" else -1
            self.rows += Counter()  # drops what has left

    def table(self) -> Table:
        is_stream = self.query.plan.is_stream
        kind = "stream, latest last" if is_stream else "relation, as it stands"
        table = Table(title=f"{self.query.name} ({kind})", title_justify="left", expand=True)
        if is_stream:
            table.add_column("time", style="dim")
        for column in self.query.plan.schema:
            table.add_column(column.name)
        shown = [(c.time, c.values) for c in self.latest] if is_stream else self._standing()
        for instant, values in shown:
            cells = [
                "NULL" if v is None else to_text(v, f.type, "UTC")
                for v, f in zip(values, self.query.plan.schema, strict=True)
            ]
            clock = [instant_text(instant, self.query)[11:21]] if is_stream else []
            table.add_row(*clock, *cells)
        for _ in range(min(3, _LATEST) - len(shown)):
            table.add_row(*[""] * len(table.columns))
        return table

    def _standing(self) -> list[tuple[int, tuple[Any, ...]]]:
        rows = [row for row, count in self.rows.items() for _ in range(count)]
        keys = self.query.plan.keys if isinstance(self.query.plan, Top) else ()
        return [(0, row) for row in sorted(rows, key=lambda row: top_order(row, keys))]


def demo_program() -> tuple[Program, str]:
    text = (files("thalweg.demo") / "market.cql").read_text(encoding="utf-8")
    return bind_script(SourceText("market.cql", text)), text


def run_demo(console: Console, seconds: float) -> None:
    """Play the demo's answers in about the given time; at once if it is 0."""
    program, text = demo_program()
    views = {query.name: View(query) for query in program.catalog.queries()}
    records = list(_merged(program))
    console.print(
        Panel(
            Syntax(text.strip(), "sql", background_color="default", word_wrap=True),
            title="market.cql",
        )
    )
    if not console.is_terminal or seconds <= 0:
        _print_snapshots(console, views, records)
        return
    first, last = records[0][0], records[-1][0]
    start = time.monotonic()
    position = 0
    with Live(console=console, refresh_per_second=_FRAMES_PER_SECOND) as live:
        while position < len(records):
            share = min(1.0, (time.monotonic() - start) / seconds)
            now = first + int((last - first) * share)
            while position < len(records) and records[position][0] <= now:
                _, name, change = records[position]
                views[name].apply(change)
                position += 1
            live.update(_screen(views, now))
            time.sleep(1 / _FRAMES_PER_SECOND)
    _print_closing(console, views)


def _merged(program: Program) -> Iterator[tuple[int, str, Change]]:
    """The records of all queries in the order of time."""
    reference = Reference(
        read_inputs(program, RunReport(), None),
        lambda path: load_python(path, program.folders, False),
    )

    def of(query: Query) -> Iterator[tuple[int, str, Change]]:
        for change in reference.answers(query.plan):
            yield change.time, query.name, change

    return heapq.merge(*map(of, program.catalog.queries()), key=lambda record: record[0])


def _screen(views: dict[str, View], now: int) -> Group:
    clock = instant_text(now, next(iter(views.values())).query)[:19]
    return Group(Text(f"event time {clock}", style="bold"), *(v.table() for v in views.values()))


def _print_snapshots(
    console: Console, views: dict[str, View], records: list[tuple[int, str, Change]]
) -> None:
    """Three looks at the answers, for where a screen cannot be redrawn."""
    first, last = records[0][0], records[-1][0]
    instants = [first + (last - first) * share // 3 for share in (1, 2)] + [last]
    position = 0
    for now in instants:
        while position < len(records) and records[position][0] <= now:
            _, name, change = records[position]
            views[name].apply(change)
            position += 1
        if now != last:
            console.print(_screen(views, now))
            console.print()
    _print_closing(console, views)


def _print_closing(console: Console, views: dict[str, View]) -> None:
    counts = ", ".join(f"{view.records} records of {name}" for name, view in views.items())
    console.print(f"The streams have ended and their windows have emptied: {counts}.")
    console.print("Write your own: README.md, docs/cql.md. Run it: thalweg run FILE.cql")
