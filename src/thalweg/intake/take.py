"""One batch of one stream: rows in, pieces of segments out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thalweg.clock import Clock
from thalweg.dataflow import Dataflow, Failed
from thalweg.intake.slices import Cursor, Reader
from thalweg.intake.split import split
from thalweg.operators.delta import BEFORE_TIME
from thalweg.plan.placed import Exchange
from thalweg.segments import Piece, SegmentWriter
from thalweg.sources import Accepted, Reject


@dataclass(frozen=True)
class Taken:
    """What a batch took of a stream: pieces by shard, and where the source stands now.

    `first` and `largest` are the first and the last instant among the rows, if any.
    """

    stream: str
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
    rows: int,
    shards: int,
    folder: Path,
) -> Taken:
    clock = Clock()
    with clock.time("read"):
        part = reader.read(cursor, rows)
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
