"""The engine in a Python program: declare, start, feed, read.

All queries that were declared before the start run in one job. What is fed is on disk
when `feed` returns, and what was answered stays readable when the job is over.
"""

from __future__ import annotations

import threading
import time
import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from thalweg.catalog import Query, Stream, Table, kind_of
from thalweg.control import ControlLog
from thalweg.cql.script import read_script
from thalweg.errors import QueryError, SourceText, did_you_mean
from thalweg.explain import explain_text
from thalweg.explain_job import explain_global, explain_job, text_of
from thalweg.intake.feed import Fed, Feed, Instant, Row, python_rows
from thalweg.intake.spooled import Spool
from thalweg.job.checkpoint import going_on, job_folder
from thalweg.job.run import POLL_SECONDS, BatchDone, Job
from thalweg.job.script import is_shown, report_on, show, work_of
from thalweg.job.session import session
from thalweg.job.settings import shortcomings
from thalweg.operators.answer import Records, joined_records
from thalweg.outlet.answer import Answer
from thalweg.outlet.answers import pieces_of, records_of
from thalweg.outputs import Target, targets_of
from thalweg.program import Program, bind_script
from thalweg.record_segments import RecordPiece
from thalweg.report import RunReport
from thalweg.run import read_tables
from thalweg.sources import Accepted, Reject
from thalweg.work import ROWS_PER_BATCH, SHARDS, Work

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import SparkSession

    Rows: TypeAlias = Iterable[Row] | pa.Table | pa.RecordBatch | pd.DataFrame

Subscriber = Callable[[Answer], None]


@dataclass
class _Run:
    """A job from its start on, and what it has left so far.

    `pieces` are, by query and batch, where its records lie, up to the entry `known`: a
    batch that Spark repeats after a restart is not counted again. A `checkpoint`, if there
    is one, is open to others when the job is over.
    """

    program: Program
    work: Work
    job: Job
    targets: list[Target]
    report: RunReport
    keeps_answers: bool
    checkpoint: ExitStack
    known: int
    pieces: dict[str, list[list[RecordPiece]]] = field(default_factory=lambda: defaultdict(list))
    feeds: dict[str, Feed] = field(default_factory=dict)
    is_over: bool = False

    def records(self, query: Query, batches: list[list[RecordPiece]]) -> Records:
        """Records of whole batches, in order."""
        schema = query.plan.schema
        return joined_records([*records_of(batches, schema)], schema)

    def end(self) -> None:
        """Once the job is over: its outcome, or what it failed of."""
        if self.is_over:
            return
        self.is_over = True
        with self.checkpoint:
            self.job.end()
            program, report = self.program, self.report
            report_on(program, self.job, self.work, self.targets, report, None, lambda _: None)

    def abandon(self) -> None:
        """Leave everything as it is."""
        if not self.is_over:
            self.is_over = True
            with self.checkpoint:
                self.job.abandon()


