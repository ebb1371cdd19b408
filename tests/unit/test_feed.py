"""Rows handed over by a program: judged alike as rows and as columns, found again later."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from thalweg.catalog import Stream
from thalweg.errors import QueryError, SourceText
from thalweg.intake.feed import Fed, Feed
from thalweg.intake.slices import Cursor, Slice
from thalweg.intake.spooled import Handed, Spool, SpooledReader
from thalweg.program import bind_script
from thalweg.units import Unit
from thalweg.vector.column import rows_of

NAMES = ("id", "f", "d", "s", "day", "ts", "list")
SCRIPT = """
CREATE STREAM S (id INT NOT NULL, f FLOAT, d DOUBLE, s STRING, day DATE, ts TIMESTAMP,
  list ARRAY<INT>) TIMESTAMP BY ts SLACK 2 SECONDS FROM memory();
CREATE STREAM Beside (x INT) UNIT MILLISECOND FROM memory();
"""
START = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


def second(number: float) -> dt.datetime:
    return START + dt.timedelta(seconds=number)


ROWS: list[tuple[Any, ...]] = [
    (1, 0.1, 0.1, "é", START.date(), second(5), [1, None]),
    (2, None, 7, None, None, second(4), None),
    (None, 1.0, 1.0, "no id", None, second(5), []),
    (3, 1.0, math.nan, "late", None, second(2.5), []),
    (2**40, 1.0, 1.0, "too large", None, second(5), []),
    (4, 1.0, -0.0, "no time", None, None, []),
    (5, 1.0, 2.5, "last", None, second(6), [3]),
]


def streams() -> dict[str, Stream]:
    catalog = bind_script(SourceText("feed", SCRIPT)).catalog
    return {stream.name: stream for stream in catalog.streams()}


def feed_of(folder: Path, name: str) -> Feed:
    return Feed(streams()[name], Spool(folder), Unit.MICROSECOND)


def read(folder: Path, name: str) -> Slice:
    reader = SpooledReader(folder, streams()[name])
    return reader.read(Cursor(), 1000)


def shown(part: Slice) -> str:
    rows = list(rows_of(part.rows.columns, len(part.rows)))
    position = part.rows.position
    assert position is not None
    places = [reject.place for reject in part.rejects]
    return repr((rows, part.rows.start.tolist(), position.tolist(), part.late, places))


def test_rows_and_tables_are_judged_alike(tmp_path: Path) -> None:
    dictionaries = [dict(zip(NAMES, row, strict=True)) for row in ROWS]
    schema = pa.schema(
        {
            "ID": pa.int64(),
            "f": pa.float64(),
            "d": pa.float64(),
            "s": pa.string(),
            "day": pa.date32(),
            "ts": pa.timestamp("ms", "UTC"),
            "list": pa.list_(pa.int32()),
            "more": pa.int8(),
        }
    )
    table = pa.table([*map(list, zip(*ROWS, strict=True)), [0] * len(ROWS)], schema=schema)
    expected = Fed(3, 1, 3)
    assert feed_of(tmp_path / "tuples", "S").rows(ROWS, None) == expected
    assert feed_of(tmp_path / "dictionaries", "S").rows(dictionaries, None) == expected
    assert feed_of(tmp_path / "table", "S").table(table, None) == expected
    halves = feed_of(tmp_path / "halves", "S")
    halves.table(table.slice(0, 3), None)
    halves.rows(ROWS[3:], None)
    outcomes = {shown(read(path, "S")) for path in sorted(tmp_path.iterdir())}
    assert len(outcomes) == 1


def test_times_come_beside_the_rows(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "Beside")
    assert feed.rows([(np.int64(1),), {"X": 2}], at=[7, 8]) == Fed(2, 0, 0)
    table = pa.table({"x": [3, 4]})
    assert feed.table(table, at=dt.datetime(1970, 1, 1, 0, 0, 0, 9000)) == Fed(2, 0, 0)
    assert feed.rows([(5,)], at=8) == Fed(0, 1, 0)
    part = read(tmp_path, "Beside")
    assert part.rows.start.tolist() == [7, 8, 9, 9]
    assert [row.values for row in part.late] == [(5,)]


def test_a_promise_makes_what_is_before_it_late(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "S")
    feed.advance(second(10))
    assert feed.rows([(1, None, None, None, None, second(9), None)], None) == Fed(0, 1, 0)
    feed.advance(second(1))  # promises nothing new
    again = feed_of(tmp_path, "S")  # another process goes on
    assert again.rows([(1, None, None, None, None, second(10), None)], None) == Fed(1, 0, 0)
    assert again.handed.seen == 2
    micros = int(second(12).timestamp()) * 1_000_000
    assert read(tmp_path, "S").cursor.largest == micros  # the promise, and the slack


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(1, 2)], "2 values for 1 columns"),
        (["text"], "a row is a tuple, a list or a dictionary, not str"),
        ([{"y": 1}], '"Beside" has no column "y"'),
    ],
)
def test_what_is_not_a_row_is_refused(tmp_path: Path, rows: Any, message: str) -> None:
    feed = feed_of(tmp_path, "Beside")
    with pytest.raises(QueryError, match=message):
        feed.rows(rows, at=1)
    assert feed.handed == Handed()


@pytest.mark.parametrize("instant", [2**63 - 1, 2**70, -(2**63)])
def test_an_instant_beyond_the_end_of_time_is_refused(tmp_path: Path, instant: int) -> None:
    feed = feed_of(tmp_path, "Beside")
    feed.rows([(1,)], np.int64(5))
    table = pa.table({"x": pa.array([1], pa.int32())})
    for refused in (
        lambda: feed.advance(instant),
        lambda: feed.rows([(1,)], instant),
        lambda: feed.table(table, instant),
    ):
        with pytest.raises(QueryError, match="beyond the end of time"):
            refused()
    assert feed.table(table, 6) == Fed(1, 0, 0)
    feed.advance(2**63 - 2)
    assert feed.table(table, 7) == Fed(0, 1, 0)


def test_no_time_of_pandas_is_null(tmp_path: Path) -> None:
    row = (1, None, None, None, None, pd.NaT, None)
    assert feed_of(tmp_path, "S").rows([row], None) == Fed(0, 0, 1)  # as NULL would be


def test_a_name_that_is_no_text_is_no_column(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match='has no column "1"'):
        feed_of(tmp_path, "Beside").rows([{1: 2}], 5)


def test_a_block_that_is_lost_is_told(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "Beside")
    for time in range(3):
        feed.rows([(time,)], time)
    (tmp_path / "1").unlink()
    reader = SpooledReader(tmp_path, streams()["Beside"])
    with pytest.raises(FileNotFoundError):
        reader.read(Cursor(limit=3), 1000)
