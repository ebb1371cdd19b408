"""Windowed aggregates as Spark writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SCHEMAS = {"S": "pid long, ts timestamp, size int"}
COLUMNS = ("time", "k", "total", "n", "mean")
# Rows are in the order of time; Spark needs some delay to be declared.
DELAY_US = 2_000_000


@dataclass(frozen=True, slots=True)
class WindowedSums:
    """Sum, count and average of each window and key, once a window is over."""

    keys: int
    slide: str | None

    def __call__(self, stream: Callable[[str], DataFrame]) -> DataFrame:
        rows = stream("S").withWatermark("ts", f"{DELAY_US} microseconds")
        window = F.window("ts", "10 seconds", self.slide)
        sums = rows.groupBy(window, (F.col("pid") % self.keys).alias("k")).agg(
            F.sum("size").alias("total"), F.count("*").alias("n"), F.avg("size").alias("mean")
        )
        return sums.select(F.col("window.end").alias("time"), "k", "total", "n", "mean")
