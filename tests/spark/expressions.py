"""Compare one expression's value and type in Thalweg with Spark SQL's.

Intervals are compared by length: Spark has a type for each range of units (HOUR,
DAY TO MINUTE, …) where Thalweg has three.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from py4j import java_gateway, protocol
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

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


@dataclass(frozen=True, slots=True)
class Answer:
    """A value and the name of its type; no value and no type where there is none."""

    value: Any
    type_name: str = ""
    type: Type | None = None


REFUSED, FAILED = Answer(Without.REFUSED), Answer(Without.FAILED)

# Expressions asked of Spark in one query.
BATCH = 50


def disagreements(spark: SparkSession, texts: list[str], timezone: str) -> list[str]:
    """What differs between Spark's answers and Thalweg's.

    Expressions that have a value for Thalweg are asked of Spark many at a time,
    since a query costs more than an expression. Where one of them has none for
    Spark the whole query fails, and each is asked alone.
    """
    spark.conf.set("spark.sql.session.timeZone", timezone)
    with plain_exceptions():
        return list(_disagreements(spark, texts, timezone))


@contextmanager
def plain_exceptions() -> Iterator[None]:
    """Without PySpark's own exceptions: translating one takes longer than a query."""
    translating = java_gateway.get_return_value
    java_gateway.get_return_value = protocol.get_return_value
    try:
        yield
    finally:
        java_gateway.get_return_value = translating


def _disagreements(spark: SparkSession, texts: list[str], timezone: str) -> Iterator[str]:
    mine = {text: in_thalweg(text, timezone) for text in texts}
    theirs: dict[str, Answer] = {}
    valued = [text for text in texts if not isinstance(mine[text].value, Without)]
    for start in range(0, len(valued), BATCH):
        batch = valued[start : start + BATCH]
        theirs |= zip(batch, in_spark(spark, batch) or [], strict=False)
    for text in texts:
        if text not in theirs:
            theirs[text] = alone_in_spark(spark, text)
    for text in texts:
        wrong = disagreement(text, mine[text], theirs[text])
        if wrong:
            yield wrong


def in_spark(spark: SparkSession, texts: list[str]) -> list[Answer] | None:
    """Spark's answers, or None if one of the expressions has none."""
    columns = ", ".join(f"{text} AS x{i}" for i, text in enumerate(texts))
    try:
        return _collected(spark.sql(f"SELECT {columns}"))
    except Exception:
        return None


def alone_in_spark(spark: SparkSession, text: str) -> Answer:
    try:
        frame = spark.sql(f"SELECT {text} AS x0")
    except Py4JJavaError:
        return REFUSED
    try:
        [answer] = _collected(frame)
    except Exception:
        return FAILED
    return answer


def _collected(frame: DataFrame) -> list[Answer]:
    types = [known_type(field.dataType.simpleString()) for field in frame.schema]
    if MONTHS in types:  # PySpark cannot collect intervals of months
        frame = frame.selectExpr(
            *(f"CAST(x{i} AS STRING)" if t == MONTHS else f"x{i}" for i, t in enumerate(types))
        )
    [row] = frame.collect()
    return [Answer(value, type_) for value, type_ in zip(row, types, strict=True)]


def in_thalweg(text: str, timezone: str) -> Answer:
    try:
        outcome = evaluate_expression(text, timezone=timezone)
    except (QueryError, Failure):
        return REFUSED
    if outcome.failures:
        return FAILED
    shown = str(outcome.type).replace(", ", ",").replace(": ", ":")
    return Answer(outcome.value, shown.lower(), outcome.type)


def disagreement(text: str, mine: Answer, theirs: Answer) -> str | None:
    """What differs between two answers, or None.

    A constant that cannot be converted is refused by Thalweg when the query is
    bound and fails in Spark when it runs: both count as a failure.
    """
    bad = (REFUSED, FAILED)
    if mine in bad or theirs in bad:
        agrees = mine in bad and theirs in bad and (mine, theirs) != (FAILED, REFUSED)
        return None if agrees else f"{text}: Spark {theirs.value!r}, Thalweg {mine.value!r}"
    if mine.type_name != theirs.type_name:
        return f"{text}: Spark's type is {theirs.type_name}, Thalweg's {mine.type_name}"
    assert mine.type is not None, "an answer with a value has a type"
    if mine.type == YEAR_MONTH and mine.value is not None:
        same = interval_text(mine.value, mine.type) == theirs.value
    else:
        ours, other = (from_python(_plain(a.value), mine.type) for a in (mine, theirs))
        same = _same(ours, other)
    return None if same else f"{text}: Spark gives {theirs.value!r}, Thalweg {mine.value!r}"


MONTHS = "interval year to month"


def known_type(spark_type: str) -> str:
    """The name of the type that Thalweg has for one of Spark's."""
    if spark_type.startswith("interval ") and spark_type != "interval day":
        return MONTHS if "year" in spark_type or "month" in spark_type else "interval day to second"
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
