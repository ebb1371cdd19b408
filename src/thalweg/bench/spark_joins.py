"""The query of join3 as Spark writes it: a chain of stream-stream joins with watermarks."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

SCHEMAS = dict.fromkeys("CBO", "pid long, ts timestamp, size int")
COLUMNS = ("pid", "c_ts", "b_ts", "o_ts", "size")


def joined_packets(stream: Callable[[str], DataFrame]) -> DataFrame:
    c, b, o = (_renamed(stream(name), name.lower()) for name in "CBO")
    first = c.join(b, F.expr(_within("b"))).select(
        # A second column of event times would make the next join fail.
        *("c_pid", "c_ts", "c_size", F.unix_micros("b_ts").alias("b_us"))
    )
    return first.join(o, F.expr(_within("o"))).select(
        F.col("c_pid").alias("pid"),
        "c_ts",
        F.timestamp_micros("b_us").alias("b_ts"),
        "o_ts",
        F.col("c_size").alias("size"),
    )


def _renamed(frame: DataFrame, prefix: str) -> DataFrame:
    columns = [F.col(name).alias(f"{prefix}_{name}") for name in frame.columns]
    return frame.select(*columns).withWatermark(f"{prefix}_ts", "2 seconds")


def _within(other: str) -> str:
    """Equal packets, seen at the other place at most ten seconds later."""
    return (
        f"c_pid = {other}_pid AND {other}_ts >= c_ts AND {other}_ts <= c_ts + interval 10 seconds"
    )
