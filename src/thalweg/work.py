"""What the tasks of a job share: the placed plans, the sources, and where files go.

Written once when the job starts; every worker reads it from there.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from thalweg.catalog import Stream
from thalweg.dataflow import Dataflow
from thalweg.intake.reading import StreamReader
from thalweg.plan.nodes import StreamScan
from thalweg.plan.placed import Exchange, Placement
from thalweg.program import load_python
from thalweg.sources import ReadRequest
from thalweg.types import Schema
from thalweg.units import Unit

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Work:
    root: Path
    placement: Placement
    streams: Mapping[str, Stream]
    requests: Mapping[str, ReadRequest]
    tables: Mapping[str, list[Values]]
    folders: tuple[Path, ...]
    finest: Unit
    shards: int
    rows_per_batch: int

    def save(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / "work.pickle").write_bytes(pickle.dumps(self))

    @staticmethod
    def load(root: Path) -> Work:
        work: Work = pickle.loads((root / "work.pickle").read_bytes())
        return work

    def reader(self, stream: str) -> StreamReader:
        return StreamReader(self.requests[stream], self.streams[stream], self.finest)

    def intake(self, stream: str) -> Dataflow:
        """The fragments that run on the rows of a stream as they are read."""
        own = [exchange for exchange in self.placement.exchanges if exchange.stream == stream]
        return Dataflow({}, own, {}, self.tables, self._load_python)

    def shard(self, number: int) -> Dataflow:
        return Dataflow(
            self.placement.queries_of(number), self.derived, self._ranks, self.tables,
            self._load_python,
        )  # fmt: skip

    @cached_property
    def derived(self) -> list[Exchange]:
        """Exchanges between shards."""
        return [exchange for exchange in self.placement.exchanges if exchange.stream is None]

    @cached_property
    def schemas(self) -> dict[str, Schema]:
        return {query.name: query.plan.schema for query in self.placement.queries}

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
