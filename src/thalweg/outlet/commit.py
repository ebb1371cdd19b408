"""From what the tasks of a batch left to the entry that the next one starts from.

The entry is written once and says all that came of the batch. What follows from it
(parts that get their names, files that nobody needs any more) can be done again
after a crash, with the same outcome.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from thalweg.control import ControlLog, Entry
from thalweg.intake.reading import Cursor
from thalweg.intake.shares import UNKNOWN, pace
from thalweg.intake.take import Taken
from thalweg.operators.delta import BEFORE_TIME, FOREVER
from thalweg.outlet.aside import put_aside
from thalweg.record_segments import Part
from thalweg.segments import Piece
from thalweg.shard.parts import STAGED
from thalweg.shard.step import ShardResult, after_takes
from thalweg.work import Work

# Control entries that stay behind the newest: Spark may repeat a batch of its last two.
_ENTRIES_KEPT = 4


def first_entry(work: Work) -> Entry:
    start = dict.fromkeys(work.streams, Cursor())
    return Entry(
        batch=0,
        cursors={name: cursor.to_json() for name, cursor in start.items()},
        ended=dict.fromkeys(work.streams, False),
        takes=work.takes(start, dict.fromkeys(work.streams, UNKNOWN)),
        promises=dict.fromkeys(work.streams, BEFORE_TIME),
        firsts={},
        reached={exchange.number: BEFORE_TIME for exchange in work.derived},
    )


def next_entry(
    work: Work, entry: Entry, takes: list[Taken], results: list[ShardResult], flush: bool
) -> Entry:
    promises, firsts = after_takes(entry, takes, work)
    reached = {
        exchange.number: min(
            (r.reached[exchange.number] for r in results if exchange.number in r.reached),
            default=FOREVER,
        )
        for exchange in work.derived
    }
    pieces: dict[int, list[Piece]] = {}
    rows, records = dict(entry.rows), dict(entry.records)
    for taken in takes:
        rows[taken.stream] = rows.get(taken.stream, 0) + taken.rows
    for result in results:
        for shard, some in result.pieces.items():
            pieces.setdefault(shard, []).extend(some)
        for query, number in result.records.items():
            records[query] = records.get(query, 0) + number
    ended = {**entry.ended, **{taken.stream: taken.at_end for taken in takes}}
    draining = all(ended.values())
    settled = not entry.pieces and all(time == FOREVER for time in entry.reached.values())
    cursors = {**entry.cursors, **{taken.stream: taken.cursor for taken in takes}}
    going_on = {name: Cursor.from_json(cursors[name]) for name in ended if not ended[name]}
    paces = {
        name: pace(
            Cursor.from_json(entry.cursors[name]),
            cursor,
            firsts.get(name),
            work.streams[name].tick,
        )
        for name, cursor in going_on.items()
    }
    following = work.takes(going_on, paces)
    still = (
        not (pieces or draining or any(rows for parts in following.values() for rows in parts))
        and (cursors, ended, promises) == (entry.cursors, entry.ended, entry.promises)
        and reached == entry.reached
    )
    return Entry(
        batch=entry.batch + 1,
        cursors=cursors,
        ended=ended,
        takes=following,
        promises=promises,
        firsts=firsts,
        reached=reached,
        pieces=pieces,
        draining=draining,
        finished=entry.draining and settled and not pieces,
        flush=flush or draining or still,
        quiet=still and (entry.flush or not work.part_sinks),
        answers=[piece for result in results for piece in result.answers],
        parts=[part for result in results for part in result.parts],
        rows=rows,
        records=records,
    )


class Outlet:
    """Ends every batch of a job."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._log = ControlLog(work.root)
        self._needed: list[tuple[int, int]] = []

    def start(self) -> Entry:
        """The entry to go on from; what the last batch left half-done is done."""
        last = self._log.last()
        if last is None:
            return self._log.write(first_entry(self._work))
        entry = self._log.read(last)
        publish(entry.parts)
        for sink in self._work.part_sinks:
            shutil.rmtree(sink.folder / STAGED, ignore_errors=True)
        return entry

    def end_batch(
        self, batch: int, takes: list[Taken], results: list[ShardResult], flush: bool
    ) -> Entry:
        entry = self._log.read(batch)
        following = self._log.write(next_entry(self._work, entry, takes, results, flush))
        put_aside(self._work, batch, takes, results)
        publish(following.parts)
        self._sweep(batch, results)
        return following

    def _sweep(self, batch: int, results: list[ShardResult]) -> None:
        """Remove what neither the manifests of this batch nor those of the last one name.

        If this batch is repeated, it starts from the manifests of the last one.
        """
        oldest = min((result.oldest for result in results), default=0)
        snapshot = min((result.snapshot_batch for result in results), default=-1)
        self._needed = [*self._needed[-1:], (oldest, snapshot)]
        if len(self._needed) < 2:
            return
        root = self._work.root
        _remove_below(root / "segments", min(batch - 1, *(needed for needed, _ in self._needed)))
        _remove_below(root / "state", min(needed for _, needed in self._needed))
        if not self._work.keeps_answers:
            self._log.trim(batch - _ENTRIES_KEPT)
            _remove_below(root / "results", batch - _ENTRIES_KEPT)


def publish(parts: list[Part]) -> None:
    """Give parts their names; one that has it already is left as it is."""
    folders = set()
    for part in parts:
        with suppress(FileNotFoundError):
            os.replace(part.staged, part.name)
            folders.add(Path(part.name).parent)
    for folder in folders:
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)


def _remove_below(folder: Path, batch: int) -> None:
    for path in folder.glob("*"):
        if int(path.name) < batch:
            shutil.rmtree(path, ignore_errors=True)
