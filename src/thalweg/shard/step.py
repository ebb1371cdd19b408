"""What a shard does with the pieces of a batch."""

from __future__ import annotations

import os
import pickle
import uuid
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from thalweg.control import Entry
from thalweg.dataflow import Dataflow, Origin
from thalweg.intake.split import split
from thalweg.intake.take import Taken
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, combined
from thalweg.plan.placed import Exchange
from thalweg.segments import Piece, SegmentReader, SegmentWriter, store_records
from thalweg.work import Work, tick_of


@dataclass(frozen=True)
class ShardResult:
    """What a shard leaves: its state, pieces for other shards, how far it came, and how
    many records of each query it wrote."""

    shard: int
    state: str
    pieces: dict[int, list[Piece]]
    reached: dict[int, int]
    records: dict[str, int]
    failures: list[tuple[str, str, str]]


class Shard:
    """The working state of a shard in this process.

    `state` names the stored state that it equals; any other is read from its file.
    """

    def __init__(self, work: Work, number: int) -> None:
        self._work = work
        self._number = number
        self._dataflow: Dataflow | None = None
        self._state: str | None = None

    def step(
        self, entry: Entry, takes: list[Taken], pieces: list[Piece], state: str | None
    ) -> ShardResult:
        dataflow = self._at(state)
        self._dataflow = None  # not to be trusted until the step is done
        promises, firsts = moved(entry, takes, self._work)
        reader = SegmentReader()
        parts: dict[int, list[Delta]] = defaultdict(list)
        for piece in (*pieces, *entry.pieces.get(self._number, ())):
            schema = self._work.placement.exchanges[piece.exchange].plan.schema
            parts[piece.exchange].append(reader.read(piece, schema))
        arrivals: dict[Origin, Delta] = {
            number: combined(some, self._work.placement.exchanges[number].plan.schema)
            for number, some in parts.items()
        }
        stepped = dataflow.step(arrivals, promises, firsts)
        writer = SegmentWriter(self._work.root / "segments" / f"{entry.batch:09d}")
        sent: dict[int, list[Piece]] = {}
        for number, delta in stepped.sent.items():
            keys = self._work.placement.exchanges[number].keys
            for shard, part in enumerate(split(delta, keys, self._work.shards)):
                if len(part):
                    sent.setdefault(shard, []).append(writer.add(number, part))
        writer.close()
        records = {}
        for query, some in stepped.answers.items():
            records[query] = some.count
            if records[query]:
                store_records(result_path(self._work.root, entry.batch, query, self._number), some)
        failures = list(dataflow.failures.noted)
        dataflow.failures.noted.clear()
        stored = self._store(dataflow, entry.batch)
        self._dataflow, self._state = dataflow, stored
        reached = {int(number): time for number, time in stepped.reached.items()}
        return ShardResult(self._number, stored, sent, reached, records, failures)

    def _at(self, state: str | None) -> Dataflow:
        """The dataflow in a state: as it is in memory, or read from its file."""
        if self._dataflow is not None and self._state == state:
            return self._dataflow
        dataflow = self._work.shard(self._number)
        if state is not None:
            dataflow.restore(pickle.loads(Path(state).read_bytes()))
        return dataflow

    def _store(self, dataflow: Dataflow, batch: int) -> str:
        folder = self._work.root / "state" / f"{batch:09d}"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self._number}-{uuid.uuid4().hex}"
        with open(path, "wb") as file:
            pickle.dump(dataflow.snapshot(), file, 5)
            file.flush()
            os.fsync(file.fileno())
        return str(path)


def moved(entry: Entry, takes: list[Taken], work: Work) -> tuple[dict[Origin, int], dict[str, int]]:
    """Promises of all exchanges and first instants of streams, after what was taken."""
    streams, firsts = after_takes(entry, takes, work)

    def promise(exchange: Exchange) -> int:
        if exchange.stream is None:
            return entry.reached[exchange.number]
        time = streams[exchange.stream]
        return time if time in (FOREVER, BEFORE_TIME) else time * tick_of(exchange)

    return {exchange.number: promise(exchange) for exchange in work.placement.exchanges}, firsts


def after_takes(
    entry: Entry, takes: list[Taken], work: Work
) -> tuple[dict[str, int], dict[str, int]]:
    """Promises and first instants of streams."""
    promises, firsts = dict(entry.promises), dict(entry.firsts)
    for taken in takes:
        if taken.largest is not None:
            slack = work.streams[taken.stream].slack
            promises[taken.stream] = max(promises[taken.stream], taken.largest - slack)
        if taken.first is not None:
            firsts[taken.stream] = min(taken.first, firsts.get(taken.stream, taken.first))
    if entry.draining:
        promises = dict.fromkeys(promises, FOREVER)
    return promises, firsts


def result_path(root: Path, batch: int, query: str, shard: int) -> Path:
    return root / "results" / f"{batch:09d}" / f"{query}.{shard}.arrow"
