"""The query of filter as Spark writes it."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame

SCHEMAS = {
    "R": "id long, status int, bytes long, millis double, user_id long, port int, score double,"
    " method string, path string, ts timestamp"
}

# The most selective first, those on texts last: the best order for who tests row by row.
CONJUNCTS = (
    "status = 200",
    "bytes < 300000",
    "millis > 50",
    "port >= 20000",
    "user_id % 10 < 7",
    "score > 0.2",
    "method = 'GET'",
    "path LIKE '/api/%'",
)


def kept_requests(stream: Callable[[str], DataFrame]) -> DataFrame:
    rows = stream("R")
    for conjunct in CONJUNCTS:
        rows = rows.where(conjunct)
    return rows.select("id", "bytes", "path")
