"""Rows that a program hands over, kept in files so that they can be read again.

Whoever takes the rows judges them, one after the other, and adds what came of them
block by block. A block is one file under its number: it is there whole or not at
all, and never changes. A reader finds every block again, so a spool is as good a
source as a file.

What is read is counted in steps: a row is one, and the end of a block, where what
it promises begins to hold, is another one. So many steps from a cursor on are the
same whenever they are read, however much has come since. The end is a block, too.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from thalweg.catalog import Stream
from thalweg.intake.slices import Cursor, Slice, together
from thalweg.operators.delta import Delta, nothing
from thalweg.sources import Accepted, Reject
from thalweg.types import Schema

# What the cursor behind the last block has for a name.
_END = "end"
# A block begins with the number of its rows.
_SIZE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed over so far: how many rows, accepted or not, and their largest time.

    A promise that nothing below an instant will come counts as a row that is late by
    no more than the slack would be: at the instant plus the slack.
    """

    seen: int = 0
    largest: int | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    rows: Delta
    late: list[Accepted]
    rejects: list[Reject]
    after: Handed
    is_last: bool = False


class Spool:
    """The writing side; there is one for a stream. `handed` is what this writer and those
    before it have added."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._next = max(_numbers(folder), default=-1) + 1
        last = _block(folder / str(self._next - 1)) if self._next else None
        self.handed = Handed() if last is None else last.after
        self.is_closed = last is not None and last.is_last

    def add(
        self, rows: Delta, late: Sequence[Accepted], rejects: Sequence[Reject], after: Handed
    ) -> None:
        """Keep the rows that were taken, and those that were refused on the way."""
        self._add(_Block(rows, [*late], [*rejects], after))

    def close(self, columns: Schema) -> None:
        """Say that no more rows will come."""
        if not self.is_closed:
            self._add(_Block(nothing(columns), [], [], self.handed, is_last=True))

    def _add(self, block: _Block) -> None:
        size = len(block.rows).to_bytes(_SIZE_BYTES)
        _write(self._folder / str(self._next), size + pickle.dumps(block, 5))
        self._next += 1
        self.handed, self.is_closed = block.after, block.is_last


class SpooledSource:
    """A spool that is filled while it is read; its limit is a number of blocks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def look(self, cursor: Cursor, now: int) -> Cursor:
        """The cursor with what is there now as its limit."""
        limit = cursor.limit or 0
        while (self._folder / str(limit)).exists():
            limit += 1
        return replace(cursor, limit=limit)

    def has_more(self, cursor: Cursor, now: int) -> bool:
        return (self.look(cursor, now).limit or 0) > (cursor.limit or 0)

    def is_over(self, cursor: Cursor) -> bool:
        """Whether nothing will ever follow."""
        return cursor.name == _END

    def promised(self, now: int) -> None:
        """The clock promises nothing: whoever feeds does."""

    def sweep(self, cursor: Cursor) -> None:
        """Remove what lies before a cursor, but for the last block: whoever writes goes on
        from there."""
        for number in _numbers(self._folder):
            if number < cursor.file - 1:
                (self._folder / str(number)).unlink()


class SpooledReader:
    """The reading side, slice after slice from any cursor.

    A slice has the steps that were asked for, fewer where no more have come yet or none
    may be read. Late rows and rejects come with the first step of their block. Of a
    cursor, `file` is the block and `offset` the row in it.
    """

    def __init__(self, folder: Path, stream: Stream) -> None:
        self._folder = folder
        self._schema = stream.columns
        self._known: tuple[int, _Block] | None = None

    def read(self, cursor: Cursor, steps: int) -> Slice:
        number, offset, largest = cursor.file, cursor.offset, cursor.largest
        name = cursor.name
        parts: list[Delta] = []
        late: list[Accepted] = []
        rejects: list[Reject] = []
        while steps and (block := self._block(number, cursor.limit)) is not None:
            if offset == 0:
                late += block.late
                rejects += block.rejects
            end = min(offset + steps, len(block.rows))
            rows = block.rows.take(np.arange(offset, end))
            parts.append(rows)
            largest = _later(largest, int(rows.start.max()) if len(rows) else None)
            steps -= end - offset
            offset = end
            if steps:
                largest = _later(largest, block.after.largest)
                name = _END if block.is_last else None
                steps, number, offset = steps - 1, number + 1, 0
        taken = together(parts, self._schema)
        return Slice(
            taken,
            late,
            rejects,
            Cursor(number, name, offset, 0, cursor.seen + len(taken), largest, cursor.limit),
            name == _END or number == cursor.limit,
        )

    def slices(self, cursor: Cursor, rows: int) -> Iterator[Slice]:
        yield self.read(cursor, rows)

    def cuts(self, cursor: Cursor, rows: int, parallel: int) -> tuple[int, ...]:
        """The steps that can be taken now: a batch that is repeated takes the same."""
        number, steps = cursor.file, -cursor.offset
        while steps < rows and (size := self._size(number, cursor.limit)) is not None:
            number, steps = number + 1, steps + size + 1
        return (max(0, min(rows, steps)),)

    def ahead(self, cursor: Cursor, rows: int, following: int = 0) -> Cursor:
        assert not rows, "a spool is read in one part"
        return cursor

    def _size(self, number: int, limit: int | None) -> int | None:
        if not self._is_there(number, limit):
            return None
        with open(self._folder / str(number), "rb") as file:
            return int.from_bytes(file.read(_SIZE_BYTES))

    def _block(self, number: int, limit: int | None) -> _Block | None:
        if not self._is_there(number, limit):
            return None
        if self._known is None or self._known[0] != number:
            self._known = number, _block(self._folder / str(number))
        return self._known[1]

    def _is_there(self, number: int, limit: int | None) -> bool:
        """Whether a block has come and may be read; all below a limit have."""
        if limit is None:
            return (self._folder / str(number)).exists()
        return number < limit


def _numbers(folder: Path) -> list[int]:
    return [int(path.name) for path in folder.glob("*") if path.name.isdigit()]


def _block(path: Path) -> _Block:
    block: _Block = pickle.loads(path.read_bytes()[_SIZE_BYTES:])
    return block


def _later(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)


def _write(path: Path, data: bytes) -> None:
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with open(partial, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
