"""What a shard does with the pieces of a batch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from thalweg.adapt.decisions import Decision
from thalweg.adapt.learned import FoundPlans, Learned
from thalweg.adapt.measured import Measured
from thalweg.assembly import Origin
from thalweg.clock import Clock
from thalweg.control import Entry
from thalweg.dataflow import Due, Failed, Stepped
from thalweg.intake.slices import Cursor
from thalweg.intake.split import split
from thalweg.intake.take import Taken
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, combined
from thalweg.plan.placed import Exchange
from thalweg.record_segments import Part, RecordPiece, store_records
from thalweg.segments import Piece, SegmentReader, SegmentWriter
from thalweg.shard.manifest import (
    FIRST,
    Input,
    Manifest,
    read_snapshot,
    write_snapshot,
)
from thalweg.shard.parts import Parts
from thalweg.shard.strides import one_step, strides
from thalweg.shard.working import Working
from thalweg.work import Work, tick_of


@dataclass(frozen=True)
class ShardResult:
    """What a shard leaves: how to get its state back, pieces for other shards, how far it
    came, where its records lie, and how many of each query there are.

    `oldest` and `snapshot_batch` are the first batches whose segments and snapshots the
    manifest needs. `due` is what the passing of time will let out; `unwritten`: records
    wait to become a file. `seconds` says where the time went, `decisions` what was changed
    on the way, `measured` what was seen, `learned` what may be of use to others.
    """

    shard: int
    manifest: bytes
    oldest: int
    snapshot_batch: int
    pieces: dict[int, list[Piece]]
    reached: dict[int, int]
    records: dict[str, int]
    answers: list[RecordPiece]
    parts: list[Part]
    failures: Failed
    state_size: int
    was_rebuilt: bool
    due: list[Due]
    unwritten: bool
    seconds: dict[str, float]
    decisions: list[Decision]
    measured: list[Measured]
    learned: list[Learned]


class Shard:
    """One shard, as one process sees it: the operators, and where their state lies."""

    def __init__(self, work: Work, number: int) -> None:
        self._work = work
        self._number = number
        self._working = Working(work.root, number)
        self._dataflow = work.shard(number)
        self._parts = Parts(work.part_sinks, number)
        # The state that the operators stand at, if they have done all that led to it.
        self._token: str | None = None

    def step(
        self, entry: Entry, takes: list[Taken], pieces: list[Piece], before: bytes | None
    ) -> ShardResult:
        manifest = FIRST if before is None else Manifest.from_bytes(before)
        promises, firsts, lasts = moved(entry, takes, self._work)
        own = (*pieces, *entry.pieces.get(self._number, ()))
        given = Input(entry.batch, own, promises, firsts, lasts, entry.flush)
        with self._working.held() as is_ours:
            return self._step(given, manifest, entry.plans, is_ours)

    def _step(
        self, given: Input, manifest: Manifest, plans: FoundPlans, is_ours: bool
    ) -> ShardResult:
        clock = Clock()
        with clock.time("attach"):
            was_rebuilt = self._recall(manifest, is_ours)
            if is_ours:
                self._working.soil()
        self._dataflow.take_over(plans)
        self._token = None
        stepped = self._advance(given, clock)
        with clock.time("write"):
            sent = self._send(stepped.sent, given.batch)
            followed = {q: r for q, r in stepped.answers.items() if q in self._work.followed}
            answers = store_records(self._work.root / "results" / f"{given.batch:09d}", followed)
            parts = self._parts.due(given)
        with clock.time("store"):
            manifest, size = self._keep(manifest.after(given), given, is_ours)
            self._token = manifest.token
        return ShardResult(
            self._number,
            manifest.to_bytes(),
            manifest.oldest,
            manifest.snapshot_batch,
            sent,
            {int(number): time for number, time in stepped.reached.items()},
            {query: records.count for query, records in stepped.answers.items()},
            answers,
            parts,
            stepped.failures,
            size,
            was_rebuilt,
            self._dataflow.due(_by_origin(given), given.firsts) if self._work.live else [],
            bool(self._parts.waiting),
            clock.seconds,
            self._dataflow.decisions(),
            self._dataflow.measured(),
            self._dataflow.learned(),
        )

    # State

    def _recall(self, manifest: Manifest, is_ours: bool) -> bool:
        """Get to the state that a manifest describes; whether it had to be rebuilt."""
        value = self._working.attach(manifest.token) if is_ours else None
        if value is not None:
            self._restore(value, is_own=manifest.token == self._token)
            return False
        self._dataflow = self._work.shard(self._number)
        self._parts = Parts(self._work.part_sinks, self._number)
        if manifest.snapshot is not None:
            self._restore(read_snapshot(manifest.snapshot), is_own=False)
        for earlier in manifest.inputs:
            self._advance(earlier, Clock())
            self._parts.forget_due(earlier)
        # What was seen then was told then.
        self._dataflow.measured()
        return manifest != FIRST

    def _restore(self, value: Any, is_own: bool) -> None:
        state, waiting = value
        self._dataflow.restore(state, is_own)
        self._parts.waiting = waiting

    def _keep(self, manifest: Manifest, given: Input, is_ours: bool) -> tuple[Manifest, int]:
        """Keep the state, and if it is time a snapshot of it."""
        value = (self._dataflow.snapshot(), self._parts.waiting)
        size = self._working.store(value, manifest.token) if is_ours else None
        if size is None or manifest.is_long(size):
            folder = self._work.root / "state" / f"{given.batch:09d}"
            path = write_snapshot(folder, value)
            manifest = replace(manifest, snapshot=path, snapshot_batch=given.batch, inputs=())
        return manifest, size or 0

    # One step

    def _advance(self, given: Input, clock: Clock) -> Stepped:
        """Take in what came; changes the state and nothing else."""
        exchanges = self._work.placement.exchanges
        reader = SegmentReader()
        parts: dict[int, list[Delta]] = defaultdict(list)
        with clock.time("map"):
            for piece in given.pieces:
                schema = exchanges[piece.exchange].plan.schema
                parts[piece.exchange].append(reader.read(piece, schema))
            arrivals: dict[Origin, Delta] = {
                number: combined(some, exchanges[number].plan.schema)
                for number, some in parts.items()
            }
        with clock.time("kernel"):
            promises = _by_origin(given)
            stepped = one_step(
                [
                    self._dataflow.step(some, until, given.firsts, given.lasts)
                    for some, until in strides(arrivals, promises, self._work.rows_at_once)
                ],
                self._work.placement.queries_of(self._number),
                exchanges,
            )
            self._parts.add(stepped.answers)
        return stepped

    def _send(self, sent: Any, batch: int) -> dict[int, list[Piece]]:
        writer = SegmentWriter(self._work.root / "segments" / f"{batch:09d}")
        pieces: dict[int, list[Piece]] = {}
        for number, delta in sent.items():
            keys = self._work.placement.exchanges[number].keys
            spread = split(delta, keys, self._work.shards)
            for shard, piece in writer.add(number, spread.rows, spread.starts):
                pieces.setdefault(shard, []).append(piece)
        writer.close()
        return pieces


def _by_origin(given: Input) -> dict[Origin, int]:
    return dict(given.promises.items())


def moved(
    entry: Entry, takes: list[Taken], work: Work
) -> tuple[dict[int, int], dict[str, int], dict[str, int]]:
    """Promises of all exchanges, first and last instants of streams, after what was taken."""
    streams, firsts, lasts = after_takes(entry, takes, work)

    def promise(exchange: Exchange) -> int:
        if exchange.stream is None:
            return entry.reached[exchange.number]
        time = streams[exchange.stream]
        return time if time in (FOREVER, BEFORE_TIME) else time * tick_of(exchange)

    promises = {exchange.number: promise(exchange) for exchange in work.placement.exchanges}
    return promises, firsts, lasts


def after_reading(entry: Entry, takes: list[Taken]) -> tuple[dict[str, bool], dict[str, Cursor]]:
    """By stream whether its source is at its end, and where it stands."""
    ended = {**entry.ended, **{taken.stream: taken.at_end for taken in takes}}
    cursors = {**entry.cursors, **{taken.stream: taken.cursor for taken in takes}}
    return ended, {name: Cursor.from_json(cursor) for name, cursor in cursors.items()}


def after_takes(
    entry: Entry, takes: list[Taken], work: Work
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Promises, first and last instants of streams.

    Of a live source that was read as far as it was there when the batch began, the clock
    of then promises, too. A source that is over has nothing more to come at all.
    """
    promises, firsts, lasts = dict(entry.promises), dict(entry.firsts), dict(entry.lasts)
    ended, cursors = after_reading(entry, takes)
    for taken in takes:
        if taken.largest is not None:
            slack = work.streams[taken.stream].slack
            promises[taken.stream] = max(promises[taken.stream], taken.largest - slack)
        if taken.first is not None:
            firsts[taken.stream] = min(taken.first, firsts.get(taken.stream, taken.first))
        if taken.last is not None:
            lasts[taken.stream] = max(taken.last, lasts.get(taken.stream, taken.last))
    for name, source in work.live.items():
        if ended[name] and entry.clock is not None:
            by_clock = source.promised(entry.clock)
            if by_clock is not None:
                promises[name] = max(promises[name], by_clock)
    for name in promises:
        if work.is_over(name, ended[name], cursors[name]):
            promises[name] = FOREVER
    return promises, firsts, lasts
