"""One batch of one stream: rows in, pieces of segments out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from thalweg.adapt.decisions import Decision
from thalweg.adapt.learned import FoundPlan, Learned
from thalweg.adapt.measured import Measured
from thalweg.clock import Clock
from thalweg.dataflow import Dataflow, Failed, Noted, Purpose
from thalweg.intake.slices import Cursor, Reader, Slice
from thalweg.intake.split import split
from thalweg.operators.delta import BEFORE_TIME, Delta
from thalweg.plan.placed import Exchange
from thalweg.segments import Piece, SegmentWriter
from thalweg.sources import Accepted, Reject


@dataclass(frozen=True)
class Taken:
    """What a batch, or a part of it, took of a stream: pieces by shard, and where the
    source stands now.

    `first` and `last` are the first and the last instant among the rows, if any; `largest`
    is how far time has come in the source.
    """

    stream: str
    part: int
    pieces: dict[int, list[Piece]]
    cursor: dict[str, Any]
    at_end: bool
    rows: int
    late: list[Accepted]
    rejects: list[Reject]
    first: int | None
    last: int | None
    largest: int | None
    failures: Failed
    seconds: dict[str, float]
    decisions: list[Decision] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)


@dataclass(frozen=True)
class Intake:
    """How the rows of a stream get to the shards: read, through the fragments, and spread by
    their exchanges. The rows of those `in_order` bring their place in the source."""

    stream: str
    reader: Reader
    fragments: Dataflow
    exchanges: Sequence[Exchange]
    in_order: frozenset[int]
    shards: int

    def take(
        self,
        cursor: Cursor,
        parts: Sequence[int],
        number: int,
        folder: Path,
        plans: Mapping[str, FoundPlan] = MappingProxyType({}),
    ) -> Taken:
        """Take one of the parts, whose sizes in rows are given, that follow a cursor; with plans
        that were found to be good."""
        self.fragments.take_over(plans)
        clock, writer = Clock(), SegmentWriter(folder)
        with clock.time("read"):
            start = self.reader.ahead(cursor, sum(parts[:number]), parts[number])
        slices = self.reader.slices(start, parts[number])
        taken: list[Taken] = []
        failures: dict[Purpose, Noted] = {}
        while (part := _next(slices, clock)) is not None:
            times = part.rows.start
            taken.append(
                Taken(
                    self.stream,
                    len(taken),
                    self._send(part.rows, writer, clock, failures) if len(times) else {},
                    part.cursor.to_json(),
                    part.at_end,
                    len(times),
                    part.late,
                    part.rejects,
                    int(times.min()) if len(times) else None,
                    int(times.max()) if len(times) else None,
                    part.cursor.largest,
                    {},
                    {},
                )
            )
        writer.close()
        return replace(
            _whole(taken),
            part=number,
            failures=failures,
            seconds=clock.seconds,
            decisions=self.fragments.decisions(),
            measured=self.fragments.measured(),
            learned=self.fragments.learned(),
        )

    def _send(
        self, rows: Delta, writer: SegmentWriter, clock: Clock, failures: dict[Purpose, Noted]
    ) -> dict[int, list[Piece]]:
        """Write what the fragments make of some rows, by shard."""
        with clock.time("filter"):
            stepped = self.fragments.step({self.stream: rows}, {self.stream: BEFORE_TIME}, {}, {})
        _note(failures, stepped.failures)
        pieces: dict[int, list[Piece]] = {}
        for exchange in self.exchanges:
            delta = stepped.sent[exchange.number]
            if exchange.number not in self.in_order:
                delta = replace(delta, position=None)
            with clock.time("split"):
                spread = split(delta, exchange.keys, self.shards)
            with clock.time("write"):
                for shard, piece in writer.add(exchange.number, spread.rows, spread.starts):
                    pieces.setdefault(shard, []).append(piece)
        return pieces


def _next(slices: Iterator[Slice], clock: Clock) -> Slice | None:
    with clock.time("read"):
        return next(slices, None)


def _note(failures: dict[Purpose, Noted], more: Failed) -> None:
    for purpose, noted in more.items():
        failures.setdefault(purpose, {}).update(noted)


def together(takes: Iterable[Taken]) -> list[Taken]:
    """One for each stream: what its parts took, one after the other."""
    ordered = sorted(takes, key=lambda taken: (taken.stream, taken.part))
    return [_whole(list(parts)) for _, parts in groupby(ordered, lambda taken: taken.stream)]


def _whole(parts: list[Taken]) -> Taken:
    if len(parts) == 1:
        return parts[0]
    seconds: Counter[str] = Counter()
    for part in parts:
        seconds.update(part.seconds)
    failures: dict[Purpose, Noted] = {}
    for part in parts:
        _note(failures, part.failures)
    last = parts[-1]
    # A part need not know how far time had come before it.
    largest = max((part.largest for part in parts if part.largest is not None), default=None)
    return Taken(
        last.stream,
        0,
        {
            shard: [piece for part in parts for piece in part.pieces.get(shard, ())]
            for shard in sorted({shard for part in parts for shard in part.pieces})
        },
        {**last.cursor, "largest": largest},
        last.at_end,
        sum(part.rows for part in parts),
        [row for part in parts for row in part.late],
        [row for part in parts for row in part.rejects],
        min((part.first for part in parts if part.first is not None), default=None),
        max((part.last for part in parts if part.last is not None), default=None),
        largest,
        failures,
        dict(seconds),
        [decision for part in parts for decision in part.decisions],
        [measured for part in parts for measured in part.measured],
        [learned for part in parts for learned in part.learned],
    )
