"""The micro-batches of a Spark query, as Spark itself times them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from thalweg.bench.trial import Batch

# Spark keeps the reports of so many batches, to be asked for when all is done. (Being told
# of each costs a Python listener more than some batches take.)
SETTINGS = {"spark.sql.streaming.numRecentProgressUpdates": "10000"}


def batches_of(query: StreamingQuery) -> tuple[Batch, ...]:
    """The batches of a query that did something, in their order."""
    reports = [json.loads(report.json()) for report in query._jsq.recentProgress()]
    return tuple(_batch(report) for report in reports if "addBatch" in report["durationMs"])


def _batch(report: dict[str, Any]) -> Batch:
    began = dt.datetime.fromisoformat(report["timestamp"]).timestamp()
    parts = {name: ms / 1e3 for name, ms in report["durationMs"].items()}
    return Batch(began, parts.pop("triggerExecution"), parts)


def span(batches: Sequence[Batch]) -> tuple[float, float]:
    """When the first batch began and the last one was committed."""
    return batches[0].began, max(batch.began + batch.seconds for batch in batches)


def summed(batches: Sequence[Batch]) -> dict[str, float]:
    """The parts of all batches."""
    names = sorted({name for batch in batches for name in batch.parts})
    return {name: sum(batch.parts.get(name, 0.0) for batch in batches) for name in names}
