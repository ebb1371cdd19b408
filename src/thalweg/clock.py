"""What time it is, how long this thread takes, and where the time of a task goes."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Microseconds since 1970.
WallClock = Callable[[], int]


def wall_clock() -> int:
    return time.time_ns() // 1000


class OwnTime:
    """Nanoseconds that this thread has computed, or waited for something of its own accord: what
    others take from it on a busy machine is not in it.

    Whether a thread has waited is known where its switches are counted, which is Linux; elsewhere
    all time counts.
    """

    def __init__(self) -> None:
        self._total = 0
        self._wall, self._computed, self._waits = time.perf_counter_ns(), 0, -1

    def __call__(self) -> int:
        wall, computed, waits = time.perf_counter_ns(), time.thread_time_ns(), _waits()
        has_waited = waits < 0 or waits != self._waits
        self._total += wall - self._wall if has_waited else computed - self._computed
        self._wall, self._computed, self._waits = wall, computed, waits
        return self._total


def _waits() -> int:
    """How often this thread has waited; -1 if nobody knows."""
    if not hasattr(resource, "RUSAGE_THREAD"):
        return -1
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw


@dataclass
class Clock:
    """Seconds by what they were spent on."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def time(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start
