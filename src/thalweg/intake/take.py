"""One batch of one stream: rows in, pieces of segments out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.clock import Clock
from thalweg.dataflow import Dataflow, Failed, Noted, Purpose
from thalweg.intake.slices import Cursor, Reader
from thalweg.intake.split import split
from thalweg.operators.delta import BEFORE_TIME
from thalweg.plan.placed import Exchange
from thalweg.segments import Piece, SegmentWriter
from thalweg.sources import Accepted, Reject


@dataclass(frozen=True)
class Taken:
    """What a batch, or a part of it, took of a stream: pieces by shard, and where the
    source stands now.

    `first` and `largest` are the first and the last instant among the rows, if any.
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
    largest: int | None
    failures: Failed
    seconds: dict[str, float]


def take(
    stream: str,
    reader: Reader,
    fragments: Dataflow,
    exchanges: list[Exchange],
    cursor: Cursor,
    parts: Sequence[int],
    number: int,
    shards: int,
    folder: Path,
) -> Taken:
    """Take one of the parts, whose sizes in rows are given, that follow a cursor."""
    clock = Clock()
    with clock.time("read"):
        part = reader.read(reader.ahead(cursor, sum(parts[:number])), parts[number])
    pieces: dict[int, list[Piece]] = {}
    failures: Failed = {}
    if len(part.rows):
        with clock.time("filter"):
            stepped = fragments.step({stream: part.rows}, {stream: BEFORE_TIME}, {})
            failures = stepped.failures
        with clock.time("split"):
            writer = SegmentWriter(folder)
            for exchange in exchanges:
                delta = stepped.sent[exchange.number]
                for shard, own in enumerate(split(delta, exchange.keys, shards)):
                    if len(own):
                        pieces.setdefault(shard, []).append(writer.add(exchange.number, own))
            writer.close()
    times = part.rows.start
    return Taken(
        stream,
        number,
        pieces,
        part.cursor.to_json(),
        part.at_end,
        len(times),
        part.late,
        part.rejects,
        int(np.min(times)) if len(times) else None,
        part.cursor.largest,
        failures,
        clock.seconds,
    )


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
        for purpose, noted in part.failures.items():
            failures.setdefault(purpose, {}).update(noted)
    last = parts[-1]
    return Taken(
        last.stream,
        0,
        {
            shard: [piece for part in parts for piece in part.pieces.get(shard, ())]
            for shard in sorted({shard for part in parts for shard in part.pieces})
        },
        last.cursor,
        last.at_end,
        sum(part.rows for part in parts),
        [row for part in parts for row in part.late],
        [row for part in parts for row in part.rejects],
        min((part.first for part in parts if part.first is not None), default=None),
        last.largest,
        failures,
        dict(seconds),
    )
