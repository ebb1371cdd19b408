"""Every line of cases/*.txt means the same in Thalweg as in Spark SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from expressions import disagreement
from pyspark.sql import SparkSession

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def expressions(path: Path) -> list[str]:
    lines = [line.strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.spark
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_cases_agree_with_spark(spark: SparkSession, path: Path) -> None:
    found = [disagreement(spark, text) for text in expressions(path)]
    assert not (wrong := [line for line in found if line]), "\n".join(wrong)
