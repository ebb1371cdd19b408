"""Events of whole numbers that wait for their instant.

Kept as runs that are sorted by time. What comes in the order of time, as rows
mostly do, is appended to a run and taken from its head; what overlaps begins a run
of its own, and runs that have become many are merged, the smallest first. Room is
used again, so that an agenda that neither grows nor shrinks stays where it is in
memory.
"""

from __future__ import annotations

import numpy as np

from thalweg.kernels.timeline import TIME, Events, merge_events
from thalweg.operators.delta import BEFORE_TIME

_ROOM = 64
_RUNS = 6


class Run:
    """Sorted events, `head` to `tail` of an array."""

    def __init__(self, width: int) -> None:
        self._rows = np.empty((_ROOM, width), np.int64)
        self._head = self._tail = 0

    def __len__(self) -> int:
        return self._tail - self._head

    @property
    def events(self) -> Events:
        return self._rows[self._head : self._tail]

    @property
    def end(self) -> int:
        """The last instant."""
        return int(self._rows[self._tail - 1, TIME]) if len(self) else BEFORE_TIME

    def append(self, events: Events) -> None:
        if self._tail + len(events) > len(self._rows):
            self._move(4 * (len(self) + len(events)))
        self._rows[self._tail : self._tail + len(events)] = events
        self._tail += len(events)

    def take(self, before: int) -> Events:
        """Events from the head on; they lie here until more are taken."""
        if 2 * self._head >= len(self._rows):
            self._move(len(self._rows) if 16 * len(self) >= len(self._rows) else 4 * len(self))
        cut = self._head + int(np.searchsorted(self.events[:, TIME], before))
        taken = self._rows[self._head : cut]
        self._head = cut
        return taken

    def _move(self, room: int) -> None:
        """What is here goes to the front: of this array if it is to be as long, or of another."""
        live = self.events
        if room != len(self._rows):
            self._rows = np.empty((max(_ROOM, room), self._rows.shape[1]), np.int64)
        self._rows[: len(live)] = live
        self._head, self._tail = 0, len(live)


class Agenda:
    """Events of `width` numbers, the first of which is their time."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._runs: list[Run] = []
        self._fresh: list[Events] = []

    def add(self, events: Events) -> None:
        if len(events):
            self._fresh.append(in_order(events))

    def due(self, before: int) -> Events | None:
        """Take out all events before an instant, in the order of time; None if there is none.

        They are to be used before more are taken.
        """
        parts = [part for run in self._runs if len(part := run.take(before))]
        self._runs = [run for run in self._runs if len(run)] or self._runs[:1]
        for events in self._fresh:
            cut = int(np.searchsorted(events[:, TIME], before))
            if cut:
                parts.append(events[:cut])
            if cut < len(events):
                self._keep(events[cut:])
        self._fresh = []
        while len(parts) > 1:
            parts.sort(key=len, reverse=True)
            parts.append(merge_events(parts.pop(), parts.pop()))
        return parts[0] if parts else None

    def next_time(self) -> int | None:
        """The instant of the first event."""
        runs = (*(run.events for run in self._runs), *self._fresh)
        return min((int(events[0, TIME]) for events in runs if len(events)), default=None)

    def _keep(self, events: Events) -> None:
        fitting = [run for run in self._runs if run.end <= events[0, TIME]]
        if fitting:
            max(fitting, key=lambda run: run.end).append(events)
            return
        run = Run(self._width)
        run.append(events)
        self._runs.append(run)
        if len(self._runs) > _RUNS:
            self._runs.sort(key=len, reverse=True)
            merged = Run(self._width)
            merged.append(merge_events(self._runs.pop().events, self._runs.pop().events))
            self._runs.append(merged)


def in_order(events: Events) -> Events:
    """The events by time; those of one instant stay as they are."""
    time = events[:, TIME]
    if len(time) < 2 or bool((time[1:] >= time[:-1]).all()):
        return events
    return events.take(np.argsort(time, kind="stable"), axis=0)
