"""The demo: the engine on made-up streams, its answers on one screen.

Relations are shown as they stand, streams by their latest elements, and above them the
throughput of the last batches, with what was decided last. Where the screen cannot be
redrawn, a few looks at it are printed one after the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from thalweg.answers import Change
from thalweg.bags import Bag
from thalweg.catalog import Query
from thalweg.errors import SourceText
from thalweg.functions.cast import to_text
from thalweg.interrupts import Interrupts
from thalweg.job.attended import standing_of
from thalweg.job.run import POLL_SECONDS, BatchDone, Job
from thalweg.job.script import run_on_spark
from thalweg.job.session import kill
from thalweg.operators.answer import Records
from thalweg.outlet.answers import records_after
from thalweg.plan.nodes import Top
from thalweg.program import Program, bind_script
from thalweg.progress import Progress
from thalweg.sinks.console import instant_text

_LATEST = 2
_FRAMES_PER_SECOND = 8
# Some ten seconds of all streams: an answer is soon there, and can be read.
ROWS_PER_BATCH = 150_000
# How often to look where the screen cannot be redrawn.
_LOOKS = 3
# The last view needs so many lines of the terminal.
_TALL = 27
_BARS = "▁▂▃▄▅▆▇█"


@dataclass
class View:
    """What one query has answered up to now."""

    query: Query
    rows: Bag = field(default_factory=Bag)
    latest: list[Change] = field(default_factory=list)
    records: int = 0

    def take(self, records: Records) -> None:
        """Records that follow those before, in order."""
        self.records += len(records)
        if self.query.plan.is_stream:
            last = slice(max(0, len(records) - _LATEST), None)
            columns = tuple(column.part(last) for column in records.columns)
            tail = Records(columns, records.time[last], records.weight[last])
            self.latest = [*self.latest, *tail.changes()][-_LATEST:]
        else:
            for change in records.changes():
                self.rows.change(change.values, 1 if change.sign == "+" else -1)

    def table(self) -> Table:
        is_stream, schema = self.query.plan.is_stream, self.query.plan.schema
        kind = "stream, latest last" if is_stream else "relation, as it stands"
        # No lines around anything: all queries fit on 24 lines.
        table = Table(
            title=f"{self.query.name} ({kind})", title_justify="left", expand=True, box=None
        )
        if is_stream:
            table.add_column("time", style="dim")
        for column in schema:
            table.add_column(column.name, overflow="ellipsis", no_wrap=True)
        shown = [*self._elements()] if is_stream else [([], row) for row in self._standing()]
        for clock, values in shown:
            cells = [
                "NULL" if v is None else to_text(v, f.type, "UTC")
                for v, f in zip(values, schema, strict=True)
            ]
            table.add_row(*clock, *cells)
        return table

    def _elements(self) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
        for change in self.latest:
            yield [instant_text(change.time, self.query)[11:21]], change.values

    def _standing(self) -> list[tuple[Any, ...]]:
        plan = self.query.plan
        return self.rows.rows(plan.keys if isinstance(plan, Top) else ())


@dataclass
class Throughput:
    """Rows per second, batch by batch, and the last decision. Batches that brought one have
    another colour."""

    rates: deque[tuple[float, bool]] = field(default_factory=lambda: deque(maxlen=200))
    decided: str = ""
    _is_warm: bool = False

    def take(self, done: BatchDone) -> None:
        # The first batch has all there is to start in its time.
        if done.rows and self._is_warm:
            self.rates.append((done.rows / max(done.seconds, 1e-3), bool(done.decisions)))
        self._is_warm = True
        for decision in done.decisions:
            self.decided = f"{decision.outcome}: {', '.join(decision.after)}"

    def lines(self, width: int) -> Iterator[Text]:
        line = Text("rows/s  ", no_wrap=True)
        shown = list(self.rates)[-(width - len(line) - 1) :]
        most = max((rate for rate, _ in shown), default=1.0)
        for rate, has_decided in shown:
            bar = _BARS[round(rate / most * (len(_BARS) - 1))]
            line.append(bar, "bold yellow" if has_decided else "green")
        yield line
        yield Text(f"decided {self.decided or '…'}", no_wrap=True, overflow="ellipsis")


class Screen:
    """All views, and above them how far the engine is."""

    def __init__(self, console: Console, program: Program) -> None:
        self._console = console
        self._progress = Progress(console)
        self._views = {query.name: View(query) for query in program.catalog.queries()}
        self._schemas = {name: view.query.plan.schema for name, view in self._views.items()}
        self._query = program.catalog.queries()[0]
        self._throughput = Throughput()
        self.first_answer: float | None = None

    def notice(self, doing: str) -> None:
        if self._console.is_terminal:
            self._progress.notice(doing)
        else:
            self._console.print(f"{doing} …")

    def take(self, done: BatchDone, shown: list[Query]) -> None:
        for name, records in records_after(done.entry, self._schemas):
            self._views[name].take(records)
        if self.first_answer is None:
            self.first_answer = time.monotonic()

    def follow(self, done: BatchDone) -> None:
        self._progress.update(standing_of(done, self._query))
        self._throughput.take(done)

    def __rich__(self) -> RenderableType:
        if self.first_answer is None:
            return self._progress
        line: RenderableType = self._progress
        if not self._console.is_terminal:
            line = Text(self._progress.counts(self._console.width))
        views = [*self._views.values()]
        if self._console.is_terminal and self._console.height < _TALL:
            views.pop()
        above = self._throughput.lines(self._console.width)
        return Group(line, *above, *(view.table() for view in views))

    def closing(self) -> str:
        return ", ".join(f"{view.records:,} records of {n}" for n, view in self._views.items())


def demo_program() -> tuple[Program, str]:
    text = (files("thalweg.demo") / "market.cql").read_text(encoding="utf-8")
    return bind_script(SourceText("market.cql", text)), text


def run_demo(console: Console, seconds: float, interrupts: Interrupts) -> None:
    """Run the demo for so many seconds from its first answer on, or until it is interrupted."""
    program, text = demo_program()
    syntax = Syntax(text.strip(), "sql", background_color="default", word_wrap=True)
    console.print(Panel(syntax, title="market.cql"))
    screen = Screen(console, program)
    began = time.monotonic()
    interrupts.ask(None, kill)

    def attend(job: Job) -> None:
        interrupts.ask(job.stop, kill)
        _play(job, screen, seconds, _looker(console, screen, seconds))

    live = Live(screen, console=console, refresh_per_second=_FRAMES_PER_SECOND)
    if console.is_terminal:
        live.start()
    try:
        report = run_on_spark(
            program,
            notice=screen.notice,
            attend=attend,
            follow=screen.follow,
            display=screen.take,
            rows_per_batch=ROWS_PER_BATCH,
        )
    finally:
        live.stop()
    rows = sum(counts.accepted for counts in report.streams.values())
    took = (screen.first_answer or time.monotonic()) - began
    console.print(f"{rows:,} rows, {screen.closing()}; the first answer after {took:.0f} s.")
    console.print("Write your own: README.md, docs/cql.md. Run it: thalweg run FILE.cql")


def _play(job: Job, screen: Screen, seconds: float, look: Callable[[float], None]) -> None:
    """Let a job run for a while, and end it."""
    while not job.is_over:
        if screen.first_answer is not None:
            played = time.monotonic() - screen.first_answer
            look(played)
            if played >= seconds:
                job.stop()
        time.sleep(POLL_SECONDS)
    job.end()


def _looker(console: Console, screen: Screen, seconds: float) -> Callable[[float], None]:
    """Prints the screen now and then, unless it is redrawn in place."""
    due = [] if console.is_terminal else [seconds * look / _LOOKS for look in range(_LOOKS + 1)]

    def look(played: float) -> None:
        if due and played >= due[0]:
            due.pop(0)
            console.print(screen)
            console.print()

    return look
