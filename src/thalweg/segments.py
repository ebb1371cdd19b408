"""Changes on their way between tasks, as files of columns that can be mapped into memory.

A segment is a row of blocks. A block has the changes that one task sends through one
exchange, column after column as they lie in memory, in the order of the shards; what
follows from the rest is left out. A piece is the part of a block that is one shard's.
A segment is written once, under a name of its own, and never changed; only those that
a control entry or a manifest names count.
"""

from __future__ import annotations

import mmap
import pickle
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from thalweg.operators.delta import Delta
from thalweg.types import Schema
from thalweg.vector.column import FIXED, Numbers, Vector

_SIZE = struct.Struct("<q")
_ALIGNED = 64
_LONG, _BOOLEAN = np.dtype(np.int64), np.dtype(np.bool_)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of an exchange: so many from the `first` on of the block that begins at a place
    of a file. `length` is about what they take there, in bytes."""

    exchange: int
    path: str
    offset: int
    length: int
    first: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the arrays of a block lie, counted from behind this.

    `end` is None where it is the start, `weight` where all are 1. A column of numbers
    has its values and perhaps what is not NULL; None stands for columns as Arrow has
    them, which lie together in its own format at `arrow`.
    """

    start: int
    end: int | None
    weight: int | None
    position: int | None
    columns: tuple[tuple[int, int | None] | None, ...]
    arrow: tuple[int, int] | None


class SegmentWriter:
    """One segment file, made when there is something to write."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / uuid.uuid4().hex
        self._file: BinaryIO | None = None
        self._offset = 0

    def add(self, exchange: int, rows: Delta, starts: list[int]) -> Iterator[tuple[int, Piece]]:
        """Write rows that lie in the order of their shards, those of shard i from `starts[i]`
        on, and say where those of each shard are."""
        if not len(rows):
            return
        offset, size = self._offset, self._write(rows)
        for shard, (first, end) in enumerate(pairwise(starts)):
            if first < end:
                length = size * (end - first) // len(rows)
                yield shard, Piece(exchange, str(self._path), offset, length, first, end - first)

    def _write(self, rows: Delta) -> int:
        if self._file is None:
            self._file = self._path.open("wb")
        body = _Body()
        layout = pickle.dumps(body.add(rows), 5)
        head = _SIZE.pack(len(layout)) + layout
        parts = [head, bytes(-len(head) % _ALIGNED), *body.parts]
        for part in parts:
            self._file.write(part)
        size = sum(map(len, parts))
        self._offset += size
        return size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class _Body:
    """The arrays of a block, one after the other; an array that is met twice lies there once."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self._size = 0
        self._known: dict[int, int] = {}

    def add(self, rows: Delta) -> _Layout:
        once = bool((rows.weight == 1).all())
        fixed = [isinstance(column.data, np.ndarray) for column in rows.columns]
        return _Layout(
            self._numbers(rows.start),
            None if rows.end is rows.start else self._numbers(rows.end),
            None if once else self._numbers(rows.weight),
            None if rows.position is None else self._numbers(rows.position),
            tuple(
                self._column(column) if is_fixed else None
                for column, is_fixed in zip(rows.columns, fixed, strict=True)
            ),
            None if all(fixed) else self._arrow([c.data for c in rows.columns if not c.is_fixed]),
        )

    def _column(self, column: Vector) -> tuple[int, int | None]:
        valid = None if column.valid is None else self._numbers(column.valid)
        return self._numbers(column.data), valid

    def _numbers(self, numbers: Numbers) -> int:
        known = self._known.get(id(numbers))
        if known is None:
            part = np.ascontiguousarray(numbers).data.cast("B")
            known = self._known[id(numbers)] = self._put(part)
        return known

    def _arrow(self, arrays: list[pa.Array]) -> tuple[int, int]:
        batch = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        written = memoryview(sink.getvalue())
        return self._put(written), len(written)

    def _put(self, part: memoryview) -> int:
        place = self._size
        padding = -len(part) % _ALIGNED
        self.parts += [part, bytes(padding)]
        self._size += len(part) + padding
        return place


class SegmentReader:
    """Reads pieces; a segment is mapped once. Nothing is copied: whoever changes an array
    has a copy of the page from then on."""

    def __init__(self) -> None:
        self._maps: dict[str, mmap.mmap] = {}

    def read(self, piece: Piece, schema: Schema) -> Delta:
        whole = self._maps.get(piece.path)
        if whole is None:
            with open(piece.path, "rb") as file:
                whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            self._maps[piece.path] = whole
        (size,) = _SIZE.unpack_from(whole, piece.offset)
        body = piece.offset + _SIZE.size + size
        layout: _Layout = pickle.loads(whole[body - size : body])
        return _Block(whole, body + -(_SIZE.size + size) % _ALIGNED, piece).delta(layout, schema)


@dataclass(frozen=True, slots=True)
class _Block:
    """A block whose arrays begin at a place, and the piece of it that is read."""

    whole: mmap.mmap
    body: int
    piece: Piece

    def delta(self, layout: _Layout, schema: Schema) -> Delta:
        known: dict[int, Numbers] = {}

        def numbers(place: int, dtype: np.dtype[Any] = _LONG) -> Numbers:
            if place not in known:
                known[place] = self._numbers(place, dtype)
            return known[place]

        start = numbers(layout.start)
        arrow = self._arrow(layout.arrow)
        columns = []
        for place, field in zip(layout.columns, schema, strict=True):
            if place is None:
                columns.append(Vector(field.type, next(arrow)))
                continue
            data, valid = place
            present = None if valid is None else numbers(valid, _BOOLEAN)
            columns.append(Vector(field.type, numbers(data, FIXED[field.type]), present))
        return Delta(
            tuple(columns),
            start,
            start if layout.end is None else numbers(layout.end),
            np.ones(len(start), np.int64) if layout.weight is None else numbers(layout.weight),
            None if layout.position is None else numbers(layout.position),
        )

    def _numbers(self, place: int, dtype: np.dtype[Any]) -> Numbers:
        offset = self.body + place + self.piece.first * dtype.itemsize
        return np.frombuffer(self.whole, dtype, self.piece.rows, offset)

    def _arrow(self, place: tuple[int, int] | None) -> Iterator[pa.Array]:
        if place is not None:
            offset, length = place
            buffer = pa.py_buffer(self.whole).slice(self.body + offset, length)
            (batch,) = pa.ipc.open_stream(buffer)
            yield from batch.slice(self.piece.first, self.piece.rows).columns
