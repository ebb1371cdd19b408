"""From what the tasks of a batch left to the entry that the next one starts from."""

from __future__ import annotations

import shutil
from pathlib import Path

from thalweg.control import Entry
from thalweg.intake.take import Taken
from thalweg.operators.delta import BEFORE_TIME, FOREVER
from thalweg.segments import Piece
from thalweg.shard.step import ShardResult, after_takes
from thalweg.work import Work

# Files that a batch no longer needs stay for two more: a replay may start there.
_KEPT = 2


def first_entry(work: Work) -> Entry:
    return Entry(
        batch=0,
        cursors={name: work.reader(name).start().to_json() for name in work.streams},
        ended=dict.fromkeys(work.streams, False),
        promises=dict.fromkeys(work.streams, BEFORE_TIME),
        firsts={},
        reached={exchange.number: BEFORE_TIME for exchange in work.derived},
    )


def next_entry(work: Work, entry: Entry, takes: list[Taken], results: list[ShardResult]) -> Entry:
    promises, firsts = after_takes(entry, takes, work)
    reached = {
        exchange.number: min(
            (r.reached[exchange.number] for r in results if exchange.number in r.reached),
            default=FOREVER,
        )
        for exchange in work.derived
    }
    pieces: dict[int, list[Piece]] = {}
    for result in results:
        for shard, some in result.pieces.items():
            pieces.setdefault(shard, []).extend(some)
    ended = {**entry.ended, **{taken.stream: taken.at_end for taken in takes}}
    settled = not entry.pieces and all(time == FOREVER for time in entry.reached.values())
    return Entry(
        batch=entry.batch + 1,
        cursors={**entry.cursors, **{taken.stream: taken.cursor for taken in takes}},
        ended=ended,
        promises=promises,
        firsts=firsts,
        reached=reached,
        pieces=pieces,
        draining=all(ended.values()),
        finished=entry.draining and settled and not pieces,
    )


def sweep(root: Path, batch: int) -> None:
    """Remove the segments and states of batches that no replay can need."""
    for kind in ("segments", "state"):
        for folder in (root / kind).glob("*"):
            if int(folder.name) < batch - _KEPT:
                shutil.rmtree(folder, ignore_errors=True)
