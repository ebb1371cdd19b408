"""Random query texts, well-typed by construction.

Everything is written with full names (`S1.c0`), so that a text never fails to
bind by accident: what is generated must bind.
"""

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
    DecimalType,
    Schema,
    Type,
    is_integral,
    is_numeric,
)
from thalweg.units import Unit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Relation:
    """Something FROM can name. `names` renames its columns where they have no good ones."""

    name: str
    columns: Schema
    is_stream: bool
    unit: Unit | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Named:
    """A column in reach: its full name and type."""

    text: str
    type: Type


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM item as text, and the columns it brings."""

    text: str
    columns: tuple[Named, ...]


_LITERALS: dict[Type, tuple[str, ...]] = {
    INT: ("0", "1", "2", "-1", "3"),
    BIGINT: ("0L", "2L", "-1L"),
    DOUBLE: ("0.5D", "1e0", "-2.0D", "0.0D"),
    STRING: ("'a'", "'b'", "'ab'", "''"),
    BOOLEAN: ("TRUE", "FALSE"),
    DATE: ("DATE '1970-01-02'", "DATE '1970-02-01'"),
    TIMESTAMP: ("TIMESTAMP '1970-01-01 00:00:03'",),
}


_MONEY_LITERALS = ("0.50", "1.25", "-3.00")


@dataclass
class Writer:
    """Draws the parts of one query."""

    choices: Choices
    relations: list[Relation]
    aliases: int = 0
    subqueries_left: int = 2

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

    # Expressions

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
        if own:
            return f"coalesce({self.pick(own)}, {self.literal(type_)})"
        return self.literal(type_)

    def _number(self, type_: Type, columns: tuple[Named, ...], depth: int) -> str:
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

    def _text(self, columns: tuple[Named, ...], depth: int) -> str:
        a, b = self.value(STRING, columns, depth), self.value(STRING, columns, depth)
        form = self.number(0, 2)
        if form == 0:
            return f"({a} || {b})"
        if form == 1:
            return f"coalesce({a}, {b})"
        return f"CASE WHEN {self.condition(columns, depth)} THEN {a} END"

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
        type_ = self._some_type(columns)
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

    def _some_type(self, columns: tuple[Named, ...]) -> Type:
        types = list(dict.fromkeys(c.type for c in columns)) or [INT]
        return self.pick(types)

    # FROM

    def alias(self) -> str:
        self.aliases += 1
        return f"r{self.aliases}"

    def window(self, relation: Relation) -> str:
        """A window with lengths that are whole numbers of ticks in every unit here."""
        columns = list(relation.names or (c.name for c in relation.columns))
        form = self.number(0, 8)
        if form <= 2:
            return f"[RANGE {self.pick((0, 1, 2, 3, 5, 8, 13))} SECONDS]"
        if form == 3:
            step = self.number(1, 4)
            return f"[RANGE {self.number(1, 6)} SECONDS SLIDE {step} SECONDS]"
        if form == 4:
            return f"[ROWS {self.number(1, 3)}]"
        if form == 5:
            key = self.pick(columns)
            return f"[PARTITION BY {key} ROWS {self.number(1, 2)}]"
        if form == 6:
            return "[NOW]"
        if form == 7:
            return "[UNBOUNDED]"
        return ""

    def source(self, depth: int) -> Source:
        if depth > 0 and self.chance(4):
            return self._derived(depth - 1)
        relation = self.pick(self.relations)
        alias = self.alias()
        names = relation.names or tuple(c.name for c in relation.columns)
        renamed = f" AS {alias}({', '.join(names)})" if relation.names else f" AS {alias}"
        # A window names columns as they are before the alias renames them.
        keyless = Relation(relation.name, relation.columns, relation.is_stream, relation.unit)
        window = ""
        if relation.is_stream:
            window = self.window(keyless if not relation.names else relation)
            if relation.names and "PARTITION" in window:
                window = "[ROWS 2]"
        columns = tuple(
            Named(f"{alias}.{name}", c.type)
            for name, c in zip(names, relation.columns, strict=True)
        )
        return Source(f"{relation.name} {window}{renamed}".replace("  ", " "), columns)

    def _derived(self, depth: int) -> Source:
        """A subquery in FROM, sometimes a stream under a window."""
        inner = Writer(self.choices, self.relations, self.aliases + 100)
        operator = self.pick(("ISTREAM", "DSTREAM", "RSTREAM")) if self.chance(3) else ""
        text, types = inner.select(depth, operator=operator, names=True)
        self.aliases = inner.aliases
        alias = self.alias()
        columns = tuple(Named(f"{alias}.y{i}", t) for i, t in enumerate(types))
        window = self.pick(("", "[RANGE 2 SECONDS]", "[ROWS 2]", "[NOW]")) if operator else ""
        return Source(f"({text}) {window} AS {alias}".replace("  ", " "), columns)

    def from_clause(self, depth: int) -> Source:
        result = self.source(depth)
        for _ in range(self.pick((0, 0, 1, 1, 1, 2))):
            result = self._joined(result, self.source(0))
        return result

    def _joined(self, left: Source, right: Source) -> Source:
        both = left.columns + right.columns
        form = self.number(0, 7)
        if form <= 1:
            return Source(f"{left.text}, {right.text}", both)
        if form == 2:
            return Source(f"{left.text} CROSS JOIN {right.text}", both)
        on = self.join_condition(left.columns, right.columns)
        if form == 3:
            word = self.pick(("LEFT SEMI JOIN", "LEFT ANTI JOIN"))
            return Source(f"{left.text} {word} {right.text} ON {on}", left.columns)
        word = self.pick(("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        return Source(f"{left.text} {word} {right.text} ON {on}", both)

    def join_condition(self, left: tuple[Named, ...], right: tuple[Named, ...]) -> str:
        pairs = [(a.text, b.text) for a in left for b in right if a.type == b.type]
        if not pairs:
            return self.condition(left + right, 1)
        a, b = self.pick(pairs)
        equal = f"{a} = {b}"
        if self.chance(4):
            return f"{equal} AND {self.condition(left + right, 1)}"
        return equal

    # Subqueries in conditions

    def where(self, columns: tuple[Named, ...], depth: int) -> str:
        parts = [self.condition(columns) for _ in range(self.pick((1, 1, 1, 2)))]
        pairs = [
            (a.text, b.text)
            for i, a in enumerate(columns)
            for b in columns[i + 1 :]
            if a.type == b.type and a.text.split(".")[0] != b.text.split(".")[0]
        ]
        if pairs and self.chance(2):
            a, b = self.pick(pairs)
            parts.append(f"{a} = {b}")
        if depth > 0 and self.subqueries_left and self.chance(5):
            self.subqueries_left -= 1
            parts.append(self._subquery_condition(columns))
        return " AND ".join(parts)

    def _subquery_condition(self, columns: tuple[Named, ...]) -> str:
        inner = self.source(0)
        form = self.number(0, 2)
        matching = [c for c in columns if any(i.type == c.type for i in inner.columns)]
        correlated = ""
        if matching and self.chance(2):
            outer = self.pick(matching)
            own = [c for c in inner.columns if c.type == outer.type]
            correlated = f" WHERE {self.pick(own).text} = {outer.text}"
        if form == 0 or not matching:
            return f"{self.pick(('', 'NOT '))}EXISTS (SELECT 1 FROM {inner.text}{correlated})"
        outer = self.pick(matching)
        own = [c for c in inner.columns if c.type == outer.type]
        column = self.pick(own).text
        if form == 1:
            word = self.pick(("IN", "NOT IN"))
            return f"{outer.text} {word} (SELECT {column} FROM {inner.text}{correlated})"
        return f"{outer.text} <= (SELECT max({column}) FROM {inner.text}{correlated})"

    # SELECT

    def select(
        self, depth: int, *, operator: str = "", names: bool = False, unique: bool = False
    ) -> tuple[str, list[Type]]:
        """A SELECT and the types of its columns; with `unique`, DISTINCT or LIMIT are likely."""
        source = self.from_clause(depth)
        where = f" WHERE {self.where(source.columns, depth)}" if self.chance(2) else ""
        if self.chance(3):
            items, types, tail = self._grouped(source.columns)
        else:
            types = [self._some_type(source.columns) for _ in range(self.number(1, 3))]
            items = [self._exact(t, source.columns) for t in types]
            tail = ""
        if names:
            items = [f"{item} AS y{i}" for i, item in enumerate(items)]
        distinct = "DISTINCT " if self.chance(2 if unique else 6) else ""
        listing = ", ".join(items)
        head = f"{operator}({distinct}{listing})" if operator else f"{distinct}{listing}"
        text = f"SELECT {head} FROM {source.text}{where}{tail}"
        if not operator and self.chance(2 if unique else 6):
            order = self.number(1, len(items))
            direction = self.pick(("", " DESC", " DESC NULLS FIRST", " NULLS LAST"))
            text += f" ORDER BY {order}{direction} LIMIT {self.number(0, 3)}"
        return text, types

    def _exact(self, type_: Type, columns: tuple[Named, ...]) -> str:
        own = [c.text for c in columns if c.type == type_]
        if own and self.chance(2):
            return self.pick(own)
        return f"CAST({self.value(type_, columns)} AS {type_})"

    def _grouped(self, columns: tuple[Named, ...]) -> tuple[list[str], list[Type], str]:
        keys = [self.pick(columns) for _ in range(self.pick((0, 1, 1, 2)))]
        keys = list(dict.fromkeys(keys))
        items = [key.text for key in keys]
        types = [key.type for key in keys]
        for _ in range(self.number(1, 2)):
            call, type_ = self._aggregate(columns)
            items.append(call)
            types.append(type_)
        tail = f" GROUP BY {', '.join(key.text for key in keys)}" if keys else ""
        if self.chance(4):
            tail += f" HAVING count(*) {self.pick(('>', '<=', '<>'))} {self.number(0, 2)}"
            if keys and self.chance(2):
                tail += f" AND {self.condition(tuple(keys), 1)}"
        return items, types, tail

    def _aggregate(self, columns: tuple[Named, ...]) -> tuple[str, Type]:
        column = self.pick(columns)
        where = f" FILTER (WHERE {self.condition(columns, 1)})" if self.chance(6) else ""
        distinct = "DISTINCT " if self.chance(5) else ""
        form = self.number(0, 4)
        if form == 0:
            return f"count(*){where}", BIGINT
        if form == 1:
            return f"count({distinct}{column.text}){where}", BIGINT
        if form == 2 or not is_numeric(column.type):
            return f"{self.pick(('min', 'max'))}({column.text}){where}", column.type
        if form == 3:
            name = self.pick(("avg", "stddev", "variance", "var_pop"))
            as_double = f"CAST({column.text} AS DOUBLE)"
            return f"{name}({distinct}{as_double}){where}", DOUBLE
        if isinstance(column.type, DecimalType):
            return f"CAST(sum({column.text}){where} AS {column.type})", column.type
        result = BIGINT if is_integral(column.type) else DOUBLE
        return f"sum({distinct}{column.text}){where}", result

    def query(self) -> str:
        """A whole query: a SELECT, or a set operation of two."""
        if self.chance(7):
            return self._set_operation()
        if self.chance(7):
            return self._narrowed()
        operator = self.pick(("ISTREAM", "DSTREAM", "RSTREAM")) if self.chance(3) else ""
        return self.select(2, operator=operator)[0]

    def _narrowed(self) -> str:
        """Some columns and rows of a subquery that has one answer per set of columns."""
        inner, types = self.select(1, names=True, unique=True)
        columns = tuple(Named(f"z.y{i}", t) for i, t in enumerate(types))
        listing = ", ".join(c.text for c in columns[: self.number(1, len(columns))])
        where = f" WHERE {self.condition(columns, 1)}" if self.chance(2) else ""
        return f"SELECT {listing} FROM ({inner}) AS z{where}"

    def _set_operation(self) -> str:
        columns_per_side: list[str] = []
        sources = [self.from_clause(0) for _ in range(2)]
        shared = [
            (a, b) for a in sources[0].columns for b in sources[1].columns if a.type == b.type
        ]
        if not shared:
            return self.select(1)[0]
        pairs = [self.pick(shared) for _ in range(self.number(1, 2))]
        for side, source in enumerate(sources):
            items = ", ".join(pair[side].text for pair in pairs)
            where = f" WHERE {self.condition(source.columns)}" if self.chance(2) else ""
            columns_per_side.append(f"SELECT {items} FROM {source.text}{where}")
        word = self.pick(("UNION", "EXCEPT", "INTERSECT")) + self.pick(("", " ALL"))
        text = f"{columns_per_side[0]} {word} {columns_per_side[1]}"
        if self.chance(3):
            return f"{self.pick(('ISTREAM', 'DSTREAM', 'RSTREAM'))}({text})"
        return text


def random_query(choices: Choices, relations: list[Relation]) -> str:
    """A query over the relations that reads at least one stream."""
    text = Writer(choices, relations).query()
    streams = [r for r in relations if r.is_stream or r.unit is not None]
    if any(f" {r.name} " in f" {text} " for r in streams):
        return text
    stream = choices.pick(streams)
    column = (stream.names or tuple(c.name for c in stream.columns))[0]
    renamed = f" AS r0({', '.join(stream.names)})" if stream.names else " AS r0"
    return f"SELECT r0.{column} FROM {stream.name}{renamed}"
