"""Random catalogs, streams, and well-typed queries over them.

    from hypothesis import given
    from thalweg.testing.strategies import cases

    @given(cases())
    def test_my_engine(case):
        ...

A `Case` is a golden script in parts: declarations, query texts, feeds. Streams
are made to be nasty in small: few distinct times, so ties, bursts and gaps are
common; few distinct keys, so joins hit; NULLs; rows out of order within the
slack and beyond it. Queries are text, so that parser and binder are tested too.
`random_case(seed)` makes the same case for the same seed, without hypothesis.
"""

from __future__ import annotations

import decimal as dec
import re
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from thalweg.errors import SourceText
from thalweg.program import Program, bind_script
from thalweg.testing.cells import cell_text
from thalweg.testing.choices import Choices, Drawn, Seeded
from thalweg.testing.expression_text import DOUBLES, INTS, PAIR
from thalweg.testing.feeds import FeedRow, Feeds
from thalweg.testing.query_text import Relation, random_query
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Field,
    Schema,
    Type,
    decimal,
)
from thalweg.units import Unit

MONEY = decimal(8, 2)

# Few values of each type, so that equality, ties and duplicates are common. The
# odd ones come last and are taken rarely.
_VALUES: dict[Type, tuple[Any, ...]] = {
    INT: (0, 1, 1, 2, 2, 3, -1, 2**31 - 1),
    BIGINT: (0, 1, 1, 2, 2, 3, -1, 2**63 - 1),
    DOUBLE: (0.5, 1.5, 1.5, -1.25, 3.0, 0.0, -0.0, float("nan"), float("inf")),
    STRING: ("a", "a", "b", "b", "ab", "", "Ä"),
    BOOLEAN: (True, False),
    MONEY: tuple(dec.Decimal(cents).scaleb(-2) for cents in (50, 125, 125, 999, -300, 0)),
    DATE: (0, 1, 1, 31, 365, -2),
    INTS: ((1,), (1,), (1, 2), (), (None, 1)),
    DOUBLES: ((0.0,), (-0.0,), (0.5, 1.5), (float("nan"),), (None,)),
    PAIR: ((1, 0.0), (1, -0.0), (2, 1.5), (2, 1.5), (None, 0.5), (1, None)),
}
_COMMON_TYPES: tuple[Type, ...] = (INT, INT, BIGINT, STRING, STRING, DOUBLE)
_KINDS = (_COMMON_TYPES, _COMMON_TYPES, (BOOLEAN, MONEY, DATE, INTS, DOUBLES, PAIR))
_ONE_NULL_IN = 9
# Names of columns that need no quotes, and no new ones in a query over the query.
_GOOD_NAME = re.compile(r"[cy][0-9](_[0-9])?|ts(_[0-9])?")


@dataclass(frozen=True, slots=True)
class StreamCase:
    """A declared stream and its rows in the order of arrival."""

    relation: Relation
    declaration: str
    rows: tuple[FeedRow, ...]


