"""Compare one expression's value and type in Thalweg with Spark SQL's."""

from __future__ import annotations

import math
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from thalweg.errors import QueryError
from thalweg.functions.registry import Failure
from thalweg.python_values import from_python
from thalweg.testing import evaluate_expression
from thalweg.types import Type

REFUSED = "refused"
FAILED = "failed"


def in_spark(spark: SparkSession, text: str) -> tuple[Any, str]:
    """(value, type) by Spark; a value of FAILED or REFUSED where it raises."""
    try:
        frame = spark.sql(f"SELECT {text} AS x")
    except PySparkException:
        return REFUSED, REFUSED
    type_ = frame.schema[0].dataType.simpleString().upper()
    try:
        return frame.collect()[0][0], type_
    except Exception:
        return FAILED, type_


def in_thalweg(text: str) -> tuple[Any, str, Type | None]:
    try:
        outcome = evaluate_expression(text)
    except (QueryError, Failure):
        return REFUSED, REFUSED, None
    shown = str(outcome.type).replace(", ", ",").replace(": ", ":")
    return (FAILED if outcome.failures else outcome.value), shown.upper(), outcome.type


def disagreement(spark: SparkSession, text: str) -> str | None:
    """What differs between the two, or None.

    A constant that cannot be converted is refused by Thalweg when the query is
    bound and fails in Spark when it runs: both count as a failure.
    """
    theirs, their_type = in_spark(spark, text)
    mine, my_type, type_ = in_thalweg(text)
    bad = (FAILED, REFUSED)
    if theirs in bad or mine in bad:
        agrees = theirs in bad and mine in bad and (mine != FAILED or theirs != REFUSED)
        return None if agrees else f"{text}: Spark {theirs!r}, Thalweg {mine!r}"
    if their_type != my_type:
        return f"{text}: Spark's type is {their_type}, Thalweg's {my_type}"
    assert type_ is not None
    if not _same(from_python(_plain(theirs), type_), from_python(mine, type_)):
        return f"{text}: Spark gives {theirs!r}, Thalweg {mine!r}"
    return None


def _plain(value: Any) -> Any:
    """Rows as lists, byte arrays as bytes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or a == b or math.isclose(a, b, rel_tol=1e-12)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
