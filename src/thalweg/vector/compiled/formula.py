"""The Python text of expressions for one row, as it is written.

The text computes with 64-bit integers, doubles and booleans. Every value has a
flag beside it that says whether it is NULL. Where a call may fail, overflow or
divide by zero, the text marks the row as not sure instead of deciding: the
definition of the function decides such rows, and notes what fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class Formula:
    """Lines of text, and what they read.

    `columns` are the input columns by position, in the order of the parameters.
    Constants are parameters too, so that expressions which differ only in them
    share one text.
    """

    columns: dict[int, Type] = field(default_factory=dict)
    integers: list[int] = field(default_factory=list)
    doubles: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    is_fallible: bool = False
    _read: dict[int, Term] = field(default_factory=dict)
    _indent: int = 0
    _names: int = 0

    def begin(self) -> None:
        """Start the lines of another loop over rows."""
        self.lines = []
        self.is_fallible = False
        self._read = {}

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
