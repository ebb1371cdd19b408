"""Every pair of types meets in Thalweg as it does in Spark, or is refused by both."""

from __future__ import annotations

from itertools import product

import pytest
from expressions import known_type
from pyspark.sql import SparkSession

from thalweg.errors import QueryError
from thalweg.testing import evaluate_expression
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_MONTH,
    Field,
    Type,
    array,
    decimal,
    struct,
)

TYPES: dict[str, Type] = {
    "boolean": BOOLEAN,
    "tinyint": TINYINT,
    "smallint": SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "decimal(10,2)": decimal(10, 2),
    "decimal(38,10)": decimal(38, 10),
    "string": STRING,
    "binary": BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "interval day": DAYS,
    "interval day to second": DAY_TIME,
    "interval year to month": YEAR_MONTH,
    "array<int>": array(INT),
    "struct<a:int>": struct(Field("a", INT)),
    "void": NULL,
}
PAIRS = list(product(TYPES, TYPES))


def of_spark(spark: SparkSession, operation: str) -> list[str | None]:
    """The type of each pair, None where it is refused; all pairs in one analysis.

    `Analyzer.execute` leaves what it cannot resolve as it is, where `spark.sql`
    would stop at the first.
    """
    values = {name: "NULL" if name == "void" else f"CAST(NULL AS {name})" for name in TYPES}
    calls = (operation.format(a=values[a], b=values[b]) for a, b in PAIRS)
    columns = ", ".join(f"{call} AS x{i}" for i, call in enumerate(calls))
    state = spark._jsparkSession.sessionState()
    analyzed = state.analyzer().execute(state.sqlParser().parsePlan(f"SELECT {columns}"))
    found = [analyzed.projectList().apply(i) for i in range(len(PAIRS))]
    return [known_type(e.dataType().simpleString()) if e.resolved() else None for e in found]


def of_thalweg(operation: str, left: Type, right: Type) -> str | None:
    row = {"a": (left, None), "b": (right, None)}
    try:
        type_ = evaluate_expression(operation.format(a="a", b="b"), row).type
    except QueryError:
        return None
    return str(type_).lower().replace(": ", ":")


@pytest.mark.spark
@pytest.mark.parametrize(
    "operation",
    [
        *(f"{{a}} {symbol} {{b}}" for symbol in ("+", "-", "*", "/", "%", "=", "<")),
        "coalesce({a}, {b})",
        "greatest({a}, {b})",
        "concat({a}, {b})",
        "{a} div {b}",
        "{a} & {b}",
        "{a} AND {b}",
        "{a} IN ({b})",
        "if({a}, {b}, {b})",
        "nullif({a}, {b})",
        "array({a}, {b})",
        "array_append(array({a}), {b})",
        "array_contains(array({a}), {b})",
    ],
)
def test_types_meet_as_in_spark(spark: SparkSession, operation: str) -> None:
    wrong = []
    for (a, b), theirs in zip(PAIRS, of_spark(spark, operation), strict=True):
        mine = of_thalweg(operation, TYPES[a], TYPES[b])
        if mine != theirs:
            wrong.append(f"{operation.format(a=a, b=b)}: Spark {theirs}, Thalweg {mine}")
    assert not wrong, "\n".join(wrong)
