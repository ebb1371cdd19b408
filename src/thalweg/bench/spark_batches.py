"""The micro-batches of a Spark query, as Spark itself times them."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

from thalweg.bench.trial import Batch

# The last report of a query may come after the query has ended.
_WAIT_SECONDS = 30


class Reports(StreamingQueryListener):
    """What Spark reports of every batch of the queries of a session."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []
        self._ended = threading.Event()

    def onQueryStarted(self, event: Any) -> None:
        """Nothing to note."""

    def onQueryIdle(self, event: Any) -> None:
        """Nothing to note."""

    def onQueryProgress(self, event: Any) -> None:
        self.reports.append(json.loads(event.progress.json))

    def onQueryTerminated(self, event: Any) -> None:
        self._ended.set()

    def wait(self) -> None:
        assert self._ended.wait(_WAIT_SECONDS), "Spark did not say that the query has ended"

    @property
    def batches(self) -> tuple[Batch, ...]:
        """Batches that did something, in their order."""
        return tuple(
            _batch(report) for report in self.reports if "addBatch" in report["durationMs"]
        )


@contextmanager
def watched(spark: SparkSession) -> Iterator[Reports]:
    """Collects the reports of the one query that runs inside; they are there afterwards."""
    reports = Reports()
    spark.streams.addListener(reports)
    try:
        yield reports
        reports.wait()
    finally:
        spark.streams.removeListener(reports)


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
