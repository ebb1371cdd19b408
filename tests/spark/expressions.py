"""Compare one expression's value and type in Thalweg with Spark SQL's.

Intervals are compared by length: Spark has a type for each range of units (HOUR,
DAY TO MINUTE, …) where Thalweg has three.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from thalweg.errors import QueryError
from thalweg.functions.cast import interval_text
from thalweg.functions.registry import Failure
from thalweg.python_values import from_python
from thalweg.testing import evaluate_expression
from thalweg.types import YEAR_MONTH, Type


class Without(Enum):
    """An expression that has no value."""

    REFUSED = "refused"
    FAILED = "failed"


def in_spark(spark: SparkSession, text: str) -> tuple[Any, str]:
    """(value, type) by Spark."""
    try:
        frame = spark.sql(f"SELECT {text} AS x")
    except PySparkException:
        return Without.REFUSED, ""
    type_ = frame.schema[0].dataType.simpleString()
    if "year" in type_ or "month" in type_:
        frame = frame.selectExpr("CAST(x AS STRING)")  # PySpark cannot collect these
    try:
        return frame.collect()[0][0], type_
    except Exception:
        return Without.FAILED, type_


def in_thalweg(text: str, timezone: str) -> tuple[Any, str, Type | None]:
    try:
        outcome = evaluate_expression(text, timezone=timezone)
    except (QueryError, Failure):
        return Without.REFUSED, "", None
    shown = str(outcome.type).replace(", ", ",").replace(": ", ":")
    value = Without.FAILED if outcome.failures else outcome.value
    return value, shown.lower(), outcome.type


def disagreement(text: str, theirs: Any, their_type: str, timezone: str) -> str | None:
    """What differs between Spark's answer and Thalweg's, or None.

    A constant that cannot be converted is refused by Thalweg when the query is
    bound and fails in Spark when it runs: both count as a failure.
    """
    mine, my_type, type_ = in_thalweg(text, timezone)
    if isinstance(theirs, Without) or isinstance(mine, Without):
        agrees = (
            isinstance(theirs, Without)
            and isinstance(mine, Without)
            and (mine, theirs) != (Without.FAILED, Without.REFUSED)
        )
        return None if agrees else f"{text}: Spark {theirs!r}, Thalweg {mine!r}"
    if _known_type(their_type) != my_type:
        return f"{text}: Spark's type is {their_type}, Thalweg's {my_type}"
    assert type_ is not None
    if type_ == YEAR_MONTH:
        mine = None if mine is None else interval_text(mine, type_)
        same = mine == theirs
    else:
        same = _same(from_python(_plain(theirs), type_), from_python(mine, type_))
    return None if same else f"{text}: Spark gives {theirs!r}, Thalweg {mine!r}"


def _known_type(spark_type: str) -> str:
    """The name of the type that Thalweg has for one of Spark's."""
    if spark_type.startswith("interval ") and spark_type != "interval day":
        months = "year" in spark_type or "month" in spark_type
        return "interval year to month" if months else "interval day to second"
    return spark_type.lower()


def _plain(value: Any) -> Any:
    """Rows as lists, byte arrays as bytes."""
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        close = math.isclose(a, b, rel_tol=1e-12) and math.copysign(1, a) == math.copysign(1, b)
        return (a != a and b != b) or close
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)
