"""Random expressions as text, well-typed by construction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from thalweg.testing.choices import Choices
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    Field,
    StructType,
    Type,
    is_integral,
)

T = TypeVar("T")

INTS = ArrayType(element=INT)
DOUBLES = ArrayType(element=DOUBLE)
PAIR = StructType(fields=(Field("i", INT), Field("d", DOUBLE)))


@dataclass(frozen=True, slots=True)
class Named:
    """A column in reach: its full name and type.

    `exact` is false where a DOUBLE may be off by a rounding: engines need not
    agree on its text.
    """

    text: str
    type: Type
    exact: bool = True


_LITERALS: dict[Type, tuple[str, ...]] = {
    INT: ("0", "1", "2", "-1", "3"),
    BIGINT: ("0L", "2L", "-1L"),
    DOUBLE: ("0.5D", "1e0", "-2.0D", "0.0D"),
    STRING: ("'a'", "'b'", "'ab'", "''"),
    BOOLEAN: ("TRUE", "FALSE"),
    DATE: ("DATE '1970-01-02'", "DATE '1970-02-01'"),
    TIMESTAMP: ("TIMESTAMP '1970-01-01 00:00:03'",),
    INTS: ("array(1)", "array(1, 2)", "CAST(array() AS ARRAY<INT>)"),
    DOUBLES: ("array(0.5D)", "array(0.0D, 1.5D)", "array(-0.0D)"),
    PAIR: ("named_struct('i', 1, 'd', 0.0D)", "named_struct('i', 2, 'd', -0.0D)"),
}
_MONEY_LITERALS = ("0.50", "1.25", "-3.00")


def holds_doubles(type_: Type) -> bool:
    match type_:
        case ArrayType(element=element):
            return holds_doubles(element)
        case StructType(fields=fields):
            return any(holds_doubles(field.type) for field in fields)
    return type_ == DOUBLE


@dataclass
class ExpressionWriter:
    """Draws expressions over columns in reach."""

    choices: Choices

    def chance(self, one_in: int) -> bool:
        return self.choices.integer(1, one_in) == 1

    def number(self, low: int, high: int) -> int:
        return self.choices.integer(low, high)

    def pick(self, options: Sequence[T]) -> T:
        return self.choices.pick(options)

    def literal(self, type_: Type) -> str:
        if isinstance(type_, DecimalType):
            return self.pick(_MONEY_LITERALS)
        return self.pick(_LITERALS[type_])

    def value(self, type_: Type, columns: tuple[Named, ...], depth: int = 2) -> str:
        """An expression of exactly this type (but for decimals, whose digits may differ)."""
        own = [c.text for c in columns if c.type == type_]
        if depth == 0 or self.chance(3):
            if own and not self.chance(5):
                return self.pick(own)
            return "NULL" if self.chance(12) and own else self.literal(type_)
        inner = depth - 1
        if is_integral(type_) or type_ == DOUBLE:
            return self._number(type_, columns, inner)
        if type_ == STRING:
            return self._text(columns, inner)
        if type_ == BOOLEAN:
            return self.condition(columns, inner)
        if isinstance(type_, ArrayType | StructType):
            return self._nested(type_, columns, inner)
        if own:
            return f"coalesce({self.pick(own)}, {self.literal(type_)})"
        return self.literal(type_)

    def _number(self, type_: Type, columns: tuple[Named, ...], depth: int) -> str:
        parts = self._parts(type_, columns)
        if parts and self.chance(3):
            return self.pick(parts)
        a, b = self.value(type_, columns, depth), self.value(type_, columns, depth)
        form = self.number(0, 5)
        if form <= 2:
            return f"({a} {self.pick(('+', '-', '*', '%'))} {b})"
        if form == 3:
            return f"CASE WHEN {self.condition(columns, depth)} THEN {a} ELSE {b} END"
        if form == 4:
            return f"coalesce({a}, {b})"
        if type_ == DOUBLE:
            return f"({a} / {b})"
        return f"nullif({a}, {b})"

    def _parts(self, type_: Type, columns: tuple[Named, ...]) -> list[str]:
        """Elements and fields of this type."""
        parts = [
            f"{c.text}[{self.number(0, 1)}]" for c in columns if c.type == ArrayType(element=type_)
        ]
        parts += [
            f"{c.text}.{field.name}"
            for c in columns
            if isinstance(c.type, StructType)
            for field in c.type.fields
            if field.type == type_
        ]
        if type_ == INT:
            parts += [f"size({c.text})" for c in columns if isinstance(c.type, ArrayType)]
        return parts

    def _text(self, columns: tuple[Named, ...], depth: int) -> str:
        shown = [c.text for c in columns if c.exact and c.type != STRING]
        if shown and self.chance(4):
            return f"CAST({self.pick(shown)} AS STRING)"
        a, b = self.value(STRING, columns, depth), self.value(STRING, columns, depth)
        form = self.number(0, 2)
        if form == 0:
            return f"({a} || {b})"
        if form == 1:
            return f"coalesce({a}, {b})"
        return f"CASE WHEN {self.condition(columns, depth)} THEN {a} END"

    def _nested(self, type_: ArrayType | StructType, columns: tuple[Named, ...], depth: int) -> str:
        form = self.number(0, 3)
        if form == 0:
            a, b = self.value(type_, columns, depth), self.literal(type_)
            return f"coalesce({a}, {b})"
        if form == 1:
            a = self.value(type_, columns, depth)
            return f"CASE WHEN {self.condition(columns, depth)} THEN {a} END"
        if isinstance(type_, ArrayType):
            items = [self._part(type_.element, columns, depth) for _ in range(self.number(1, 2))]
            return f"array({', '.join(items)})"
        items = [f"'{f.name}', {self._part(f.type, columns, depth)}" for f in type_.fields]
        return f"named_struct({', '.join(items)})"

    def _part(self, type_: Type, columns: tuple[Named, ...], depth: int) -> str:
        """A value that has its type even where it is NULL."""
        return f"CAST({self.value(type_, columns, depth)} AS {type_})"

    def condition(self, columns: tuple[Named, ...], depth: int = 2) -> str:
        return f"({self._condition(columns, depth)})"

    def _condition(self, columns: tuple[Named, ...], depth: int) -> str:
        form = self.number(0, 8)
        if depth > 0 and form == 0:
            word = self.pick(("AND", "OR"))
            left, right = (self.condition(columns, depth - 1) for _ in range(2))
            return f"{left} {word} {right}"
        if depth > 0 and form == 1:
            return f"NOT {self.condition(columns, depth - 1)}"
        type_ = self.some_type(columns)
        a = self.value(type_, columns, max(0, depth - 1))
        if form == 2:
            return f"{a} IS {self.pick(('', 'NOT '))}NULL"
        b = self.value(type_, columns, max(0, depth - 1))
        if form == 3:
            choices = ", ".join([b, self.literal(type_)])
            return f"{a} {self.pick(('', 'NOT '))}IN ({choices})"
        if form == 4:
            return f"{a} BETWEEN {b} AND {self.literal(type_)}"
        if form == 5:
            return f"{a} IS {self.pick(('', 'NOT '))}DISTINCT FROM {b}"
        return f"{a} {self.pick(('=', '<>', '<', '<=', '>', '>=', '<=', '>='))} {b}"

    def some_type(self, columns: tuple[Named, ...]) -> Type:
        types = list(dict.fromkeys(c.type for c in columns)) or [INT]
        return self.pick(types)

    def exact(self, type_: Type, columns: tuple[Named, ...]) -> str:
        """An expression of exactly this type, decimals included."""
        own = [c.text for c in columns if c.type == type_]
        if own and self.chance(2):
            return self.pick(own)
        return f"CAST({self.value(type_, columns)} AS {type_})"
