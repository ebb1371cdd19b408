"""Every line of cases/*.txt means the same in Thalweg as in Spark SQL.

A line is an expression, a comment, or `SET TIME ZONE '…'` for the lines after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from expressions import disagreements
from pyspark.sql import SparkSession

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
SET_ZONE = re.compile(r"SET TIME ZONE '(.*)'")


def expressions(path: Path) -> Iterator[tuple[str, str]]:
    """(time zone, expression) of each line."""
    zone = "UTC"
    for line in map(str.strip, path.read_text().splitlines()):
        if found := SET_ZONE.fullmatch(line):
            zone = found[1]
        elif line and not line.startswith("#"):
            yield zone, line


@pytest.mark.spark
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases_agree_with_spark(spark: SparkSession, path: Path) -> None:
    wrong: list[str] = []
    for zone, group in groupby(expressions(path), key=lambda case: case[0]):
        wrong += disagreements(spark, [text for _, text in group], zone)
    assert not wrong, "\n".join(wrong)


def test_no_case_stands_there_twice() -> None:
    for path in CASES:
        lines = list(expressions(path))
        assert len(lines) == len(set(lines)), sorted({x for x in lines if lines.count(x) > 1})
