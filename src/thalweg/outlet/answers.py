"""The records that a job has written, in the order of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from thalweg.control import ControlLog, Entry
from thalweg.operators.answer import Records, joined_records
from thalweg.record_segments import RecordPiece, stored_records
from thalweg.types import Schema


def records_after(entry: Entry, schemas: Mapping[str, Schema]) -> Iterator[tuple[str, Records]]:
    """What each query had to say in the batch before an entry, in order."""
    pieces: dict[str, list[RecordPiece]] = defaultdict(list)
    for piece in entry.answers:
        pieces[piece.query].append(piece)
    for query, some in pieces.items():
        schema = schemas[query]
        parts = [stored_records(piece, schema) for piece in some]
        yield query, joined_records(parts, schema).in_order()


def pieces_of(root: Path) -> dict[str, list[list[RecordPiece]]]:
    """By query, batch by batch, where its records lie."""
    log = ControlLog(root)
    found: dict[str, list[list[RecordPiece]]] = defaultdict(list)
    for batch in range(1, 1 + (log.last() or 0)):
        own: dict[str, list[RecordPiece]] = defaultdict(list)
        for piece in log.read(batch).answers:
            own[piece.query].append(piece)
        for query, pieces in own.items():
            found[query].append(pieces)
    return found


def records_of(batches: list[list[RecordPiece]], schema: Schema) -> Iterator[Records]:
    """All records of a query: each batch has a stretch of time of its own."""
    for pieces in batches:
        parts = [stored_records(piece, schema) for piece in pieces]
        yield joined_records(parts, schema).in_order()
