"""What the tasks of a job share: the placed plans, the sources, and where files go.

Written once when the job starts; every worker reads it from there.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from thalweg.catalog import Query, Stream
from thalweg.dataflow import Dataflow
from thalweg.intake.reading import Cursor, StreamReader
from thalweg.intake.shares import Pace, shares
from thalweg.intake.take import Intake
from thalweg.plan.nodes import StreamScan
from thalweg.plan.placed import Exchange, Placement
from thalweg.program import load_python
from thalweg.sources import ReadRequest
from thalweg.units import Unit

Values = tuple[Any, ...]

_FILE = "work.pickle"


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
    `parallel` tasks of each. `followed` are the queries whose records the outlet reads;
    `keeps_answers`: it reads all of them once more at the end."""

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

    def save(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        partial = self.root / f".{_FILE}"
        partial.write_bytes(pickle.dumps(self))
        os.replace(partial, self.root / _FILE)

    @staticmethod
    def is_saved(root: Path) -> bool:
        return (root / _FILE).exists()

    @staticmethod
    def load(root: Path) -> Work:
        work: Work = pickle.loads((root / _FILE).read_bytes())
        return work

    def reader(self, stream: str) -> StreamReader:
        read = frozenset(
            column
            for exchange in self.placement.exchanges
            for node in exchange.plan.walk()
            if isinstance(node, StreamScan) and node.name == stream
            for column in node.columns
        )
        return StreamReader(self.requests[stream], self.streams[stream], self.finest, read)

    def takes(
        self, cursors: Mapping[str, Cursor], paces: Mapping[str, Pace]
    ) -> dict[str, list[int]]:
        """How many rows of each stream the tasks of a batch read."""
        wanted = shares(self.rows_per_batch, paces)
        return {
            name: list(self.reader(name).cuts(cursor, wanted[name], self.parallel))
            for name, cursor in cursors.items()
        }

    def intake(self, stream: str) -> Intake:
        """What takes the rows of a stream, and what runs on them as they are read."""
        own = [exchange for exchange in self.placement.exchanges if exchange.stream == stream]
        fragments = Dataflow({}, own, {}, self.tables, self._load_python)
        in_order = self.placement.in_order
        return Intake(stream, self.reader(stream), fragments, own, in_order, self.shards)

    def shard(self, number: int) -> Dataflow:
        queries = self.placement.queries_of(number)
        return Dataflow(queries, self.derived, self._ranks, self.tables, self._load_python)

    @cached_property
    def derived(self) -> list[Exchange]:
        """Exchanges between shards."""
        return [exchange for exchange in self.placement.exchanges if exchange.stream is None]

    @property
    def _ranks(self) -> dict[str, int]:
        return {name: stream.rank for name, stream in self.streams.items()}

    @property
    def _load_python(self) -> Any:
        return partial(load_python, folders=self.folders, aggregate=False)


def tick_of(exchange: Exchange) -> int:
    """Ticks of a fragment at the intake in one unit of its stream."""
    scales = [node.scale for node in exchange.plan.walk() if isinstance(node, StreamScan)]
    return scales[0]
