"""Random query texts, well-typed by construction.

Everything is written with full names (`S1.c0`), so that a text never fails to
bind by accident: what is generated must bind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from thalweg.testing.choices import Choices
from thalweg.testing.expression_text import (
    DOUBLES,
    INTS,
    ExpressionWriter,
    Named,
    holds_doubles,
)
from thalweg.types import (
    BIGINT,
    DOUBLE,
    INT,
    DecimalType,
    Field,
    Schema,
    Type,
    is_integral,
    is_numeric,
)
from thalweg.units import Unit


@dataclass(frozen=True, slots=True)
class Relation:
    """Something FROM can name. `names` renames its columns where they have no good ones.

    A stream, or a relation that only grows, takes a window. `unit` is None if no
    stream is below. The columns of a `base` are as they were fed.
    """

    name: str
    columns: Schema
    is_stream: bool
    unit: Unit | None = None
    names: tuple[str, ...] = ()
    base: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A FROM item as text, and the columns it brings."""

    text: str
    columns: tuple[Named, ...]


_STREAM_OPERATORS = ("ISTREAM", "DSTREAM", "RSTREAM")


@dataclass
class Writer(ExpressionWriter):
    """Draws the parts of one query."""

    relations: list[Relation] = field(default_factory=list)
    aliases: int = 0
    subqueries_left: int = 2

    # FROM

    def alias(self) -> str:
        self.aliases += 1
        return f"r{self.aliases}"

    def window(self, keys: tuple[str, ...]) -> str:
        """A window with lengths that are whole numbers of ticks in every unit here.

        `keys` are the columns to partition by.
        """
        form = self.number(0, 10)
        if form <= 2:
            return f"[RANGE {self.pick((0, 1, 2, 3, 5, 8, 13))} SECONDS]"
        if form == 3:
            step = self.number(1, 4)
            return f"[RANGE {self.number(1, 6)} SECONDS SLIDE {step} SECONDS]"
        if form == 4:
            return f"[HOP {self.number(1, 6)} SECONDS, {self.number(1, 4)} SECONDS]"
        if form == 5:
            return f"[TUMBLE {self.number(1, 4)} SECONDS]"
        if form == 6:
            return "[NOW]"
        if form == 7:
            return "[UNBOUNDED]"
        if form == 8 and keys:
            chosen = dict.fromkeys(self.pick(keys) for _ in range(self.pick((1, 1, 2))))
            return f"[PARTITION BY {', '.join(chosen)} ROWS {self.number(1, 2)}]"
        return f"[ROWS {self.number(1, 3)}]" if form <= 9 else ""

    def source(self, depth: int) -> Source:
        form = self.number(0, 11)
        if depth > 0 and form <= 2:
            return self._derived(depth - 1)
        if form == 3:
            return self._growing()
        if depth > 0 and form == 4:
            return self._using()
        return self.named(self.pick(self.relations))

    def named(self, relation: Relation) -> Source:
        """A relation by its name."""
        alias = self.alias()
        names = relation.names or tuple(c.name for c in relation.columns)
        renamed = f" AS {alias}({', '.join(names)})" if relation.names else f" AS {alias}"
        # A window names columns as they are before the alias renames them.
        window = self.window(() if relation.names else names) if relation.is_stream else ""
        columns = tuple(
            Named(f"{alias}.{name}", c.type, relation.base or not holds_doubles(c.type))
            for name, c in zip(names, relation.columns, strict=True)
        )
        return Source(f"{relation.name} {window}{renamed}".replace("  ", " "), columns)

    def _in_parentheses(self, text: str, types: list[Type], windowed: bool) -> Source:
        """A subquery in FROM; its columns are called y0, y1, …"""
        alias = self.alias()
        names = tuple(f"y{i}" for i in range(len(types)))
        window = self.window(names) if windowed else ""
        columns = tuple(
            Named(f"{alias}.{name}", t, not holds_doubles(t))
            for name, t in zip(names, types, strict=True)
        )
        return Source(f"({text}) {window} AS {alias}".replace("  ", " "), columns)

    def _inside(self) -> Writer:
        """A writer for a subquery, with aliases of its own."""
        return Writer(self.choices, self.relations, self.aliases + 100)

    def _derived(self, depth: int) -> Source:
        """A subquery in FROM, sometimes a stream under a window."""
        inner = self._inside()
        operator = self.pick(_STREAM_OPERATORS) if self.chance(2) else ""
        if self.chance(4):
            text, types = inner.set_operation(names=True)
            if operator:
                listing = ", ".join(f"u.y{i}" for i in range(len(types)))
                text = f"SELECT {operator}({listing}) FROM ({text}) AS u"
        else:
            text, types = inner.select(depth, operator=operator, names=True)
        self.aliases = inner.aliases
        return self._in_parentheses(text, types, windowed=bool(operator))

    def _growing(self) -> Source:
        """A window on a relation that only grows: rows of a stream, chosen and changed."""
        streams = [r for r in self.relations if r.is_stream and r.unit is not None]
        if not streams:
            return self.named(self.pick(self.relations))
        relation = self.pick(streams)
        alias = self.alias()
        names = relation.names or tuple(c.name for c in relation.columns)
        renamed = f" AS {alias}({', '.join(names)})" if relation.names else f" AS {alias}"
        columns = tuple(
            Named(f"{alias}.{name}", c.type, relation.base or not holds_doubles(c.type))
            for name, c in zip(names, relation.columns, strict=True)
        )
        types = [self.some_type(columns) for _ in range(self.number(1, 3))]
        items = ", ".join(f"{self.exact(t, columns)} AS y{i}" for i, t in enumerate(types))
        where = f" WHERE {self.condition(columns, 1)}" if self.chance(2) else ""
        text = f"SELECT {items} FROM {relation.name}{renamed}{where}"
        return self._in_parentheses(text, types, windowed=True)

    def _using(self) -> Source:
        """A join by columns of the same names, which then stand for both sides."""
        left, right = self.named(self.pick(self.relations)), self.named(self.pick(self.relations))
        own, other = ({_bare(c.text): c for c in side.columns} for side in (left, right))
        common = [n for n in own if n in other and own[n].type == other[n].type]
        if not common:
            return left
        words = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")
        word = self.pick(words)
        natural = not word.endswith(("SEMI JOIN", "ANTI JOIN")) and self.chance(3)
        if natural and len(common) == sum(n in other for n in own):
            merged, text = common, f"{left.text} NATURAL {word} {right.text}"
        else:
            merged = list(dict.fromkeys(self.pick(common) for _ in range(self.number(1, 2))))
            text = f"{left.text} {word} {right.text} USING ({', '.join(merged)})"
        shown = left.columns if "SEMI" in word or "ANTI" in word else left.columns + right.columns
        items = [(name, own[name].type) for name in merged]
        items += [(c.text, c.type) for c in shown if self.chance(2)]
        listing = ", ".join(f"{item} AS y{i}" for i, (item, _) in enumerate(items))
        return self._in_parentheses(
            f"SELECT {listing} FROM {text}", [type_ for _, type_ in items], windowed=False
        )

    def from_clause(self, depth: int) -> Source:
        result = self.source(depth)
        # Answers of joins, joined three times over, would keep the reference for minutes.
        based = all(relation.base for relation in self.relations)
        for _ in range(self.pick((0, 0, 1, 1, 1, 2) if based else (0, 1, 1))):
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

    # Subqueries in expressions

    def where(self, columns: tuple[Named, ...], depth: int) -> str:
        parts = [self.condition(columns) for _ in range(self.pick((1, 1, 1, 2)))]
        pairs = [
            (a.text, b.text)
            for i, a in enumerate(columns)
            for b in columns[i + 1 :]
            if a.type == b.type and _owner(a.text) != _owner(b.text)
        ]
        if pairs and self.chance(2):
            a, b = self.pick(pairs)
            parts.append(f"{a} = {b}")
        if depth > 0 and self.subqueries_left and self.chance(3):
            condition = self._subquery_condition(columns)
            # Alone it often lets rows pass; among other conditions few are left to decide on.
            parts = [condition] if self.chance(2) else [*parts, condition]
        return " AND ".join(parts)

    def _subquery_condition(self, columns: tuple[Named, ...]) -> str:
        self.subqueries_left -= 1
        inner = self.source(0)
        form = self.number(0, 5)
        matching = [c for c in columns if any(i.type == c.type for i in inner.columns)]
        where = self._subquery_where(columns, inner)
        if form <= 1 or not matching:
            return f"{self.pick(('', 'NOT '))}EXISTS (SELECT 1 FROM {inner.text}{where})"
        outer = self.pick(matching)
        column = self._partner(outer, inner)
        if form <= 3:
            word = self.pick(("IN", "NOT IN", "NOT IN"))
            if self.chance(5):
                second = self.pick(matching)
                pair = f"{column}, {self._partner(second, inner)}"
                return (
                    f"({outer.text}, {second.text}) {word} (SELECT {pair} FROM {inner.text}{where})"
                )
            return f"{outer.text} {word} (SELECT {column} FROM {inner.text}{where})"
        if form == 4:
            few = f"{self.pick(('=', '<', '>='))} {self.number(0, 2)}"
            return f"(SELECT count({column}) FROM {inner.text}{where}) {few}"
        return f"{outer.text} <= (SELECT max({column}) FROM {inner.text}{where})"

    def _partner(self, outer: Named, inner: Source) -> str:
        return self.pick([c for c in inner.columns if c.type == outer.type]).text

    def _subquery_where(self, columns: tuple[Named, ...], inner: Source) -> str:
        parts = [self.condition(inner.columns, 1)] if self.chance(3) else []
        matching = [c for c in columns if any(i.type == c.type for i in inner.columns)]
        if matching and self.chance(2):
            outer = self.pick(matching)
            parts.append(f"{self._partner(outer, inner)} = {outer.text}")
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _subquery_value(self, type_: Type, columns: tuple[Named, ...]) -> str:
        """A scalar subquery of this type, if something has it."""
        self.subqueries_left -= 1
        inner = self.source(0)
        own = [c.text for c in inner.columns if c.type == type_]
        if not own:
            return self.exact(type_, columns)
        where = self._subquery_where(columns, inner)
        return f"(SELECT {self.pick(('min', 'max'))}({self.pick(own)}) FROM {inner.text}{where})"

    # SELECT

    def select(
        self, depth: int, *, operator: str = "", names: bool = False, unique: bool = False
    ) -> tuple[str, list[Type]]:
        """A SELECT and the types of its columns; with `unique`, DISTINCT or LIMIT are likely."""
        source = self.from_clause(depth)
        where = f" WHERE {self.where(source.columns, depth)}" if self.chance(2) else ""
        if self.chance(3):
            items, types, tail = self._grouped(source.columns, depth)
        else:
            types = [self.some_type(source.columns) for _ in range(self.number(1, 3))]
            items = [self.exact(t, source.columns) for t in types]
            tail = ""
            if depth > 0 and self.subqueries_left and self.chance(12):
                items[-1] = self._subquery_value(types[-1], source.columns)
        if names:
            items = [f"{item} AS y{i}" for i, item in enumerate(items)]
        distinct = "DISTINCT " if self.chance(2 if unique else 6) else ""
        listing = ", ".join(items)
        head = f"{operator}({distinct}{listing})" if operator else f"{distinct}{listing}"
        text = f"SELECT {head} FROM {source.text}{where}{tail}"
        if not operator and self.chance(2 if unique else 6):
            order = self.number(1, len(items))
            direction = self.pick(("", " DESC", " DESC NULLS FIRST", " NULLS LAST"))
            offset = f" OFFSET {self.number(0, 2)}" if self.chance(4) else ""
            text += f" ORDER BY {order}{direction} LIMIT {self.number(0, 3)}{offset}"
        return text, types

    def _grouped(self, columns: tuple[Named, ...], depth: int) -> tuple[list[str], list[Type], str]:
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
            if keys and depth > 0 and self.subqueries_left and self.chance(4):
                tail += f" AND {self._subquery_condition(tuple(keys))}"
        return items, types, tail

    def _aggregate(self, columns: tuple[Named, ...]) -> tuple[str, Type]:
        column = self.pick(columns)
        where = f" FILTER (WHERE {self.condition(columns, 1)})" if self.chance(6) else ""
        distinct = "DISTINCT " if self.chance(5) else ""
        form = self.number(0, 5)
        if form == 0:
            return f"count(*){where}", BIGINT
        if form == 1:
            return f"count({distinct}{column.text}){where}", BIGINT
        if form == 2 and column.type in (INT, DOUBLE):
            name = self.pick(("collect_list", "collect_set"))
            return f"{name}({column.text}){where}", INTS if column.type == INT else DOUBLES
        if form <= 3 or not is_numeric(column.type):
            return f"{self.pick(('min', 'max'))}({column.text}){where}", column.type
        if form == 4:
            name = self.pick(("avg", "stddev", "variance", "var_pop"))
            as_double = f"CAST({column.text} AS DOUBLE)"
            return f"{name}({distinct}{as_double}){where}", DOUBLE
        if isinstance(column.type, DecimalType):
            return f"CAST(sum({column.text}){where} AS {column.type})", column.type
        result = BIGINT if is_integral(column.type) else DOUBLE
        return f"sum({distinct}{column.text}){where}", result

    # Whole queries

    def query(self, names: bool = False) -> str:
        """A whole query; with `names`, its columns are called y0, y1, …"""
        if self.chance(7):
            return self._with(names)
        return self._plain(names)

    def _plain(self, names: bool) -> str:
        """A SELECT, or a set operation of two, perhaps as a stream."""
        operator = self.pick(_STREAM_OPERATORS) if self.chance(3) else ""
        form = self.number(0, 7)
        if form == 0:
            text = self.set_operation(names)[0]
        elif form <= 2:
            text = self._narrowed(names)
        elif operator and form <= 5:
            return self.select(2, operator=operator, names=names)[0]
        else:
            text = self.select(2, names=names)[0]
        return f"{operator}({text})" if operator else text

    def _with(self, names: bool) -> str:
        """A WITH table, and a query that may read it."""
        operator = self.pick(_STREAM_OPERATORS) if self.chance(2) else ""
        inner = self._inside()
        text, types = inner.select(1, operator=operator, names=True)
        columns = tuple(Field(f"y{i}", type_) for i, type_ in enumerate(types))
        moving = [r.unit for r in _streams(self.relations) if _names(text, r)]
        table = Relation("w", columns, bool(operator), moving[0] if moving else None)
        main = Writer(self.choices, [table, table, *self.relations], inner.aliases)
        query = main._plain(names)
        return f"WITH w AS ({text}) {query}" if _names(query, table) else query

    def _narrowed(self, names: bool) -> str:
        """Some columns and rows of a subquery that has one answer per set of columns."""
        inner, types = self.select(1, names=True, unique=True)
        columns = tuple(Named(f"z.y{i}", t, exact=False) for i, t in enumerate(types))
        shown = columns[: self.number(1, max(1, len(columns) - 1))]
        listing = ", ".join(f"{c.text} AS y{i}" if names else c.text for i, c in enumerate(shown))
        where = f" WHERE {self.condition(columns, 1)}" if self.chance(2) else ""
        return f"SELECT {listing} FROM ({inner}) AS z{where}"

    def set_operation(self, names: bool) -> tuple[str, list[Type]]:
        sources = [self.from_clause(0) for _ in range(2)]
        shared = [
            (a, b) for a in sources[0].columns for b in sources[1].columns if a.type == b.type
        ]
        if not shared:
            return self.select(1, names=names)
        pairs = [self.pick(shared) for _ in range(self.number(1, 2))]
        sides = []
        for side, source in enumerate(sources):
            items = [pair[side].text for pair in pairs]
            if names:
                items = [f"{item} AS y{i}" for i, item in enumerate(items)]
            where = f" WHERE {self.condition(source.columns)}" if self.chance(2) else ""
            sides.append(f"SELECT {', '.join(items)} FROM {source.text}{where}")
        word = self.pick(("UNION", "EXCEPT", "INTERSECT")) + self.pick(("", " ALL"))
        return f"{sides[0]} {word} {sides[1]}", [pair[0].type for pair in pairs]


def _streams(relations: list[Relation]) -> list[Relation]:
    """Those that have a stream below."""
    return [r for r in relations if r.unit is not None]


def _names(text: str, relation: Relation) -> bool:
    """Whether the text reads the relation."""
    return f" {relation.name} " in f" {text} "


def _owner(column: str) -> str:
    return column.split(".")[0]


def _bare(column: str) -> str:
    return column.split(".")[1]


def random_query(choices: Choices, relations: list[Relation], names: bool = False) -> str:
    """A query over the relations that reads at least one stream."""
    text = Writer(choices, relations).query(names)
    streams = _streams(relations)
    if any(_names(text, r) for r in streams):
        return text
    stream = choices.pick(streams)
    column = (stream.names or tuple(c.name for c in stream.columns))[0]
    renamed = f" AS r0({', '.join(stream.names)})" if stream.names else " AS r0"
    shown = " AS y0" if names else ""
    return f"SELECT r0.{column}{shown} FROM {stream.name}{renamed}"
