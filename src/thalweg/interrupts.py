"""Ctrl-C and SIGTERM, asked for once or twice.

The first one asks what runs to end well; the second one ends it at once. Where
nothing runs yet that could end well, the first one is enough.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Shells give the number of the signal this way.
_BASE = 128


class Interrupted(BaseException):
    """Not an error, and nothing that a handler of errors should catch."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = _BASE + number


class Interrupts:
    """Takes over the signals while it is entered."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._stop: Callable[[], None] | None = None
        self._kill: Callable[[], None] = lambda: None
        self.code: int | None = None
        self._count = 0

    def __enter__(self) -> Interrupts:
        self._before = {number: signal.signal(number, self._handle) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler or signal.SIG_DFL)

    def ask(self, stop: Callable[[], None] | None, kill: Callable[[], None]) -> None:
        """From now on the first signal calls `stop`, if there is one, and the next one `kill`."""
        self._stop, self._kill = stop, kill

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._count += 1
        self.code = _BASE + number
        if self._count == 1 and self._stop is not None:
            self._stop()
        elif self._count <= 2:
            self._kill()
            raise Interrupted(number)
        else:
            os._exit(self.code)