class Engine:
    """Continuous queries inside a Spark session.

    Without a session, one is started with the settings that suit it best. Relative
    names of files are looked up in `folder`, or if none is given beside the first
    script that is executed from a file, then in the current folder.
    """

    def __init__(self, spark: SparkSession | None = None, folder: str | Path | None = None) -> None:
        self._spark = spark or session()
        lacking = shortcomings(self._spark)
        if lacking is not None:
            warnings.warn(lacking, stacklevel=2)
        self._folders = () if folder is None else (Path(folder).resolve(),)
        self._program = Program(SourceText("", ""), self._all_folders())
        self._tables: dict[str, list[Accepted | Reject]] = {}
        self._subscribers: dict[str, list[Subscriber]] = defaultdict(list)
        self._run: _Run | None = None
        self._feeding = threading.Lock()
        # The thread in which subscribers are called at the moment.
        self._telling: int | None = None
        self._opened = ExitStack()
        weakref.finalize(self, self._opened.close)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.stop()
        elif self._run is not None:
            self._run.abandon()

    # What there is

    def execute(self, text: str) -> None:
        """Carry out statements: CREATE STREAM, CREATE QUERY and so on. All of them, or none."""
        self._execute(SourceText("engine", text))

    def execute_file(self, path: str | Path) -> None:
        """Carry out the statements of a script."""
        path = Path(path)
        source = read_script(path)
        if not self._folders:
            self._folders = (path.resolve().parent,)
        self._execute(source)

    def _execute(self, source: SourceText) -> None:
        if self._run is not None and not self._run.is_over:
            raise QueryError(
                "the engine is running", hint="declare everything first, or stop() the engine"
            )
        self._program = bind_script(source, self._all_folders(), self._program)
        for request in self._program.explains:
            print(explain_text(request.query, request.stage or "logical"))

    def _all_folders(self) -> tuple[Path, ...]:
        return (*self._folders, Path.cwd())

    @property
    def queries(self) -> list[str]:
        """The names of the queries."""
        return [query.name for query in self._program.catalog.queries()]

    def explain(self, query: str | None = None, stage: str = "logical") -> str:
        """The plans of all queries, or of one, at a stage: bound, logical, global or job."""
        program, only = self._program, None if query is None else self._program.query(query)
        match stage:
            case "global":
                return text_of(explain_global(program, only))
            case "job":
                return text_of(explain_job(program, only))
            case "bound" | "logical":
                queries = program.catalog.queries() if only is None else [only]
                return "\n\n".join(explain_text(one, stage) for one in queries)
        raise QueryError(
            f'there is no stage "{stage}"', detail="Stages are: bound, logical, global, job."
        )

    # Running

    def start(
        self,
        checkpoint: str | Path | None = None,
        *,
        rows_per_batch: int = ROWS_PER_BATCH,
        shards: int | None = None,
        keep_answers: bool = True,
    ) -> Engine:
        """Run the queries in the background.

        With a checkpoint, a run that was stopped or killed goes on where it was. If
        answers are not kept, they only go to sinks and subscribers.
        """
        if self._run is not None and not self._run.is_over:
            raise QueryError("the engine is running", hint="stop() it before it starts again")
        program = self._program
        if not program.catalog.queries():
            raise QueryError("there is no query to run", hint="execute CREATE QUERY name AS …")
        self._opened.close()
        report, targets = RunReport(), targets_of(program, None, "jsonl")
        with ExitStack() as opened:
            folder = opened.enter_context(job_folder(_path(checkpoint), lambda _: None))
            tables = read_tables(program, report, None, given=self._tables)
            fresh = work_of(program, folder.root, tables, rows_per_batch, targets, shards or SHARDS)
            fresh = replace(
                fresh,
                followed=frozenset(self.queries),
                keeps_answers=keep_answers or fresh.keeps_answers,
                parallel=self._spark.sparkContext.defaultParallelism,
            )
            work = going_on(fresh, shards)
            job = Job(self._spark, work, self._after_batch)
            held = ExitStack() if checkpoint is None else self._opened
            known = ControlLog(folder.root).last() or 0
            run = _Run(program, work, job, targets, report, keep_answers, held, known)
            if keep_answers:
                run.pieces.update(pieces_of(folder.root))
            before, self._run = self._run, run
            try:
                job.start()
            except BaseException:
                self._run = before
                raise
            self._opened.push(opened.pop_all())
        return self

    def wait(self, timeout: float | None = None) -> None:
        """Return when all streams have ended and everything is answered; raises `TimeoutError`
        if that takes more than so many seconds, and what the job failed of if it did."""
        run = self._started()
        self._poll(lambda: run.job.is_over, timeout)
        run.end()

    def catch_up(self, timeout: float | None = None) -> None:
        """Return when everything that was fed up to now is answered, so far as the promises of
        all streams allow; raises as `wait` does.

        As long as rows keep coming, from another thread or a live source, this waits on.
        """
        run = self._started()
        self._poll(lambda: run.job.is_over or run.job.is_idle, timeout)
        if run.job.is_over:
            run.end()

    def stop(self) -> None:
        """Stop after the batch that is on. A start with the same checkpoint goes on from there.

        A subscriber asks for the stop, and does not wait for it.
        """
        if self._run is None or self._run.is_over:
            return
        self._run.job.stop()
        if self._telling != threading.get_ident():
            self.wait()

    @property
    def report(self) -> RunReport:
        """What was read, put aside and answered, once the job is over."""
        run = self._started()
        if not run.is_over:
            raise QueryError("the engine is running", hint="wait() for its end, or stop() it")
        return run.report

    def _poll(self, is_done: Callable[[], bool], timeout: float | None) -> None:
        if self._telling == threading.get_ident():
            raise QueryError("a subscriber cannot wait for the engine, which waits for it")
        deadline = None if timeout is None else time.monotonic() + timeout
        while not is_done():
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError(f"not done after {timeout} seconds")
            time.sleep(POLL_SECONDS)

    def _started(self) -> _Run:
        if self._run is None:
            raise QueryError("the engine has not been started", hint="start() it first")
        return self._run

    # Rows in

    def feed(self, name: str, rows: Rows, at: Instant | Sequence[Instant] | None = None) -> Fed:
        """Hand over rows of a stream or table that is declared FROM memory().

        Rows are tuples in the order of the columns, dictionaries, or a table of Arrow
        or pandas. A stream without a time column gets its times in `at`: one for all
        rows, or one for each. Tables are fed before the start.
        """
        entry = self._fed(name)
        if isinstance(entry, Table):
            return self._feed_table(entry, rows)
        table = _as_table(rows)
        with self._feeding:
            feed = self._feed(entry)
            return feed.rows(rows, at) if table is None else feed.table(table, at)

    def advance(self, stream: str, instant: Instant) -> None:
        """Promise that no row before an instant will come any more: an integer in the unit of
        the stream, or a datetime."""
        with self._feeding:
            self._feed(self._fed(stream)).advance(instant)

    def close(self, stream: str) -> None:
        """Say that no more rows will come."""
        with self._feeding:
            self._feed(self._fed(stream)).close()

    def fed(self, stream: str) -> int:
        """How many rows have been fed, accepted or not: where to go on after a restart."""
        with self._feeding:
            return self._feed(self._fed(stream)).handed.seen

    def _fed(self, name: str) -> Stream | Table:
        catalog = self._program.catalog
        entry = catalog.find(name)
        if not isinstance(entry, Stream | Table):
            raise QueryError(
                f'there is no stream or table "{name}"',
                hint=did_you_mean(name, [e.name for e in catalog if isinstance(e, Stream | Table)]),
            )
        if entry.connector is None or entry.connector.name != "memory":
            raise QueryError(
                f'{kind_of(entry)} "{entry.name}" is not fed by a program',
                hint="declare it FROM memory()",
            )
        return entry

    def _feed(self, entry: Stream | Table) -> Feed:
        if isinstance(entry, Table):
            raise QueryError(f'"{entry.name}" is a table, which has no time')
        run = self._started()
        if run.job.is_over:
            run.end()
            raise QueryError("the engine has stopped", hint="start() it again")
        if entry.name not in run.feeds:
            spool = Spool(run.work.spool(entry.name))
            run.feeds[entry.name] = Feed(entry, spool, run.work.finest)
        return run.feeds[entry.name]

    def _feed_table(self, entry: Table, rows: Rows) -> Fed:
        if self._run is not None and not self._run.is_over:
            raise QueryError(f'table "{entry.name}" is read when the engine starts')
        table = _as_table(rows)
        judged = [*python_rows(entry, rows if table is None else table.to_pylist())]
        self._tables.setdefault(entry.name, []).extend(judged)
        rejected = sum(isinstance(row, Reject) for row in judged)
        return Fed(len(judged) - rejected, 0, rejected)

    # Answers out

    def answers(self, query: str) -> Answer:
        """What a query has answered so far."""
        found, run = self._program.query(query), self._started()
        if run.job.is_over:
            run.end()
        if not run.keeps_answers:
            raise QueryError(
                f"the answers of {found.name} are not kept",
                hint="leave out keep_answers=False, or subscribe() to them",
            )
        return Answer(found, run.records(found, list(run.pieces[found.name])))

    def subscribe(self, query: str, subscriber: Subscriber) -> None:
        """Have a function called with the new records of a query after each batch that has some.

        It is called in a thread of the engine; if it raises, the job fails. After a crash
        it may be called again with the records of the last batch.
        """
        self._subscribers[self._program.query(query).name].append(subscriber)

    def _after_batch(self, done: BatchDone) -> None:
        run = self._started()
        queries = {query.name: query for query in run.program.catalog.queries()}
        own: dict[str, list[RecordPiece]] = defaultdict(list)
        for piece in done.entry.answers:
            own[piece.query].append(piece)
        is_new, run.known = done.entry.batch > run.known, max(done.entry.batch, run.known)
        for name, pieces in own.items():
            if run.keeps_answers and is_new:
                run.pieces[name].append(pieces)
            for subscriber in self._subscribers[name]:
                self._telling = threading.get_ident()
                try:
                    subscriber(Answer(queries[name], run.records(queries[name], [pieces])))
                finally:
                    self._telling = None
        shown = [query for query in queries.values() if is_shown(query, run.targets)]
        if shown and own:
            show(done, shown)


def _path(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _as_table(rows: Any) -> pa.Table | None:
    """Rows that are a table of Arrow or pandas, as one of Arrow."""
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    if type(rows).__module__.partition(".")[0] == "pandas":
        return pa.Table.from_pandas(rows, preserve_index=False)
    return None
