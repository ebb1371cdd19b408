"""Records on their way to sinks: what one shard says in one batch is one file.

Queries that have nothing to say take no room in it, and a shard that has nothing to
say writes no file.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from thalweg.operators.answer import Records
from thalweg.types import Schema
from thalweg.vector.column import from_stored, to_stored


@dataclass(frozen=True, slots=True)
class RecordPiece:
    """Where some records of a query lie."""

    query: str
    path: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part file as it was written, and the name under which it is to be published."""

    staged: str
    name: str


def store_records(folder: Path, answers: Mapping[str, Records]) -> list[RecordPiece]:
    some = {query: records for query, records in answers.items() if len(records)}
    if not some:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / uuid.uuid4().hex
    pieces = []
    with open(path, "wb") as file:
        for query, records in some.items():
            arrays = [pa.array(records.time), pa.array(records.weight)]
            arrays += [to_stored(column) for column in records.columns]
            names = [str(i) for i in range(len(arrays))]
            batch = pa.RecordBatch.from_arrays(arrays, names=names)
            offset = file.tell()
            with pa.ipc.new_stream(file, batch.schema) as writer:
                writer.write_batch(batch)
            pieces.append(RecordPiece(query, str(path), offset, file.tell() - offset))
        file.flush()
        os.fsync(file.fileno())
    return pieces


def stored_records(piece: RecordPiece, schema: Schema) -> Records:
    with pa.memory_map(piece.path) as file:
        (batch,) = pa.ipc.open_stream(file.read_at(piece.length, piece.offset))
    time, weight = (batch.column(i).to_numpy() for i in range(2))
    columns = tuple(from_stored(batch.column(2 + i), f.type) for i, f in enumerate(schema))
    return Records(columns, time, weight)
