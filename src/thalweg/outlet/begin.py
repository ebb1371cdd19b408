"""When a batch of a job with live sources begins, and what it is to do.

It begins when there are rows to read or pieces to take in, when the clock has moved
promises far enough to let something out, or when records have waited for so long that
they had better become a file. As long as there is nothing of this, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from thalweg.control import ControlLog, Entry
from thalweg.intake.reading import Cursor
from thalweg.intake.shares import UNKNOWN, Pace
from thalweg.shard.step import after_takes
from thalweg.work import Work

# Batches that the clock alone asks for begin at least so far apart.
HEARTBEAT_MICROS = 200_000
# Records that are too few for a file are written when there was nothing to do for so long.
IDLE_MICROS = 1_000_000


def begin_batch(work: Work, log: ControlLog, batch: int, now: int, stopping: bool) -> Entry:
    """The entry of a batch; if it waits and there is something to do now, it begins."""
    entry = log.read(batch)
    begun = begun_entry(work, entry, now, stopping=stopping) if entry.waits else None
    return entry if begun is None else log.begin(begun)


def begun_entry(
    work: Work,
    left: Entry,
    now: int,
    paces: Mapping[str, Pace] | None = None,
    came_on: bool = False,
    stopping: bool = False,
) -> Entry | None:
    """What a batch does that begins now; None if there is nothing to do.

    `left` says what the batch before has left, `came_on` whether that moved what shards
    promise each other. A job that is `stopping` has no time to wait for more records.
    """
    cursors = {name: Cursor.from_json(cursor) for name, cursor in left.cursors.items()}
    ended = dict(left.ended)
    for name, cursor in _looked(work, left, now):
        cursors[name] = cursor
        ended[name] = False
    going_on = {name: cursor for name, cursor in cursors.items() if not ended[name]}
    begun = replace(
        left,
        cursors={name: cursor.to_json() for name, cursor in cursors.items()},
        ended=ended,
        takes=work.takes(going_on, {name: (paces or {}).get(name, UNKNOWN) for name in going_on}),
        clock=now,
        waits=False,
    )
    since = now - (left.clock or 0)
    lets_out = (came_on or since >= HEARTBEAT_MICROS) and _lets_out(work, begun)
    flush = left.unwritten and (left.flush or stopping or since >= IDLE_MICROS)
    if begun.takes or begun.pieces or lets_out or flush:
        return replace(begun, flush=left.flush or flush)
    return None


def has_news(work: Work, left: Entry, now: int) -> bool:
    """Whether there is something to read that the batch before has left. Nothing changes by
    asking, at any time and in any process."""
    return any(
        source.has_more(Cursor.from_json(left.cursors[name]), now)
        for name, source in work.live.items()
    )


def _looked(work: Work, left: Entry, now: int) -> Iterator[tuple[str, Cursor]]:
    """The live streams of which there is more, with how much."""
    for name, source in work.live.items():
        seen = Cursor.from_json(left.cursors[name])
        cursor = source.look(seen, now)
        if (cursor.limit or 0) > (seen.limit or 0):
            yield name, cursor


def _lets_out(work: Work, begun: Entry) -> bool:
    """Whether promises have come far enough for something, rows that are new aside."""
    promises, _, _ = after_takes(begun, [], work)
    return any(all(promises[name] > time for name, time in due.items()) for due in begun.due)
