"""What a run did: what was read and answered, and lists of what did not get through."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg.catalog import Query, Stream, Table
from thalweg.errors import QueryError
from thalweg.outputs import FAILURES, LATE, REJECTS, list_of
from thalweg.sinks.jsonl import json_text, one_line
from thalweg.sinks.whole_file import whole_file
from thalweg.sources import Accepted, Reject
from thalweg.types import struct


@dataclass
class StreamCounts:
    accepted: int = 0
    late: int = 0
    rejected: int = 0


@dataclass
class RunReport:
    """What was read, what was answered, and what was put aside.

    A run that was stopped has not `finished`: it has answered everything before the
    instant `answered`, in nanoseconds, if there is one. `went_on` is the number of
    batches of the runs before it.
    """

    streams: dict[str, StreamCounts] = field(default_factory=dict)
    records: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    put_aside: list[Path] = field(default_factory=list)
    unwritten: set[str] = field(default_factory=set)
    finished: bool = True
    answered: int | None = None
    went_on: int = 0

    def list_refused(
        self, out: Path | None, stream: Stream, late: list[Accepted], rejects: list[Reject]
    ) -> None:
        """Late rows and rejects of a stream."""
        rows = [
            {"place": row.place, "row": json.loads(_row_json(row.values, stream))} for row in late
        ]
        self._put_aside(out, LATE, stream.name, rows)
        self.list_rejects(out, stream.name, rejects)

    def list_rejects(self, out: Path | None, name: str, rejects: list[Reject]) -> None:
        listed = [{"place": r.place, "reason": r.reason, "raw": r.raw} for r in rejects]
        self._put_aside(out, REJECTS, name, listed)

    def list_failures(
        self, out: Path | None, query: Query, noted: Iterable[tuple[str, str, str]]
    ) -> None:
        """Calls that gave no value in the answers of a query."""
        listed = [{"expression": e, "reason": r, "arguments": a} for e, r, a in noted]
        self.failures[query.name] = len(listed)
        self._put_aside(out, FAILURES, query.name, listed)

    def _put_aside(self, out: Path | None, folder: str, name: str, records: list[Any]) -> None:
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
        self.put_aside.append(path)


# The end of the year 9999, in seconds since 1970.
_FAR_FUTURE = 253_402_300_800


def doubts(
    entry: Stream | Table, accepted: int, latest: int | None, rejects: Sequence[Reject]
) -> Iterator[str]:
    """What looks like a misunderstanding between a declaration and its file."""
    if rejects and not accepted:
        header = entry.connector is not None and (
            entry.connector.name == "csv" and not entry.connector.option("header")
        )
        ask = "; does the file have a header line (header = true)?" if header else ""
        yield f"{entry.name}: no row could be read; {rejects[0].place}: {rejects[0].reason}{ask}"
    guessed = isinstance(entry, Stream) and not entry.unit_declared and entry.unit is not None
    if guessed and latest is not None and latest > _FAR_FUTURE:
        yield (
            f"{entry.name}: event times read as seconds lie beyond the year 9999; "
            "declare their UNIT (MILLISECOND, MICROSECOND, …)"
        )


def _row_json(values: tuple[Any, ...], stream: Stream) -> str:
    return json_text(values, struct(*stream.columns), "UTC")
