"""From what the tasks of a batch left to the entry that the next one starts from.

The entry is written once and says all that came of the batch. What follows from it
(parts that get their names, files that nobody needs any more) can be done again
after a crash, with the same outcome.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from thalweg.adapt.learned import FoundPlans
from thalweg.catalog import Stream
from thalweg.clock import WallClock, wall_clock
from thalweg.control import ControlLog, Entry
from thalweg.dataflow import Due
from thalweg.intake.reading import Cursor
from thalweg.intake.shares import UNKNOWN, Pace, pace
from thalweg.intake.spooled import SpooledSource
from thalweg.intake.take import Taken
from thalweg.operators.delta import BEFORE_TIME, FOREVER
from thalweg.outlet.aside import put_aside
from thalweg.outlet.begin import begun_entry
from thalweg.outlet.decided import decided_in, keep_decisions
from thalweg.outlet.learning import Learning, learned_in
from thalweg.outlet.measuring import Measuring
from thalweg.record_segments import Part
from thalweg.segments import Piece
from thalweg.shard.parts import STAGED
from thalweg.shard.step import ShardResult, after_reading, after_takes
from thalweg.work import Work

# Control entries that stay behind the newest: Spark may repeat a batch of its last two.
_ENTRIES_KEPT = 4


def first_entry(work: Work, now: int) -> Entry:
    cursors = dict.fromkeys(work.streams, Cursor())
    start = {name: cursor for name, cursor in cursors.items() if name not in work.live}
    first = Entry(
        batch=0,
        cursors={name: cursor.to_json() for name, cursor in cursors.items()},
        ended={name: name in work.live for name in work.streams},
        takes=work.takes(start, dict.fromkeys(start, UNKNOWN)),
        promises=dict.fromkeys(work.streams, BEFORE_TIME),
        firsts={},
        lasts={},
        reached={exchange.number: BEFORE_TIME for exchange in work.derived},
    )
    return _begun(work, first, now, dict.fromkeys(start, UNKNOWN), False) if work.live else first


def next_entry(
    work: Work,
    entry: Entry,
    takes: list[Taken],
    results: list[ShardResult],
    flush: bool,
    now: int,
) -> Entry:
    promises, firsts, lasts = after_takes(entry, takes, work)
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
    ended, cursors = after_reading(entry, takes)
    draining = all(work.is_over(name, ended[name], cursors[name]) for name in ended)
    settled = not entry.pieces and all(time == FOREVER for time in entry.reached.values())
    for name in work.live:
        cursors[name] = _with_promise(cursors[name], promises[name], work.streams[name])
    going_on = {name: cursors[name] for name in ended if not ended[name]}
    paces = {
        name: pace(
            Cursor.from_json(entry.cursors[name]),
            cursor,
            firsts.get(name),
            work.streams[name].tick,
        )
        for name, cursor in going_on.items()
        if name not in work.live
    }
    left = Entry(
        batch=entry.batch + 1,
        cursors={name: cursor.to_json() for name, cursor in cursors.items()},
        ended=ended,
        takes={} if work.live else work.takes(going_on, paces),
        promises=promises,
        firsts=firsts,
        lasts=lasts,
        reached=reached,
        pieces=pieces,
        draining=draining,
        finished=entry.draining and settled and not pieces,
        flush=flush or draining,
        clock=entry.clock,
        due=_earliest([due for r in results for due in r.due], promises, reached != entry.reached),
        unwritten=any(result.unwritten for result in results),
        plans=_with_found(entry.plans, takes, results),
        answers=[piece for result in results for piece in result.answers],
        parts=[part for result in results for part in result.parts],
        rows=rows,
        records=records,
    )
    if not work.live or left.draining:
        return left
    return _begun(work, left, now, paces, reached != entry.reached)


def _with_found(plans: FoundPlans, takes: list[Taken], results: list[ShardResult]) -> FoundPlans:
    """Where several tasks have found other plans for the same, one of them is as good as any."""
    found = dict(plans)
    for learned in learned_in(takes, results):
        if learned.plan is not None:
            found[learned.name] = learned.plan
    return found


def _begun(work: Work, left: Entry, now: int, paces: dict[str, Pace], came_on: bool) -> Entry:
    begun = begun_entry(work, left, now, paces, came_on)
    return begun or replace(left, takes={}, waits=True)


def _with_promise(cursor: Cursor, promise: int, stream: Stream) -> Cursor:
    """A row below what was promised is late, as if another had moved time so far."""
    if promise in (BEFORE_TIME, FOREVER):
        return cursor
    known = BEFORE_TIME if cursor.largest is None else cursor.largest
    return replace(cursor, largest=max(known, promise + stream.slack))


def _earliest(due: list[Due], promises: Mapping[str, int], came_on: bool) -> list[Due]:
    """What is due first of each combination of streams. What the promises of now did not let
    out waits for rows, or for what shards promise each other, not for time to pass."""
    found: dict[tuple[str, ...], Due] = {}
    for one in due:
        if not came_on and all(promises[name] > time for name, time in one.items()):
            continue
        known = found.setdefault(tuple(one), one)
        found[tuple(one)] = {name: min(time, known[name]) for name, time in one.items()}
    return list(found.values())


class Outlet:
    """Ends every batch of a job."""

    def __init__(self, work: Work, clock: WallClock = wall_clock) -> None:
        self._work = work
        self._clock = clock
        self._log = ControlLog(work.root)
        self._measuring, self._learning = Measuring(work.root), Learning(work.root)
        self._needed: list[tuple[int, int]] = []
        # Where the last two batches began to read.
        self._begins: list[dict[str, Any]] = []

    def start(self) -> Entry:
        """The entry to go on from; what the last batch left half-done is done."""
        last = self._log.last()
        if last is None:
            return self._log.write(first_entry(self._work, self._clock()))
        entry = self._log.read(last)
        publish(entry.parts)
        for sink in self._work.part_sinks:
            shutil.rmtree(sink.folder / STAGED, ignore_errors=True)
        return entry

    def end_batch(
        self, batch: int, takes: list[Taken], results: list[ShardResult], flush: bool
    ) -> Entry:
        entry = self._log.read(batch)
        following = self._log.write(
            next_entry(self._work, entry, takes, results, flush, self._clock())
        )
        put_aside(self._work, batch, takes, results)
        keep_decisions(self._work.root, batch, decided_in(takes, results))
        at_once = flush or following.finished or following.waits
        self._measuring.end_batch(takes, results, at_once)
        self._learning.end_batch(learned_in(takes, results), at_once)
        publish(following.parts)
        self._sweep(batch, results)
        self._sweep_spools(entry)
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

    def _sweep_spools(self, entry: Entry) -> None:
        """Remove what programs have fed and neither this batch nor the one before would read
        again."""
        self._begins = [*self._begins[-1:], entry.cursors]
        for name, source in self._work.live.items():
            if len(self._begins) == 2 and isinstance(source, SpooledSource):
                source.sweep(Cursor.from_json(self._begins[0][name]))


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
