"""How long a thread takes for something, whatever others do beside it."""

from __future__ import annotations

import resource
import time


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
