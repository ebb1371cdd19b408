"""How far a run is, as one line at the bottom of a terminal.

Where there is no terminal, nothing is written.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

_FRAMES_PER_SECOND = 8
# Rows per second are those of the last so many seconds.
_RATE_SECONDS = 5.0


@dataclass(frozen=True)
class Standing:
    """Where a run stands: rows and records so far, and the instant up to which all is answered.

    `seconds` is how long the last batch took, `state_bytes` what the engine remembers.
    """

    rows: int
    records: int
    answered: str
    seconds: float
    state_bytes: int


class Progress:
    def __init__(self, console: Console) -> None:
        self._live = Live(
            self,
            console=console,
            refresh_per_second=_FRAMES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._is_shown = console.is_terminal
        self._spinner = Spinner("dots")
        self._doing, self._since = "", time.monotonic()
        self._standing: Standing | None = None
        # (when, rows) of the last batches.
        self._seen: deque[tuple[float, int]] = deque()

    def __enter__(self) -> Progress:
        if self._is_shown:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._is_shown:
            self._live.stop()

    def notice(self, doing: str) -> None:
        """Say what is going on until there is something to count."""
        self._doing, self._since = doing, time.monotonic()
        self._standing = None

    def update(self, standing: Standing) -> None:
        now = time.monotonic()
        self._seen.append((now, standing.rows))
        while len(self._seen) > 2 and self._seen[0][0] < now - _RATE_SECONDS:
            self._seen.popleft()
        self._standing = standing

    @contextmanager
    def printing(self) -> Iterator[None]:
        """Out of the way while something else is written."""
        if not self._is_shown:
            yield
            return
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame = self._spinner.render(time.monotonic())
        assert isinstance(frame, Text), "a spinner without a text is one"
        line = frame.copy().append(" ")
        if self._standing is None:
            seconds = int(time.monotonic() - self._since)
            line.append(self._doing + (f" ({seconds} s)" if seconds else ""))
        else:
            room = options.max_width - line.cell_len
            line.append(self.counts(room))
        line.no_wrap, line.overflow = True, "ellipsis"
        yield line

    def counts(self, room: int) -> str:
        """What there is to count, in so many columns if they are enough."""
        now = self._standing
        if now is None:
            return self._doing
        instant = now.answered.partition(".")[0]
        line = "  ".join(self._parts(now, instant))
        # The date is what one can best do without.
        return line if len(line) <= room else "  ".join(self._parts(now, instant.split(" ")[-1]))

    def _parts(self, now: Standing, instant: str) -> Iterator[str]:
        yield f"{short(now.rows)} rows"
        if len(self._seen) > 1:
            yield f"{short(self._rate())}/s"
        if instant:
            yield f"up to {instant}"
        yield f"{short(now.records)} records"
        yield f"{now.seconds:.2g} s/batch"
        yield f"state {short(now.state_bytes)}B"

    def _rate(self) -> float:
        (first, before), (last, after) = self._seen[0], self._seen[-1]
        return (after - before) / (last - first) if last > first else 0.0


def short(number: float) -> str:
    """A number in at most five characters: 999, 1.5k, 34M."""
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"
