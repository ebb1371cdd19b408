"""Rows that a program hands over, kept in files so that they can be read again.

Whoever takes the rows judges them, one after the other, and adds what came of them
block by block. A block is one file under its number: it is there whole or not at
all, and never changes. A reader finds every block again, so a spool is as good a
source as a file.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thalweg.catalog import Stream
from thalweg.intake.slices import Cursor, Slice
from thalweg.operators.delta import Delta, combined
from thalweg.sources import Accepted, Reject

_END = "end"


@dataclass(frozen=True, slots=True)
class _Block:
    rows: Delta
    late: list[Accepted]
    rejects: list[Reject]


class Spool:
    """The writing side; there is one for a stream."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._next = sum(1 for path in folder.iterdir() if path.name.isdigit())

    def add(self, rows: Delta, late: Sequence[Accepted], rejects: Sequence[Reject]) -> None:
        """Keep the rows that were taken, and those that were refused on the way."""
        block = _Block(rows, [*late], [*rejects])
        _write(self._folder / str(self._next), pickle.dumps(block, 5))
        self._next += 1

    def close(self) -> None:
        """Say that no more rows will come."""
        _write(self._folder / _END, b"")


class SpooledReader:
    """The reading side, slice after slice from any cursor.

    A slice has as many accepted rows as were asked for, fewer where no more have come
    yet. Late rows and rejects come with the first rows of their block. Of a cursor,
    `file` is the block and `offset` the row in it.
    """

    def __init__(self, folder: Path, stream: Stream) -> None:
        self._folder = folder
        self._schema = stream.columns
        self._known: tuple[int, _Block] | None = None

    def start(self) -> Cursor:
        return Cursor()

    def read(self, cursor: Cursor, rows: int) -> Slice:
        assert rows > 0, "a slice has rows"
        closed = (self._folder / _END).exists()
        number, offset = cursor.file, cursor.offset
        parts: list[Delta] = []
        late: list[Accepted] = []
        rejects: list[Reject] = []
        while rows and (block := self._block(number)) is not None:
            if offset == 0:
                late += block.late
                rejects += block.rejects
            end = min(offset + rows, len(block.rows))
            parts.append(block.rows.take(np.arange(offset, end)))
            rows -= end - offset
            number, offset = (number + 1, 0) if end == len(block.rows) else (number, end)
        taken = combined(parts, self._schema)
        largest = cursor.largest
        if len(taken):
            latest = int(taken.start.max())
            largest = latest if largest is None else max(largest, latest)
        return Slice(
            taken,
            late,
            rejects,
            Cursor(number, None, offset, 0, cursor.seen + len(taken), largest),
            closed and self._block(number) is None,
        )

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        yield self.read(cursor, rows)

    def cuts(self, cursor: Cursor, rows: int, parallel: int) -> tuple[int, ...]:
        return (rows,)

    def ahead(self, cursor: Cursor, rows: int) -> Cursor:
        assert not rows, "a spool is read in one part"
        return cursor

    def _block(self, number: int) -> _Block | None:
        if self._known is None or self._known[0] != number:
            path = self._folder / str(number)
            if not path.exists():
                return None
            self._known = number, pickle.loads(path.read_bytes())
        return self._known[1]


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
