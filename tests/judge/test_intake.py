"""How many rows of a file enter, are late or are rejected, counted by DuckDB too."""

from __future__ import annotations

import pytest

from thalweg.report import RunReport, StreamCounts
from thalweg.run import read_inputs

from .court import Judge, bound, filled_in, needs_data
from .queries import CASES

# The case that declares the stream, its file in DuckDB, its event time, its slack in seconds.
STREAMS = (
    ("requests_half_a_minute_late_at_most", "web/apache_access.parquet", "ts", 30),
    ("last_requests_without_slack", "web/apache_access.parquet", "ts", 0),
    ("all_requests_in_a_minute_of_slack", "web/apache_access.parquet", "ts", 60),
    ("departures_late_or_without_a_time", "web/flights_nyc_201301.parquet", "ts_dep", 1200),
    ("pickups_too_late_for_their_slack", "moving/taxi_nyc_20130101.parquet", "pickup_ts", 600),
    (
        "labels_as_a_stream_with_late_rows",
        "sensors/nab_anomaly_windows.csv",
        "anomaly_start",
        300 * 86_400,
    ),
)


@needs_data
@pytest.mark.parametrize(("name", "file", "time", "slack"), STREAMS, ids=[s[0] for s in STREAMS])
def test_late_and_rejected_rows(name: str, file: str, time: str, slack: int) -> None:
    [case] = [case for case in CASES if case.name == name]
    report = RunReport()
    read_inputs(bound(case), report, None)
    sql = f"""
        WITH f AS (SELECT {time} AS t, row_number() OVER () AS n FROM '{{data}}/{file}'),
             k AS (SELECT t, max(t) OVER (
                     ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest FROM f)
        SELECT count(*) FILTER (latest IS NULL OR t >= latest - to_seconds($slack)),
               count(*) FILTER (t < latest - to_seconds($slack)),
               count(*) FILTER (t IS NULL)
        FROM k
    """
    _, [counts] = Judge().ask(filled_in(sql), {"slack": slack})
    assert list(report.streams.values()) == [StreamCounts(*counts)]
