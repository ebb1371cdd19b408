"""The numbers of shards go where Spark's own hash says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from thalweg.job.labels import labels, spark_hash, spread

pytestmark = pytest.mark.spark


def test_the_hash_is_that_of_spark(spark: SparkSession) -> None:
    rows = spark.range(300).selectExpr("hash(cast(id as int)) as hash").collect()
    assert [row["hash"] for row in rows] == [spark_hash(number) for number in range(300)]


@pytest.mark.parametrize(("shards", "partitions"), [(4, 2), (3, 5), (1, 1), (64, 12)])
def test_partitions_are_filled_evenly(shards: int, partitions: int) -> None:
    numbers = spread(shards, partitions)
    assert len(set(numbers)) == shards
    filled = Counter(spark_hash(number) % partitions for number in numbers)
    assert max(filled.values()) - min(filled[owner] for owner in range(partitions)) <= 1


def test_labels_are_chosen_once(tmp_path: Path) -> None:
    assert labels(tmp_path, 4, 2) == labels(tmp_path, 4, 7) == spread(4, 2)
