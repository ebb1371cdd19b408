"""A job from its start to its end: one Spark query for all queries of a script."""

from __future__ import annotations

import pickle
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from thalweg.adapt.decisions import Decision
from thalweg.clock import wall_clock
from thalweg.control import Entry
from thalweg.intake.take import Taken
from thalweg.job.failures import as_error
from thalweg.job.labels import labels
from thalweg.job.session import log_of
from thalweg.job.settings import own_session
from thalweg.job.source import (
    ThalwegSource,
    is_stopped,
    let_run,
    stop_after_batch,
    stop_soon,
)
from thalweg.job.standing import answered_before
from thalweg.job.stateful import OUTPUT, STATE, shard_function
from thalweg.outlet.begin import has_news
from thalweg.outlet.commit import Outlet
from thalweg.outlet.decided import decided_in
from thalweg.shard.step import ShardResult
from thalweg.shard.working import remove_working_state
from thalweg.work import Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Records that are too few for a file of their own are written after this long.
_ROLL_SECONDS = 10.0
POLL_SECONDS = 0.02


@dataclass(frozen=True)
class BatchDone:
    """What came of a batch.

    `entry` is the one that the next batch starts from. Everything is answered before
    the instant `answered`, in nanoseconds; None if that is no instant. `spent` has the
    seconds of all tasks by what they did.
    """

    entry: Entry
    answered: int | None
    rows: int
    seconds: float
    state_size: int
    rebuilt: int
    spent: dict[str, float]
    decisions: list[Decision]


Follow = Callable[[BatchDone], None]


class Job:
    """Runs in the background from `start` to `stop`, or until all input is answered."""

    def __init__(self, spark: SparkSession, work: Work, follow: Follow = lambda done: None) -> None:
        self._spark = own_session(spark)
        self._work = work
        self._follow = follow
        self._outlet = Outlet(work)
        self._stopping = False
        self._flushed = self._ended = time.monotonic()
        self.query: Any = None
        self._failure: BaseException | None = None
        self.entry: Entry | None = None
        self.answered: int | None = None

    def start(self) -> None:
        self._work.save()
        let_run(self._work.root)
        self.entry = self._outlet.start()
        self._spark.dataSource.register(ThalwegSource)
        root, token = str(self._work.root), uuid.uuid4().hex
        partitions = self._spark.sparkContext.defaultParallelism
        numbers = labels(self._work.root, self._work.shards, partitions)
        source = self._spark.readStream.format("thalweg").options(
            root=root,
            start=token,
            labels=",".join(map(str, numbers)),
            cores=str(partitions),
        )
        self._ended = time.monotonic()
        self.query = (
            source.load()
            .groupBy("label")
            .applyInPandasWithState(
                shard_function(root, token, numbers), OUTPUT, STATE, "append", "NoTimeout"
            )
            .writeStream.option("checkpointLocation", str(self._work.root / "checkpoint"))
            .queryName(f"thalweg {self._work.root.name}")
            .trigger(processingTime="0 seconds")
            .foreachBatch(self._after_batch)
            .start()
        )

    def wait(self) -> None:
        """Return when everything is answered or the job was stopped; raises if it failed."""
        while not self.is_over:
            time.sleep(POLL_SECONDS)
        self.end()

    @property
    def is_over(self) -> bool:
        """Whether the job has failed, or no batch will follow."""
        return not self.query.isActive or self._failure is not None or self._is_done()

    @property
    def is_idle(self) -> bool:
        """Whether everything that was there up to now is answered."""
        entry = self.entry
        return entry is not None and entry.waits and not has_news(self._work, entry, wall_clock())

    def abandon(self) -> None:
        """Stop at once; the next start repeats the batch that is on."""
        self.query.stop()

    def end(self) -> None:
        """End a job that is over; raises if it failed."""
        if self.query.isActive and self._failure is None:
            with suppress(StreamingQueryException):
                self.query.processAllAvailable()
        failure = self.query.exception()
        self.query.stop()
        if self._failure is not None:
            raise self._failure
        if failure is not None:
            raise as_error(str(failure), log_of(self._spark))
        if self.is_finished:
            remove_working_state(self._work.root)

    def stop(self) -> None:
        """Stop when the batch that is on is done; the next start goes on from there."""
        self._stopping = True
        stop_soon(self._work.root)

    @property
    def is_finished(self) -> bool:
        return self.entry is not None and self.entry.finished

    def _is_done(self) -> bool:
        """Whether no batch will follow."""
        idle = self._stopping and not self.query.status["isTriggerActive"]
        if idle and not (self.entry is not None and self.entry.waits and self.entry.unwritten):
            stop_after_batch(self._work.root)
        return self.is_finished or is_stopped(self._work.root)

    def _after_batch(self, frame: DataFrame, number: int) -> None:
        rows = frame.collect()
        if not rows:
            return
        try:
            self._end_batch(rows)
        except BaseException as failure:
            self._failure = failure
            # Spark waits for an answer, and gets none from a thread that is told to exit.
            raise RuntimeError("the batch could not be ended") from None

    def _end_batch(self, rows: list[Any]) -> None:
        done: list[tuple[ShardResult, list[Taken]]] = [pickle.loads(row["body"]) for row in rows]
        takes, results = done[0][1], [result for result, _ in done]
        now = time.monotonic()
        flush = self._stopping or now - self._flushed > _ROLL_SECONDS
        if flush:
            self._flushed = now
        entry = self._outlet.end_batch(rows[0]["batch"], takes, results, flush)
        if self._stopping and not entry.unwritten:
            stop_after_batch(self._work.root)
        if self.entry is not None:
            self.answered = answered_before(self._work, self.entry, entry)
        seconds, self._ended = now - self._ended, now
        spent: Counter[str] = Counter()
        for seconds_by in (*(t.seconds for t in takes), *(r.seconds for r in results)):
            spent.update(seconds_by)
        self._follow(
            BatchDone(
                entry,
                self.answered,
                sum(taken.rows for taken in takes),
                seconds,
                sum(result.state_size for result in results),
                sum(result.was_rebuilt for result in results),
                dict(spent),
                decided_in(takes, results),
            )
        )
        # Whoever waits for this entry finds everything done that belongs to it.
        self.entry = entry
