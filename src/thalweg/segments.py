"""Changes on their way between tasks, as files of columns that can be mapped into memory.

A piece is a part of a segment file: the columns of some changes, in Arrow's own
layout. A segment is written once, under a name of its own, and never changed;
only those that a control entry or a manifest names count.
"""

from __future__ import annotations

import mmap
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from thalweg.operators.delta import Delta, Times
from thalweg.types import Schema
from thalweg.vector.column import Columns, Vector, from_stored, to_stored


@dataclass(frozen=True, slots=True)
class Piece:
    """Where some rows of an exchange lie."""

    exchange: int
    path: str
    offset: int
    length: int


class SegmentWriter:
    """One segment file, made when there is something to write."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / uuid.uuid4().hex
        self._file: BinaryIO | None = None
        self._offset = 0

    def add(self, exchange: int, delta: Delta) -> Piece:
        numbers = [delta.start, delta.end, delta.weight]
        if delta.position is not None:
            numbers.append(delta.position)
        return self._write(exchange, delta.columns, numbers)

    def _write(self, exchange: int, columns: Columns, numbers: list[Times]) -> Piece:
        if self._file is None:
            self._file = self._path.open("wb")
        arrays = [pa.array(number) for number in numbers] + [to_stored(c) for c in columns]
        batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        data = sink.getvalue()
        self._file.write(data)
        piece = Piece(exchange, str(self._path), self._offset, data.size)
        self._offset += data.size
        return piece

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class SegmentReader:
    """Reads pieces; a segment is mapped once."""

    def __init__(self) -> None:
        self._maps: dict[str, pa.Buffer] = {}

    def read(self, piece: Piece, schema: Schema) -> Delta:
        whole = self._maps.get(piece.path)
        if whole is None:
            with open(piece.path, "rb") as file:
                whole = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self._maps[piece.path] = whole
        (batch,) = pa.ipc.open_stream(whole.slice(piece.offset, piece.length))
        numbers = batch.num_columns - len(schema)
        start, end, weight, *position = (batch.column(i).to_numpy() for i in range(numbers))
        return Delta(
            _columns(batch, numbers, schema),
            start,
            end,
            weight,
            position[0] if position else None,
        )


def _columns(batch: pa.RecordBatch, first: int, schema: Schema) -> tuple[Vector, ...]:
    return tuple(from_stored(batch.column(first + i), f.type) for i, f in enumerate(schema))
