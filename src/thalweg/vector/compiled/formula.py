"""The Python text of expressions for one row, as it is written.

The text computes with 64-bit integers, doubles and booleans. Every value has a
flag beside it that says whether it is NULL. Where a call may fail, overflow or
divide by zero, the text marks the row as not sure instead of deciding: the
definition of the function decides such rows, and notes what fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.types import BOOLEAN, DOUBLE, FLOAT, NULL, DecimalType, Type
from thalweg.vector.column import FIXED

# Decimals of so many digits are 64-bit integers that count units of their last digit.
MOST_DIGITS = 18


class NotWritten(Exception):
    """The expression has no text that is exact."""


@dataclass(frozen=True, slots=True)
class Term:
    """A value in the text: what it and its NULL flag are called there.

    `null` is None where the value is never NULL; `perhaps_nan` is about doubles.
    """

    type: Type
    value: str
    null: str | None = None
    perhaps_nan: bool = True


# Scatters whole numbers over all bits of a word.
_ODD = "np.uint64(11400714819323198485)"


class HashTable:
    """Whole numbers in slots, of which at least half are `empty`, a number that is none of
    them. `place` is where the constants have its beginning."""

    def __init__(self, numbers: Collection[int]) -> None:
        chosen = set(numbers)
        bits = max(4, (2 * len(chosen) - 1).bit_length())
        self.shift, self.place = 64 - bits, 0
        self.empty = next(number for number in count() if number not in chosen)
        self.slots = np.full(1 << bits, self.empty, np.int64)
        for number in sorted(chosen):
            slot = (number * 11400714819323198485 % 2**64) >> self.shift
            while self.slots[slot] != self.empty:
                slot = (slot + 1) % len(self.slots)
            self.slots[slot] = number


@dataclass
class Formula:
    """Lines of text, and what they read.

    `columns` are the input columns by position, in the order of the parameters.
    Constants are parameters too, so that expressions which differ only in them
    share one text. Behind the integers lie the hash `tables` of sets of them.
    """

    columns: dict[int, Type] = field(default_factory=dict)
    integers: list[int] = field(default_factory=list)
    doubles: list[float] = field(default_factory=list)
    tables: list[HashTable] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_fallible: bool = False
    _read: dict[int, Term] = field(default_factory=dict)
    _indent: int = 0
    _names: int = 0

    def read(self, index: int, type_: Type) -> Term:
        """A column at row `i`; to be read before any branch, as a branch may not run."""
        if index not in self._read:
            kind = kind_of(type_)
            self.columns.setdefault(index, type_)
            place = list(self.columns).index(index)
            value = self.name(f"{kind}(c{place}[i])")
            null = self.name(f"h{place} and not v{place}[i]", "n")
            self._read[index] = Term(type_, value, null)
        return self._read[index]

    def constant(self, value: Any, type_: Type) -> Term:
        kind = kind_of(type_) if type_ != NULL else "bool"
        if value is None:
            return Term(type_, _ZEROS[kind], "True", perhaps_nan=False)
        if kind == "bool":
            return Term(type_, str(value))
        if kind == "np.float64":
            self.doubles.append(value)
            return Term(type_, f"d{len(self.doubles) - 1}", perhaps_nan=value != value)
        units = int(value.scaleb(type_.scale)) if isinstance(type_, DecimalType) else value
        self.integers.append(units)
        return Term(type_, f"k{len(self.integers) - 1}")

    def is_among(self, value: str, choices: Collection[int]) -> str:
        """Whether a whole number is one of many: a probe of a hash table."""
        table = HashTable(choices)
        self.tables.append(table)
        first = len(self.integers)
        # The first is known when all constants are: see `numbers`.
        self.integers += [0, table.shift, len(table.slots) - 1, table.empty]
        start, shift, mask, empty = (f"k{first + i}" for i in range(4))
        table.place = first
        slot = self.name(f"np.int64((np.uint64({value}) * {_ODD}) >> np.uint64({shift}))", "s")
        held = self.name(f"integers[{start} + {slot}]", "s")
        self.line(f"while {held} != {value} and {held} != {empty}:")
        self.line(f"    {slot} = ({slot} + 1) & {mask}")
        self.line(f"    {held} = integers[{start} + {slot}]")
        return self.name(f"({held} == {value}) & ({value} != {empty})")

    def numbers(self) -> npt.NDArray[np.int64]:
        """The integers, and the tables behind them."""
        numbers, end = list(self.integers), len(self.integers)
        for table in self.tables:
            numbers[table.place] = end
            end += len(table.slots)
        parts = [np.array(numbers, np.int64), *(table.slots for table in self.tables)]
        return np.concatenate(parts)

    def line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def branch(self, condition: str) -> Iterator[None]:
        """Lines that run only under a condition."""
        self.line(f"if {condition}:")
        self._indent += 1
        yield
        self._indent -= 1

    def name(self, text: str, letter: str = "x") -> str:
        """A new local name for what a text computes."""
        self._names += 1
        name = f"{letter}{self._names}"
        self.line(f"{name} = {text}")
        return name

    def any_null(self, *terms: Term) -> str | None:
        """The flag of a value that is NULL where any of its arguments is."""
        flags = list(dict.fromkeys(term.null for term in terms if term.null is not None))
        if len(flags) < 2:
            return flags[0] if flags else None
        return "True" if "True" in flags else self.name(" | ".join(flags), "n")

    def strict(self, type_: Type, text: str, *arguments: Term) -> Term:
        """A value that is NULL where any of its arguments is."""
        null = self.any_null(*arguments)
        return Term(type_, self.name(text), null)

    def demand(self, certain: str, null: str | None) -> None:
        """Leave the row to the definition unless this holds or the value is NULL."""
        self.is_fallible = True
        self.line(f"sure = sure & ({certain if null is None else f'{certain} | {null}'})")

    def truth(self, term: Term) -> str:
        """Whether a predicate is true: neither false nor NULL."""
        if term.null is None:
            return term.value
        return self.name(f"{term.value} & (not {term.null})", "t")

    def variable(self, type_: Type) -> Term:
        """A value that branches set: NULL until they do."""
        return Term(type_, self.name(_ZEROS[kind_of(type_)]), self.name("True", "n"))

    def assign(self, variable: Term, term: Term) -> None:
        if term.null != "True":
            self.line(f"{variable.value} = {term.value}")
        self.line(f"{variable.null} = {term.null or 'False'}")


_ZEROS = {"bool": "False", "np.float64": "0.0", "np.int64": "0"}


def kind_of(type_: Type) -> str:
    """How values of a type are held in the text."""
    if type_ == BOOLEAN:
        return "bool"
    if type_ in (FLOAT, DOUBLE):
        return "np.float64"
    if type_ in FIXED or (isinstance(type_, DecimalType) and type_.precision <= MOST_DIGITS):
        return "np.int64"
    raise NotWritten


def is_whole(type_: Type) -> bool:
    """Whether values are held as integers."""
    return kind_of(type_) == "np.int64"
