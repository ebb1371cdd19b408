"""Run a script on the reference: read everything, answer everything, stop.

All input is read and time then runs to its end, so windows empty and their
changes are written too.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg.answers import Change
from thalweg.catalog import Query, Stream, Table
from thalweg.errors import QueryError
from thalweg.evaluate import Failures
from thalweg.intake.accept import Accepting, accept
from thalweg.outputs import FAILURES, LATE, REJECTS, Target, list_of, targets_of
from thalweg.program import Program, load_python
from thalweg.reference import Inputs, Reference
from thalweg.sinks import SINKS, SinkRequest, Writer
from thalweg.sinks.jsonl import json_text, one_line
from thalweg.sinks.whole_file import whole_file
from thalweg.sources import SOURCES, Accepted, Reject
from thalweg.types import struct

Notice = Callable[[str], None]


@dataclass
class StreamCounts:
    accepted: int = 0
    late: int = 0
    rejected: int = 0


@dataclass
class RunReport:
    """What was read, what was answered, and what was put aside."""

    streams: dict[str, StreamCounts] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    put_aside: list[Path] = field(default_factory=list)
    unwritten: set[str] = field(default_factory=set)


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
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise QueryError(f"cannot write into {out}: {error.strerror}") from None
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
            _write(changes, target)
        report.files += [target.path for target in own if target.path is not None]
        if not targets:
            shown.append(_stamped(query, changes))
        elif not own:
            report.unwritten.add(query.name)
        noted = reference.failures.noted
        report.failures[query.name] = len(noted)
        _put_aside(
            report,
            out,
            FAILURES,
            query.name,
            [{"expression": e, "reason": r, "arguments": a} for e, r, a in noted],
        )
    _print_merged(shown)
    return report


def _stamped(query: Query, changes: list[Change]) -> Iterator[tuple[int, Query, Change]]:
    for change in changes:
        yield change.time * query.tick.value, query, change


def _print_merged(answers: list[Iterator[tuple[int, Query, Change]]]) -> None:
    """The records of several queries on the terminal, in the order of time."""
    writers: dict[str, Writer] = {}
    for _, query, change in heapq.merge(*answers, key=lambda record: record[0]):
        if query.name not in writers:
            writers[query.name] = SINKS["console"].open(SinkRequest(query, None))
        writers[query.name].write(change)


def _write(changes: list[Change], target: Target) -> None:
    if target.path is None:
        _hand_over(changes, target.kind.open(SinkRequest(target.query, None)))
        return
    with whole_file(target.path) as path:
        _hand_over(changes, target.kind.open(SinkRequest(target.query, path)))


def _hand_over(changes: list[Change], writer: Writer) -> None:
    with closing(writer):
        for change in changes:
            writer.write(change)


def read_inputs(
    program: Program, report: RunReport, out: Path | None, notice: Notice = lambda text: None
) -> Inputs:
    """Everything that the queries of a program read."""
    streams: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for stream in program.catalog.streams():
        notice(f"reading {stream.name}")
        state = accept(stream, _rows(program, stream), program.catalog.finest_tick())
        streams[stream.name] = state.arrivals
        ranks[stream.name] = stream.rank
        report.streams[stream.name] = StreamCounts(
            len(state.arrivals), len(state.late), len(state.rejects)
        )
        _list_refused(report, out, stream, state)
        report.notes += _doubts(stream, state.arrivals, state.rejects)
    for table in program.catalog.tables():
        notice(f"reading {table.name}")
        rows = list(_rows(program, table))
        tables[table.name] = [row.values for row in rows if isinstance(row, Accepted)]
        rejects = [row for row in rows if isinstance(row, Reject)]
        report.streams[table.name] = StreamCounts(len(tables[table.name]), 0, len(rejects))
        _put_aside(report, out, REJECTS, table.name, [_as_record(r) for r in rejects])
        report.notes += _doubts(table, tables[table.name], rejects)
    return Inputs(streams, tables, ranks)


def _rows(program: Program, entry: Stream | Table) -> Iterator[Accepted | Reject]:
    request = program.read_request(entry)
    return SOURCES[request.connector.name].read(request)


# The end of the year 9999, in seconds since 1970.
_FAR_FUTURE = 253_402_300_800


def _doubts(
    entry: Stream | Table, accepted: Sequence[Any], rejects: Sequence[Reject]
) -> Iterator[str]:
    """What looks like a misunderstanding between a declaration and its file."""
    if rejects and not accepted:
        header = entry.connector is not None and (
            entry.connector.name == "csv" and not entry.connector.option("header")
        )
        ask = "; does the file have a header line (header = true)?" if header else ""
        yield f"{entry.name}: no row could be read; {rejects[0].place}: {rejects[0].reason}{ask}"
    if isinstance(entry, Stream) and not entry.unit_declared and entry.unit is not None:
        latest = max((arrival.time for arrival in accepted), default=0)
        if latest > _FAR_FUTURE:
            yield (
                f"{entry.name}: event times read as seconds lie beyond the year 9999; "
                "declare their UNIT (MILLISECOND, MICROSECOND, …)"
            )


def _list_refused(report: RunReport, out: Path | None, stream: Stream, state: Accepting) -> None:
    late = [
        {"place": row.place, "row": json.loads(_row_json(row.values, stream))} for row in state.late
    ]
    _put_aside(report, out, LATE, stream.name, late)
    _put_aside(report, out, REJECTS, stream.name, [_as_record(r) for r in state.rejects])


def _row_json(values: tuple[Any, ...], stream: Stream) -> str:
    return json_text(values, struct(*stream.columns), "UTC")


def _as_record(reject: Reject) -> dict[str, str]:
    return {"place": reject.place, "reason": reject.reason, "raw": reject.raw}


def _put_aside(
    report: RunReport, out: Path | None, folder: str, name: str, records: list[Any]
) -> None:
    """List what did not get through, one JSON object per line; stale lists are removed."""
    if out is None:
        return
    path = list_of(out, folder, name)
    if not records:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise QueryError(f"cannot remove {path}: {error.strerror}") from None
        return
    # A file name that is not UTF-8 becomes an escape, which is what JSON has for it.
    text = "".join(one_line(record) + "\n" for record in records)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
    report.put_aside.append(path)