@dataclass(frozen=True, slots=True)
class TableCase:
    relation: Relation
    declaration: str
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Everything a run needs; `str()` is a golden script whose outputs wait to be accepted."""

    streams: tuple[StreamCase, ...]
    tables: tuple[TableCase, ...]
    queries: tuple[tuple[str, str], ...] = ()
    views: tuple[tuple[str, str], ...] = ()

    def program(self) -> Program:
        statements = [f"CREATE STREAM {s.declaration} FROM memory()" for s in self.streams]
        statements += [f"CREATE TABLE {t.declaration} FROM memory()" for t in self.tables]
        statements += [f"CREATE VIEW {name} AS {text}" for name, text in self.views]
        statements += [f"CREATE QUERY {name} AS {text}" for name, text in self.queries]
        return bind_script(SourceText("case", ";\n".join(statements)))

    def feeds(self) -> Feeds:
        return Feeds(
            {s.relation.name: s.rows for s in self.streams},
            {t.relation.name: t.rows for t in self.tables},
        )

    def __str__(self) -> str:
        blocks = [f"stream {s.declaration}" for s in self.streams]
        for table in self.tables:
            rows = [_row_line(row, table.relation.columns) for row in table.rows]
            blocks.append("\n".join([f"table {table.declaration}", *rows]))
        blocks += [f"view {name}\n{text}" for name, text in self.views]
        blocks += [f"query {name}\n{text}" for name, text in self.queries]
        for stream in self.streams:
            lines = [f"feed {stream.relation.name}"]
            for row in stream.rows:
                time = [] if row.time is None else [str(row.time)]
                lines.append(" | ".join([*time, _row_line(row.values, stream.relation.columns)]))
            blocks.append("\n".join(lines))
        blocks += [f"output {name}" for name, _ in self.queries]
        return "\n\n".join(blocks) + "\n"

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """How hypothesis shows a failing case: ready to be saved as a golden script."""
        printer.text(str(self))


def _row_line(values: tuple[Any, ...], columns: Schema) -> str:
    return " | ".join(cell_text(v, c.type) for v, c in zip(values, columns, strict=True))


@dataclass
class CaseMaker:
    """Makes the parts of a case out of choices."""

    choices: Choices
    most_streams: int = 3
    most_rows: int = 8

    def case(self) -> Case:
        """Streams, perhaps a table and a view, and up to three queries, each over the others."""
        names = ("S", "R", "T")[: self.choices.integer(1, self.most_streams)]
        streams = tuple(self.stream(name) for name in names)
        tables = (self.table("D"),) if self.choices.integer(0, 2) == 0 else ()
        relations = [part.relation for part in (*streams, *tables)]
        case = Case(streams, tables)
        if self.choices.integer(0, 3) == 0:
            text = random_query(self.choices, relations, names=True)
            case = replace(case, views=(("v", text),))
            relations = [_view_of(case), *relations]
        for name in ("q", "q2", "q3"):
            text = random_query(self.choices, relations, names=self.choices.integer(0, 1) == 0)
            case = replace(case, queries=(*case.queries, (name, text)))
            if self.choices.integer(0, 2):
                break
            relations = [_answer_of(case, name), *relations]
        return case

    def columns(self) -> Schema:
        """Two to four columns, the first a key of few values."""
        types = [self.choices.pick((INT, STRING))]
        kinds = [self.choices.pick(_KINDS) for _ in range(self.choices.integer(1, 3))]
        types += [self.choices.pick(kind) for kind in kinds]
        return tuple(Field(f"c{i}", type_) for i, type_ in enumerate(types))

    def row(self, columns: Schema) -> tuple[Any, ...]:
        """A row with now and then a NULL."""
        return tuple(self.cell(column.type) for column in columns)

    def cell(self, type_: Type) -> Any:
        if self.choices.integer(1, _ONE_NULL_IN) == 1:
            return None
        return self.choices.pick(_VALUES[type_])

    def times(self, slack: int) -> list[int]:
        """Times with ties, bursts and gaps, disordered about as much as the slack allows."""
        time = self.choices.integer(-3, 5)
        times = []
        for _ in range(self.choices.pick((0, 2, 4, 6, 7, 8, 8, 8)) * self.most_rows // 8):
            time += self.choices.pick((0, 0, 0, 1, 1, 1, 2, 3, 9))
            shift = self.choices.integer(0, slack) if slack else 0
            too_late = 2 if self.choices.integer(1, 20) == 1 else 0
            times.append(time - shift - too_late)
        return times

    def stream(self, name: str) -> StreamCase:
        columns = self.columns()
        slack = self.choices.pick((0, 0, 1, 3))
        kind = self.choices.pick(("implicit", "implicit", "integer", "millisecond", "timestamp"))
        times = self.times(slack)
        rows = [self.row(columns) for _ in times]
        clauses = f" SLACK {slack} SECONDS" if slack else ""
        if kind == "implicit":
            unit = Unit.SECOND
            feed = tuple(FeedRow(row, time) for row, time in zip(rows, times, strict=True))
        else:
            type_, unit = {
                "integer": (BIGINT, Unit.SECOND),
                "millisecond": (BIGINT, Unit.MILLISECOND),
                "timestamp": (TIMESTAMP, Unit.MICROSECOND),
            }[kind]
            columns = (*columns, Field("ts", type_))
            clauses = f" TIMESTAMP BY ts{clauses}"
            clauses += " UNIT MILLISECOND" if unit is Unit.MILLISECOND else ""
            scale = unit.ticks_per(Unit.SECOND)
            feed = tuple(
                FeedRow((*row, time * scale)) for row, time in zip(rows, times, strict=True)
            )
        listing = ", ".join(f"{c.name} {c.type}" for c in columns)
        relation = Relation(name, columns, is_stream=True, unit=unit, base=True)
        return StreamCase(relation, f"{name}({listing}){clauses}", feed)

    def table(self, name: str) -> TableCase:
        columns = self.columns()
        rows = tuple(self.row(columns) for _ in range(self.choices.integer(0, 4)))
        listing = ", ".join(f"{c.name} {c.type}" for c in columns)
        relation = Relation(name, columns, is_stream=False, base=True)
        return TableCase(relation, f"{name}({listing})", rows)


def _answer_of(case: Case, name: str) -> Relation:
    """The answer of one of the case's queries as something that another query can read."""
    query = case.program().query(name)
    columns = query.plan.schema
    if all(_GOOD_NAME.fullmatch(column.name) for column in columns):
        return Relation(name, columns, query.plan.is_stream, query.tick)
    names = tuple(f"x{i}" for i in range(len(columns)))
    return Relation(name, columns, query.plan.is_stream, query.tick, names)


def _view_of(case: Case) -> Relation:
    """The view of the case; whether it takes a window shows when a query reads it."""
    probing = replace(case, queries=(("probe", "SELECT * FROM v"),))
    return replace(_answer_of(probing, "probe"), name="v")


def random_case(seed: int, most_streams: int = 3, most_rows: int = 8) -> Case:
    """The case of a seed."""
    return CaseMaker(Seeded(seed), most_streams, most_rows).case()


@st.composite
def cases(draw: st.DrawFn, most_streams: int = 3, most_rows: int = 8) -> Case:
    """Cases for hypothesis, which shrinks those that fail."""
    return CaseMaker(Drawn(draw), most_streams, most_rows).case()
