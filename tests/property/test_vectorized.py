"""A function of values and the same function of whole columns answer equally, everywhere."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from both_forms import FUNCTIONS, MergingRange, Range, RangeOfColumns
from test_compiled import Uncompiled

from thalweg import vectorized
from thalweg.errors import QueryErrors, SourceText
from thalweg.group_value import begun_state
from thalweg.program import Program, bind_script
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.feeds import FeedRow, Feeds
from thalweg.types import BIGINT, BINARY, DATE, DOUBLE, STRING, Type, array
from thalweg.vector.column import from_values
from thalweg.vector.python_columns import call_on_columns

CELLS = (
    (1.5, -1.0, 4.0, float("nan")),
    (0, 1, 2, 3, 2**31 - 1),
    ("a", "bc", "", "ä"),
    (0, 1, 365, -1),
)
QUERIES = (
    "SELECT ISTREAM(k, scaled(x, n) AS y, increased(n) AS m) FROM S [NOW]",
    "SELECT ISTREAM(k, root(scaled(x, 2)) AS y, shouted(s) AS t) FROM S [NOW]"
    " WHERE coalesce(increased(n), 0) < 4 AND shouted(s) <> 'A!'",
    "SELECT day_after(d) AS d, listed(n, s) AS l FROM S [RANGE 2 SECONDS]",
    "SELECT k, wide(n, s) AS w, count(*) AS c FROM S [RANGE 3 SECONDS] GROUP BY k",
    "SELECT wide(DISTINCT n, s) AS w FROM S [TUMBLE 3 SECONDS]",
    "SELECT k, wide(n, s) AS w, sum(n) AS t FROM S [HOP 6 SECONDS, 2 SECONDS] GROUP BY k",
    "SELECT wide(n, s) FILTER (WHERE x > 0) AS w FROM S [TUMBLE 4 SECONDS] WHERE k = 1",
    "SELECT shouted(s) AS t, wide(increased(n), s) FILTER (WHERE x > 0) AS w"
    " FROM S [ROWS 4] GROUP BY shouted(s)",
)


def program(columns: bool, aggregate: type[object]) -> Program:
    """The queries over functions of values, or of columns."""

    def path(code: Callable[..., object]) -> str:
        return f"{code.__module__}:{code.__qualname__}"

    statements = ["CREATE STREAM S (k INT, x DOUBLE, n INT, s STRING, d DATE) FROM memory()"]
    for name, (parameters, returns, *forms) in FUNCTIONS.items():
        form = path(forms[columns])
        statements.append(f"CREATE FUNCTION {name}({parameters}) RETURNS {returns} AS '{form}'")
    form = path(aggregate)
    statements.append(f"CREATE AGGREGATE wide(n INT, s STRING) RETURNS BIGINT AS '{form}'")
    statements += [f"CREATE QUERY q{i} AS {text}" for i, text in enumerate(QUERIES)]
    return bind_script(SourceText("script", ";\n".join(statements)), (Path(__file__).parent,))


def feeds(seed: int) -> Feeds:
    rng = random.Random(seed)
    time, rows = 0, []
    for _ in range(rng.randrange(3, 25)):
        time += rng.choice((0, 0, 1, 2))
        cells = (None if rng.random() < 0.15 else rng.choice(some) for some in CELLS)
        rows.append(FeedRow((rng.randrange(2), *cells), time))
    return Feeds({"S": rows})


@pytest.mark.parametrize("part", range(4))
def test_both_forms_answer_equally(part: int) -> None:
    by_values = program(False, Range)
    engines = (
        reference,
        batched(1),
        batched(5, 3, restarts=True),
        batched(1000, 2),
        batched(1000, 2, store=Uncompiled()),
    )
    for seed in range(part, 40, 4):
        by_columns = program(True, (RangeOfColumns, MergingRange)[seed // 4 % 2])
        given = feeds(seed)
        expected = reference(by_values, given)
        assert expected.failures.noted or len(given.streams["S"]) < 12
        for engine in engines:
            actual = engine(by_columns, given)
            for query in by_values.catalog.queries():
                wrong = differences(
                    expected.answers[query.name], actual.answers[query.name], query.plan.schema
                )
                assert not wrong, f"seed {seed}, {query.name}\n" + "\n".join(wrong)
            assert set(actual.failures.noted) == set(expected.failures.noted), f"seed {seed}"


def test_rows_are_merged_where_windows_move_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[int] = []

    def counted(*given: Any) -> bytes:
        began.append(given[-1])
        return begun_state(*given)

    monkeypatch.setattr("thalweg.assembly.begun_state", counted)
    batched(1000, 2)(program(True, RangeOfColumns), feeds(1))
    assert not began
    batched(1000, 2)(program(True, MergingRange), feeds(1))
    assert began


def test_a_wrong_length_is_told_and_changes_no_answer() -> None:
    """By definition a function is what it gives for single rows."""
    script = """
    CREATE STREAM S (n BIGINT) FROM memory();
    CREATE FUNCTION beginning(n BIGINT) RETURNS BIGINT AS 'test_vectorized:beginning';
    CREATE QUERY q AS SELECT beginning(n) AS n FROM S
    """
    bound = bind_script(SourceText("script", script), (Path(__file__).parent,))
    given = Feeds({"S": [FeedRow((n,), 1) for n in (3, 1, 2)]})
    actual = batched(10)(bound, given)
    assert sorted(c.values for c in actual.answers["q"]) == [(1,), (2,), (3,)]
    reasons = {reason for _, reason, _ in actual.failures.noted}
    assert reasons == {"gave 1 value for 3 rows", "gave 1 value for 2 rows"}


@vectorized
def beginning(n: Any) -> Any:
    return n[:1]


def test_a_column_is_needed() -> None:
    script = "CREATE FUNCTION f() RETURNS BIGINT AS 'test_vectorized:beginning'"
    with pytest.raises(QueryErrors, match="no parameters"):
        bind_script(SourceText("script", script), (Path(__file__).parent,))


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        (DOUBLE, [1.5, True]),
        (BIGINT, [1, True, 2.0]),
        (BIGINT, [2**63, 1]),
        (DATE, [dt.date(2026, 1, 1), dt.datetime(2026, 1, 1, 5)]),
        (BINARY, ["a", b"b"]),
        (STRING, ["\ud800", "a"]),
        (array(BIGINT), [[1], [True]]),
        (DOUBLE, [np.float32(0.1), 0.1]),
    ],
)
def test_a_value_does_not_depend_on_those_beside_it(type_: Type, values: list[Any]) -> None:
    def given(numbers: pa.Array) -> list[Any]:
        return [values[number] for number in numbers.to_pylist()]

    def ignore(error: BaseException, row: list[Any]) -> None:
        """It is NULL then."""

    def called(numbers: list[int]) -> list[Any]:
        column = from_values(numbers, BIGINT)
        return call_on_columns(given, (column,), len(numbers), type_, ignore).values()

    together = called([*range(len(values))])
    assert together == [value for number in range(len(values)) for value in called([number])]
