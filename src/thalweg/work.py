"""What the tasks of a job share: the placed plans, the sources, and where files go.

Written once when the job starts; every worker reads it from there.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from thalweg.adapt.choices import Adaptation
from thalweg.catalog import Query, Stream
from thalweg.dataflow import Dataflow
from thalweg.intake.live import LiveSource
from thalweg.intake.reading import StreamReader
from thalweg.intake.shares import Pace, shares
from thalweg.intake.slices import Cursor, Reader
from thalweg.intake.spooled import SpooledReader, SpooledSource
from thalweg.intake.take import Intake
from thalweg.plan.nodes import Plan, StreamScan
from thalweg.plan.placed import Exchange, Placement
from thalweg.program import load_python
from thalweg.sources import ReadRequest, is_live
from thalweg.units import Unit
from thalweg.vector.compiled.store import CodeStore, user_folder

Values = tuple[Any, ...]

_FILE = "work.pickle"
# Of what is in a checkpoint; another number says that older checkpoints do not fit.
_LAYOUT = 4
_ROWS_AT_ONCE = 1 << 17

# Where nothing else is asked for.
SHARDS = 4
ROWS_PER_BATCH = 500_000


@dataclass(frozen=True)
class PartSink:
    """A query whose records the shards write into a folder themselves."""

    query: Query
    format: str
    suffix: str
    folder: Path


@dataclass(frozen=True)
class Work:
    """A batch has about `rows_per_batch` rows of all streams together, read by up to
    `parallel` tasks of each; a shard takes in `rows_at_once` of them. `followed` are the
    queries whose records the outlet reads; `keeps_answers`: it reads all of them once more
    at the end. `begun` is when the job began, in microseconds of the clock; `adaptations` say by
    query what may change while it runs."""

    root: Path
    placement: Placement
    streams: Mapping[str, Stream]
    requests: Mapping[str, ReadRequest]
    tables: Mapping[str, list[Values]]
    folders: tuple[Path, ...]
    finest: Unit
    shards: int
    rows_per_batch: int
    part_sinks: tuple[PartSink, ...] = ()
    followed: frozenset[str] = frozenset()
    keeps_answers: bool = False
    parallel: int = 1
    rows_at_once: int = _ROWS_AT_ONCE
    begun: int = 0
    adaptations: Mapping[str, Adaptation] = field(default_factory=dict)

    def save(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        partial = self.root / f".{_FILE}"
        # Without what was computed on the way: readers have files open.
        partial.write_bytes(pickle.dumps((_LAYOUT, replace(self))))
        os.replace(partial, self.root / _FILE)

    @staticmethod
    def is_saved(root: Path) -> bool:
        return (root / _FILE).exists()

    @staticmethod
    def load(root: Path) -> Work:
        work: Work
        layout, work = pickle.loads((root / _FILE).read_bytes())
        if layout != _LAYOUT:
            raise pickle.UnpicklingError(f"layout {layout}, not {_LAYOUT}")
        return work

    def reader(self, stream: str) -> Reader:
        if self.requests[stream].connector.name == "memory":
            return SpooledReader(self.spool(stream), self.streams[stream])
        read = self.placement.columns_read(stream)
        return StreamReader(self._request(stream), self.streams[stream], self.finest, read)

    def _request(self, stream: str) -> ReadRequest:
        request = self.requests[stream]
        if not is_live(request.connector):
            return request
        found = self.root / "found" / stream if request.connector.option("follow") else None
        return replace(request, begun=self.begun, found=found)

    @cached_property
    def live(self) -> dict[str, LiveSource | SpooledSource]:
        """The sources whose rows come as time goes by."""
        sources: dict[str, LiveSource | SpooledSource] = {}
        for name, request in self.requests.items():
            if request.connector.name == "memory":
                sources[name] = SpooledSource(self.spool(name))
            elif is_live(request.connector):
                sources[name] = LiveSource(self._request(name), self.streams[name])
        return sources

    def is_over(self, stream: str, ended: bool, cursor: Cursor) -> bool:
        """Whether a stream has no more rows, and never will have."""
        return ended and (stream not in self.live or self.live[stream].is_over(cursor))

    def takes(
        self, cursors: Mapping[str, Cursor], paces: Mapping[str, Pace]
    ) -> dict[str, list[int]]:
        """How many rows of each stream the tasks of a batch read."""
        wanted = shares(self.rows_per_batch, paces)
        return {
            name: list(self._readers[name].cuts(cursor, wanted[name], self.parallel))
            for name, cursor in cursors.items()
        }

    @cached_property
    def _readers(self) -> dict[str, Reader]:
        return {name: self.reader(name) for name in self.streams}

    def spool(self, stream: str) -> Path:
        """Where the rows of a stream are that a program hands over."""
        return self.root / "spool" / stream

    def intake(self, stream: str) -> Intake:
        """What takes the rows of a stream, and what runs on them as they are read."""
        own = [exchange for exchange in self.placement.exchanges if exchange.stream == stream]
        fragments = self._dataflow({}, own, {})
        in_order = self.placement.in_order
        return Intake(stream, self.reader(stream), fragments, own, in_order, self.shards)

    def shard(self, number: int) -> Dataflow:
        return self._dataflow(self.placement.queries_of(number), self.derived, self._ranks)

    def _dataflow(
        self, queries: Mapping[str, Plan], exchanges: list[Exchange], ranks: Mapping[str, int]
    ) -> Dataflow:
        parts = (self.tables, self._load_python, self._store)
        return Dataflow(queries, exchanges, ranks, *parts, self.placement.served, self.adaptations)

    @cached_property
    def derived(self) -> list[Exchange]:
        """Exchanges between shards."""
        return [exchange for exchange in self.placement.exchanges if exchange.stream is None]

    @property
    def _ranks(self) -> dict[str, int]:
        return {name: stream.rank for name, stream in self.streams.items()}

    def warm(self) -> int:
        """Compile the expressions of all plans before they are needed, or load them if that
        was done before; how many functions that is."""
        fragments = [self.intake(stream).fragments for stream in self.streams]
        return sum(dataflow.warm() for dataflow in (*fragments, self.shard(0)))

    @cached_property
    def _store(self) -> CodeStore:
        return CodeStore(user_folder())

    @property
    def _load_python(self) -> Any:
        return partial(load_python, folders=self.folders, aggregate=False)


def tick_of(exchange: Exchange) -> int:
    """Ticks of a fragment at the intake in one unit of its stream."""
    scales = [node.scale for node in exchange.plan.walk() if isinstance(node, StreamScan)]
    return scales[0]
