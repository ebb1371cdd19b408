"""The records of a CSV file, each with the lines that it is made of.

A quote that is never closed would swallow the rest of the file. So a record
that cannot be split loses its first line only, and reading goes on at the next
one; a record of very many lines is taken for one whose quote is not closed.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# One cell; larger ones are rejected with their row.
_LARGEST_CELL = 16 * 1024 * 1024
csv.field_size_limit(_LARGEST_CELL)

# How far a quoted cell may reach. It bounds how often a line is read again.
LINES_PER_RECORD = 1000


@dataclass(frozen=True, slots=True)
class Record:
    """The cells of a record whose first line is number `line`, counted from 1.

    With a `problem` there are no cells, and `text` is that one line. `lines` and
    `size` are the lines and bytes that the record is made of.
    """

    line: int
    text: str
    cells: list[str]
    lines: int
    size: int
    problem: str | None = None


def records(text: Iterable[str], sep: str, quote: str, before: int = 0) -> Iterator[Record]:
    """The records of a text that `before` lines precede."""
    lines = _Lines(text, before)
    reader = csv.reader(lines, delimiter=sep, quotechar=quote, strict=True)
    while True:
        number = lines.begin_record()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            at_end = str(error) == "unexpected end of data"
            problem = "a quote is not closed" if at_end else str(error)
            lines.put_back_all_but_first()
            yield Record(number, lines.text, [], 1, lines.size, problem)
        else:
            yield Record(number, lines.text, cells, lines.count, lines.size)


def byte_length(text: str) -> int:
    """How many bytes of a file a text was read from."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


class _Lines:
    """Lines that are handed to a reader, and can be taken back from it."""

    def __init__(self, text: Iterable[str], before: int) -> None:
        self._text = iter(text)
        self._ahead: deque[str] = deque()
        self._taken: list[str] = []
        self._before = before

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if len(self._taken) == LINES_PER_RECORD:
            raise csv.Error(f"a quote is not closed within {LINES_PER_RECORD} lines")
        line = self._ahead.popleft() if self._ahead else next(self._text)
        self._taken.append(line)
        return line

    def begin_record(self) -> int:
        """The number of the line that comes next."""
        self._before += len(self._taken)
        self._taken = []
        return self._before + 1

    def put_back_all_but_first(self) -> None:
        self._ahead.extendleft(reversed(self._taken[1:]))
        del self._taken[1:]

    @property
    def count(self) -> int:
        return len(self._taken)

    @property
    def size(self) -> int:
        return sum(map(byte_length, self._taken))

    @property
    def text(self) -> str:
        return "".join(self._taken).rstrip("\r\n")
