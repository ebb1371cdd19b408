"""Run a script on the reference: read everything, answer everything, stop.

All input is read and time then runs to its end, so windows empty and their
changes are written too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from thalweg.answers import Change
from thalweg.catalog import Query, Stream, Table
from thalweg.deliver import deliver, print_merged, stamped
from thalweg.errors import QueryError
from thalweg.evaluate import Failures
from thalweg.intake.accept import accept
from thalweg.outputs import targets_of
from thalweg.program import Program, load_python
from thalweg.reference import Inputs, Reference
from thalweg.report import RunReport, StreamCounts, doubts
from thalweg.sources import SOURCES, Accepted, Reject, is_live

Notice = Callable[[str], None]


def run_on_reference(
    program: Program,
    out: Path | None = None,
    file_format: str = "jsonl",
    notice: Notice = lambda text: None,
) -> RunReport:
    """Answer every query of a program.

    With `out`, each query's answer becomes a file there, named after the query;
    what was late, unreadable or failed is listed in folders whose names start
    with an underscore. Without, answers go to the script's sinks, or if it has
    none to the terminal.
    """
    report = RunReport()
    targets = targets_of(program, out, file_format)
    make_folder(out)
    inputs = read_inputs(program, report, out, notice)
    reference = Reference(inputs, lambda path: load_python(path, program.folders, False))
    shown: list[Iterator[tuple[int, Query, Change]]] = []
    for query in program.catalog.queries():
        notice(f"answering {query.name}")
        reference.failures = Failures()
        changes = list(reference.answers(query.plan))
        report.records[query.name] = len(changes)
        own = [target for target in targets if target.query is query]
        for target in own:
            deliver(changes, target)
        report.files += [target.file for target in own if target.path is not None]
        if not targets:
            shown.append(stamped(query, changes))
        elif not own:
            report.unwritten.add(query.name)
        report.list_failures(out, query, reference.failures.noted)
    print_merged(shown)
    return report


def make_folder(out: Path | None) -> None:
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QueryError(f"cannot write into {out}: {error.strerror}") from None


def read_inputs(
    program: Program, report: RunReport, out: Path | None, notice: Notice = lambda text: None
) -> Inputs:
    """Everything that the queries of a program read."""
    streams: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for stream in program.catalog.streams():
        notice(f"reading {stream.name}")
        if stream.connector is not None and is_live(stream.connector):
            raise stream.connector.error(
                f'stream "{stream.name}" is live, and the reference reads to the end',
                hint="run it with --engine spark",
            )
        state = accept(stream, _rows(program, stream), program.catalog.finest_tick())
        streams[stream.name] = state.arrivals
        ranks[stream.name] = stream.rank
        report.streams[stream.name] = StreamCounts(
            len(state.arrivals), len(state.late), len(state.rejects)
        )
        report.list_refused(out, stream, state.late, state.rejects)
        latest = max((arrival.time for arrival in state.arrivals), default=None)
        report.notes += doubts(stream, len(state.arrivals), latest, state.rejects)
    return Inputs(streams, read_tables(program, report, out, notice), ranks)


def read_tables(
    program: Program, report: RunReport, out: Path | None, notice: Notice = lambda text: None
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all stored relations."""
    tables = {}
    for table in program.catalog.tables():
        notice(f"reading {table.name}")
        rows = list(_rows(program, table))
        tables[table.name] = [row.values for row in rows if isinstance(row, Accepted)]
        rejects = [row for row in rows if isinstance(row, Reject)]
        report.streams[table.name] = StreamCounts(len(tables[table.name]), 0, len(rejects))
        report.list_rejects(out, table.name, rejects)
        report.notes += doubts(table, len(tables[table.name]), None, rejects)
    return tables


def _rows(program: Program, entry: Stream | Table) -> Iterator[Accepted | Reject]:
    request = program.read_request(entry)
    return SOURCES[request.connector.name].read(request)
