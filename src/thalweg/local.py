"""The engine batch by batch in one plain process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg.answers import Change
from thalweg.catalog import Stream
from thalweg.dataflow import Dataflow
from thalweg.intake.accept import Arrival
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta
from thalweg.types import Schema
from thalweg.vector.column import from_values


def run_in_batches(
    dataflow: Dataflow,
    streams: Mapping[str, Stream],
    arrivals: Mapping[str, Sequence[Arrival]],
    rows: int,
) -> Iterator[Mapping[str, list[Change]]]:
    """Feed every stream `rows` rows at a time, then let time run to its end."""
    longest = max((len(some) for some in arrivals.values()), default=0)
    promises = dict.fromkeys(streams, BEFORE_TIME)
    for first in range(0, longest, rows):
        batch = {name: some[first : first + rows] for name, some in arrivals.items()}
        for name, some in batch.items():
            if some:
                latest = max(arrival.time for arrival in some) - streams[name].slack
                promises[name] = max(promises[name], latest)
        yield dataflow.step(
            {name: as_delta(some, streams[name].columns) for name, some in batch.items()},
            promises,
        )
    yield dataflow.step({}, dict.fromkeys(streams, FOREVER))


def as_delta(arrivals: Sequence[Arrival], columns: Schema) -> Delta:
    """Accepted rows as elements of their stream."""
    time = np.array([arrival.time for arrival in arrivals], np.int64)
    values: list[Sequence[Any]] = list(zip(*(a.values for a in arrivals), strict=True))
    if not arrivals:
        values = [() for _ in columns]
    return Delta(
        tuple(from_values(cells, f.type) for cells, f in zip(values, columns, strict=True)),
        time,
        time,
        np.ones(len(arrivals), np.int64),
        np.array([arrival.position for arrival in arrivals], np.int64),
    )
