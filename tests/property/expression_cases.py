"""Random expressions over columns with all that is odd in them: NULLs, NaN, infinities, the
ends of every type."""

from __future__ import annotations

import decimal as dec
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from thalweg.catalog import Catalog
from thalweg.cql.script import parse_query
from thalweg.errors import QueryError, SourceText
from thalweg.evaluate import Compiler, Failures, Surroundings
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.expressions import Expression
from thalweg.plan.scope import Scope
from thalweg.settings import Settings
from thalweg.testing.choices import Seeded
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_MONTH,
    Field,
    Type,
    decimal,
)
from thalweg.vector.column import Columns, from_values

INF, NAN = float("inf"), float("nan")
MONEY, WIDE = decimal(8, 2), decimal(18, 0)


def _ends(bits: int) -> tuple[int, ...]:
    most = 2 ** (bits - 1)
    return (0, 1, -1, 2, 3, -7, 10, most - 1, -most, most - 2, most // 2, -most // 2)


VALUES: dict[str, tuple[Type, tuple[Any, ...]]] = {
    "t": (TINYINT, _ends(8)),
    "s": (SMALLINT, _ends(16)),
    "i": (INT, _ends(32)),
    "j": (INT, _ends(32)),
    "b": (BIGINT, (*_ends(64), 2**53, 2**53 + 1, 2**32, -(2**31))),
    "c": (BIGINT, (*_ends(64), 3 * 10**9, -(10**18))),
    "f": (FLOAT, (0.0, -0.0, 1.5, -2.25, 0.10000000149011612, 3.4028234663852886e38, INF, NAN)),
    "d": (DOUBLE, (0.0, -0.0, 1.0, -1.5, 0.1, 1e308, -1e308, 5e-324, INF, -INF, NAN, 2.0**63)),
    "e": (DOUBLE, (0.0, 2.0, -3.5, 1e18, 2147483647.5, -9.3e18, NAN, -INF)),
    "p": (BOOLEAN, (True, False)),
    "q": (BOOLEAN, (True, False)),
    "day": (DATE, (0, 1, -1, 20000, 2**31 - 1, -(2**31), 365)),
    "at": (TIMESTAMP, (0, 1, -1, 1_700_000_000_000_000, 2**63 - 1, -(2**63), 86_399_999_999)),
    "until": (TIMESTAMP, (0, 86_400_000_000, -(2**62), 2**62, 1_700_000_123_456_789)),
    "span": (DAY_TIME, (0, 1, -1, 3_600_000_000, 86_400_000_000, 2**63 - 1, -(2**63))),
    "days": (DAYS, (0, 86_400_000_000, -86_400_000_000, 10**5 * 86_400_000_000)),
    "months": (YEAR_MONTH, (0, 1, -13, 2**31 - 1, -(2**31))),
    "m": (MONEY, tuple(map(dec.Decimal, ("0.00", "1.25", "-3.10", "999999.99", "-999999.99")))),
    "w": (WIDE, tuple(map(dec.Decimal, (0, 1, -5, 10**18 - 1, -(10**18) + 1)))),
    "x": (STRING, ("", "a", "ab", "Ä", "aßb", " a ", "12", "-3", "x\ny", "%", "_b", "a\\b")),
    "y": (STRING, ("", "a", "b", "AB", "ab ", "1e3", "99999999999")),
}
SCHEMA = tuple(Field(name, type_) for name, (type_, _) in VALUES.items())

_NUMBERS = tuple("tsijbcfdemw")
_INTEGERS = tuple("tsijbc")
_ONE_NULL_IN = 6


def random_columns(seed: int, rows: int) -> Columns:
    choices = Seeded(seed)

    def cell(values: tuple[Any, ...]) -> Any:
        return None if choices.integer(1, _ONE_NULL_IN) == 1 else choices.pick(values)

    columns = []
    for type_, values in VALUES.values():
        has_nulls = choices.integer(0, 3) > 0
        cells = [cell(values) if has_nulls else choices.pick(values) for _ in range(rows)]
        columns.append(from_values(cells, type_))
    return tuple(columns)


class Writer:
    """Draws texts of expressions; not all of them have a type."""

    def __init__(self, choices: Seeded) -> None:
        self._choices = choices

    def _pick(self, options: tuple[Any, ...]) -> Any:
        return self._choices.pick(options)

    def number(self, depth: int) -> str:
        if depth == 0:
            literals = ("0", "1", "-1", "7", "2147483647", "3L", "0.5D", "1e0", "1.5", "NULL")
            return str(self._pick(_NUMBERS * 3 + literals))
        a, b, test = (lambda: self.number(depth - 1)), (lambda: self.number(depth - 1)), depth - 1
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({a()} {self._pick(('+', '-', '*', '/', '%'))} {b()})",
            lambda: f"({a()} {self._pick(('+', '-', '*'))} {b()})",
            lambda: f"{self._pick(('abs', '-', '+', 'sqrt', 'floor', 'ceil'))}({a()})",
            lambda: f"{self._pick(('pmod', 'nullif', 'nanvl', 'mod'))}({a()}, {b()})",
            lambda: f"try_{self._pick(('add', 'subtract', 'multiply', 'divide'))}({a()}, {b()})",
            lambda: f"{self._pick(('greatest', 'least', 'coalesce'))}({a()}, {b()}, {a()})",
            lambda: (
                f"CASE WHEN {self.truth(test)} THEN {a()} WHEN {self.truth(test)} THEN {b()} END"
            ),
            lambda: f"if({self.truth(test)}, {a()}, {b()})",
            lambda: f"{self._pick(('CAST', 'TRY_CAST'))}({a()} AS {self._pick(_CASTS)})",
            lambda: f"nvl2({a()}, {b()}, {a()})",
            lambda: f"{self._pick(('nullifzero', 'zeroifnull'))}({a()})",
            lambda: (
                f"({self._pick(_INTEGERS)} {self._pick(('&', '|', '^', 'div'))} "
                f"{self._pick(_INTEGERS)})"
            ),
            lambda: f"(~{self._pick(_INTEGERS)})",
            lambda: f"{self._pick(('hour', 'minute', 'second'))}({self.time(test)})",
            lambda: f"datediff({self.date(test)}, {self.date(test)})",
            lambda: f"CAST({self.truth(test)} AS INT)",
            lambda: f"CAST({self.time(test)} AS {self._pick(('BIGINT', 'DOUBLE', 'INT'))})",
            lambda: f"length({self.text(test)})",
        )
        return self._pick(forms)()

    def time(self, depth: int) -> str:
        if depth == 0:
            return str(self._pick(("at", "until", "TIMESTAMP '2024-02-29 12:34:56'")))
        forms = (
            f"({self.time(depth - 1)} {self._pick(('+', '-'))} {self.interval(depth - 1)})",
            f"CAST({self.date(depth - 1)} AS TIMESTAMP)",
            f"coalesce({self.time(depth - 1)}, {self.time(depth - 1)})",
        )
        return str(self._pick(forms))

    def date(self, depth: int) -> str:
        if depth == 0:
            return str(self._pick(("day", "DATE '2024-02-29'")))
        forms = (
            f"({self.date(depth - 1)} + {self._pick(('days', 'i', 'months'))})",
            f"date_sub({self.date(depth - 1)}, i)",
            f"CAST({self.time(depth - 1)} AS DATE)",
        )
        return str(self._pick(forms))

    def interval(self, depth: int) -> str:
        if depth == 0:
            return str(self._pick(("span", "days", "INTERVAL '1' SECOND", "INTERVAL '2' DAY")))
        forms = (
            f"({self.time(depth - 1)} - {self.time(depth - 1)})",
            f"({self.date(depth - 1)} - {self.date(depth - 1)})",
            f"({self.interval(depth - 1)} {self._pick(('+', '-'))} {self.interval(depth - 1)})",
            f"({self.interval(depth - 1)} * {self._pick(('i', 'b', '3'))})",
            f"(-{self.interval(depth - 1)})",
        )
        return str(self._pick(forms))

    def text(self, depth: int) -> str:
        if depth == 0:
            return str(self._pick(("x", "y", "'a'", "'b'")))
        a = self.text(depth - 1)
        forms = (
            f"({a} || {self.text(depth - 1)})",
            f"{self._pick(('upper', 'lower', 'trim', 'reverse', 'ltrim', 'rtrim', 'btrim'))}({a})",
            f"substr({a}, {self._pick((0, 1, 2, -1, -2))})",
            f"substr({a}, {self._pick((0, 1, 2, -1, -3))}, {self._pick((0, 1, 2, -1))})",
            f"{self._pick(('left', 'right'))}({a}, {self._pick((0, 1, 2, -1))})",
            f"replace({a}, {self._pick(_PATTERNS)}, {self._pick(_PATTERNS)})",
            f"coalesce({a}, {self.text(depth - 1)})",
            f"CASE WHEN {self.truth(depth - 1)} THEN {a} ELSE y END",
            f"CAST({self._pick((*_INTEGERS, 'p', 'm'))} AS STRING)",
            f"TRIM(BOTH 'a' FROM {a})",
        )
        return str(self._pick(forms))

    def truth(self, depth: int) -> str:
        if depth == 0:
            return str(self._pick(("p", "q", "TRUE", "(i > 0)", "(d < 1.5D)")))
        inner = depth - 1
        of_kind = self._pick((self.number,) * 4 + (self.time, self.date, self.interval, self.text))
        compare = self._pick(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        patterns = ("'a%'", "'%b'", "'%b%'", "'_'", "'a_b'", "'%'", "''", "'a\\\\\\\\%'")
        forms: tuple[Callable[[], str], ...] = (
            lambda: f"({of_kind(inner)} {compare} {of_kind(inner)})",
            lambda: f"({of_kind(inner)} {compare} {of_kind(inner)})",
            lambda: f"({of_kind(inner)} {compare} {of_kind(inner)})",
            lambda: f"({self.truth(inner)} {self._pick(('AND', 'OR'))} {self.truth(inner)})",
            lambda: f"(NOT {self.truth(inner)})",
            lambda: f"({of_kind(inner)} IS {self._pick(('', 'NOT '))}NULL)",
            lambda: f"({of_kind(inner)} BETWEEN {of_kind(inner)} AND {of_kind(inner)})",
            lambda: f"({self.number(inner)} {self._pick(('', 'NOT '))}IN (0, 1, 7, 10))",
            lambda: f"(i IN ({', '.join(map(str, range(-9, 20, 2)))}))",
            lambda: f"({self.number(inner)} IN ({self.number(0)}, {self.number(inner)}))",
            lambda: f"({self.text(inner)} IN ('a', 'ab'))",
            lambda: f"({self.text(inner)} {self._pick(('LIKE', 'ILIKE'))} {self._pick(patterns)})",
            lambda: f"({self.text(inner)} RLIKE '^a.?b')",
            lambda: (
                f"{self._pick(('startswith', 'endswith', 'contains'))}({self.text(inner)}, 'a')"
            ),
            lambda: f"isnan({self._pick(('d', 'f', 'e'))})",
            lambda: f"CAST({self.number(inner)} AS BOOLEAN)",
            lambda: f"(m {compare} {self._pick(('1.5', '0', 'i', 'w', 'd'))})",
        )
        return str(self._pick(forms)())

    def anything(self, depth: int) -> str:
        kinds = (self.number,) * 4 + (self.truth,) * 3
        chosen = self._pick((*kinds, self.time, self.date, self.interval, self.text))
        return str(chosen(depth))


_PATTERNS = ("'a'", "''", "'zz'")
_CASTS = (
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(12,2)",
    "DECIMAL(18,4)",
)


def bound(text: str, zone: str = "UTC") -> Expression | None:
    """The expression, if it has a type."""
    select = parse_query(SourceText("expression", f"SELECT {text}"))
    assert isinstance(select, exp.Select)
    scope = Scope.of(SCHEMA, None)
    binder = ExpressionBinder(scope, Catalog(), Settings(timezone=zone), _none)
    try:
        return binder.bind(select.expressions[0].unalias())
    except QueryError:
        return None


def random_expression(seed: int, truth: bool = False) -> tuple[str, Expression]:
    choices = Seeded(seed)
    writer = Writer(choices)
    while True:
        depth = choices.integer(1, 3)
        text = writer.truth(depth) if truth else writer.anything(depth)
        expression = bound(text, choices.pick(("UTC", "UTC", "UTC", "Europe/Paris")))
        if expression is not None:
            return text, expression


def defined(expression: Expression, rows: list[tuple[Any, ...]]) -> tuple[list[Any], Failures]:
    """What each row is worth by definition."""
    failures = Failures()
    evaluate = Compiler(_none)(expression)
    around = Surroundings(None, _none, failures)
    return [evaluate(row, around) for row in rows], failures


def _none(*_: object) -> Any:
    raise AssertionError("there are no subqueries and no functions of users")
