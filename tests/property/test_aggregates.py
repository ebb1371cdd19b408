"""Every aggregate over every window, on values that are hard to add up, against the reference."""

from __future__ import annotations

import decimal as dec
import random
from typing import Any

import pytest

from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.feeds import FeedRow
from thalweg.testing.query_text import Relation
from thalweg.testing.strategies import Case, StreamCase
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    Field,
    decimal,
)

SHORT, LONG = decimal(8, 2), decimal(38, 6)
COLUMNS = tuple(
    Field(name, type_)
    for name, type_ in (
        ("k", INT),
        ("t", STRING),
        ("o", BOOLEAN),
        ("i", INT),
        ("b", BIGINT),
        ("d", DOUBLE),
        ("f", FLOAT),
        ("m", SHORT),
        ("w", LONG),
        ("a", DATE),
    )
)
ODD = (float("inf"), float("-inf"), float("nan"))
# Sums that cancel, do not fit, have no end or no value.
VALUES: dict[Any, tuple[Any, ...]] = {
    INT: (0, 1, 1, 2, -(2**31), 2**31 - 1),
    BIGINT: (0, 1, 1, 2, -(2**63), 2**63 - 1, 2**62),
    DOUBLE: (0.1, 1.0, 1.0, -1.0, 1e16, -1e16, 1e300, -1e300, 1.7e308, 5e-324, -0.0, *ODD),
    FLOAT: (0.5, 1.5, -0.0, float("inf"), float("nan")),
    SHORT: tuple(dec.Decimal(text) for text in ("0.01", "999999.99", "-999999.99", "1.25")),
    LONG: tuple(
        dec.Decimal(text)
        for text in ("0.000001", "-1.500000", "9" * 32 + ".999999", "-" + "9" * 32 + ".999999")
    ),
    STRING: ("a", "b", "a much longer text", "a much longer word", "", "Ä"),
    BOOLEAN: (True, False),
    DATE: (0, 1, -700_000),
}
NUMBERS = ("i", "b", "d", "f", "m", "w")
SPREADS = ("stddev", "stddev_pop", "variance", "var_pop", "var_samp", "std")
WINDOWS = (
    "[RANGE 3 SECONDS]",
    "[NOW]",
    "[ROWS 3]",
    "[PARTITION BY k ROWS 2]",
    "[UNBOUNDED]",
    "[TUMBLE 3 SECONDS]",
    "[HOP 6 SECONDS, 2 SECONDS]",
    "[RANGE 5 SECONDS SLIDE 3 SECONDS]",
    "[RANGE 1 SECONDS SLIDE 4 SECONDS]",
)


def call(rng: random.Random) -> str:
    distinct = "DISTINCT " if rng.random() < 0.2 else ""
    where = rng.choice((" FILTER (WHERE i > 0)", " FILTER (WHERE o)", "", "", ""))
    match rng.randrange(8):
        case 0:
            return f"count(*){where}"
        case 1:
            return f"count({distinct}{rng.choice(COLUMNS).name}){where}"
        case 2 | 3:
            return f"{rng.choice(('sum', 'avg'))}({distinct}{rng.choice(NUMBERS)}){where}"
        case 4 | 5:
            return f"{rng.choice(('min', 'max'))}({rng.choice(COLUMNS).name}){where}"
        case 6:
            name = rng.choice(("bool_and", "bool_or", "count_if"))
            return f"{name}(o){where}"
    column = rng.choice(("d", "CAST(i AS DOUBLE)", "CAST(b AS DOUBLE)"))
    return f"{rng.choice(SPREADS)}({distinct}{column}){where}"


def some_case(seed: int) -> Case:
    rng = random.Random(seed)
    time, rows = 0, []
    for _ in range(rng.randrange(4, 16)):
        time += rng.choice((0, 0, 1, 1, 2, 7))
        cells = (None if rng.random() < 0.1 else rng.choice(VALUES[c.type]) for c in COLUMNS[1:])
        rows.append(FeedRow((rng.choice((1, 2, None)), *cells), time))
    listing = ", ".join(map(str, COLUMNS))
    relation = Relation("S", COLUMNS, is_stream=True, base=True)
    queries = []
    for number in range(4):
        keys = rng.choice(("", "k", "k", "t", "k, o", "m", "d"))
        calls = ", ".join(call(rng) for _ in range(rng.randrange(1, 4)))
        group = f" GROUP BY {keys}" if keys else ""
        chosen = f"{keys}, {calls}" if keys else calls
        queries.append((f"q{number}", f"SELECT {chosen} FROM S {rng.choice(WINDOWS)}{group}"))
    return Case((StreamCase(relation, f"S({listing})", tuple(rows)),), (), tuple(queries))


@pytest.mark.parametrize("part", range(16))
def test_aggregates_are_their_definition(part: int) -> None:
    for seed in range(part, 320, 16):
        case = some_case(seed)
        program, feeds = case.program(), case.feeds()
        expected = reference(program, feeds)
        for engine in (batched(1, 1), batched(4, 3, restarts=True), batched(1_000_000, 2)):
            actual = engine(program, feeds)
            for query in program.catalog.queries():
                wrong = differences(
                    expected.answers[query.name], actual.answers[query.name], query.plan.schema
                )
                assert not wrong, f"seed {seed}: {case}\n" + "\n".join(wrong)
            assert set(actual.failures.noted) == set(expected.failures.noted)
