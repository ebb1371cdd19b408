"""The engine in a Python program: what is fed is answered as the reference answers it."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import thalweg
from thalweg.errors import SourceText
from thalweg.job.run import BatchDone
from thalweg.program import bind_script
from thalweg.testing.engines import reference
from thalweg.testing.feeds import FeedRow, Feeds

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM Trades (symbol STRING, price DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts SLACK 1 SECOND FROM memory();
CREATE STREAM Ticks (n INT) FROM memory();
CREATE TABLE Names (symbol STRING, name STRING) FROM memory();
CREATE QUERY high AS
  SELECT symbol, count(*) AS n, max(price) AS high FROM Trades [RANGE 3 SECONDS] GROUP BY symbol;
CREATE QUERY named AS
  SELECT ISTREAM(n.name, t.price) FROM Trades [NOW] t JOIN Names n ON t.symbol = n.symbol;
CREATE QUERY odd AS SELECT n FROM Ticks WHERE n % 2 = 1;
"""
SECONDS = 300.0  # much more than anything here takes, also on a busy machine
NAMES = [("ACME", "Acme Corp"), ("BOLT", "Bolt & Nut")]
START = dt.datetime(2026, 1, 5, 9, 30)


def instant(second: float) -> dt.datetime:
    return START + dt.timedelta(seconds=second)


def trade(symbol: str | None, price: float, second: float) -> tuple[Any, ...]:
    return symbol, price, instant(second)


TRADES = [
    [trade("ACME", 10, 0), trade("BOLT", 3, 0), trade("ACME", 12, 2)],
    [trade("BOLT", 4, 1.5), trade("ACME", 9, 0.5), trade(None, 1, 3)],  # the second one is late
    [trade("BOLT", 5, 7), trade("BOLT", 5, 7)],
]
TICKS = [(1, 0), (2, 0), (3, 5), (5, 60)]


def expected() -> dict[str, list[tuple[Any, ...]]]:
    """What the reference answers: (time, sign, values) by query."""
    trades = [row for rows in TRADES for row in rows]
    zero = dt.datetime(1970, 1, 1)
    feeds = Feeds(
        {
            "Trades": [
                FeedRow((symbol, float(price), (at - zero) // dt.timedelta(microseconds=1)))
                for symbol, price, at in trades
            ],
            "Ticks": [FeedRow((n,), at) for n, at in TICKS],
        },
        {"Names": NAMES},
    )
    ran = reference(bind_script(SourceText("engine", SCRIPT)), feeds)
    return {name: sorted(map(shown, changes)) for name, changes in ran.answers.items()}


def shown(change: thalweg.Change) -> tuple[Any, ...]:
    return change.time, change.sign, repr(change.values)


def test_fed_streams_are_answered_as_by_the_reference(spark: SparkSession) -> None:
    """Rows as tuples, dictionaries, Arrow and pandas, with promises, until all is closed."""
    seen: list[thalweg.Change] = []
    with thalweg.Engine(spark) as engine:
        engine.execute(SCRIPT)
        assert engine.feed("names", NAMES) == thalweg.Fed(2, 0, 0)
        engine.subscribe("high", lambda answer: seen.extend(answer))
        engine.start()
        columns = ("symbol", "price", "ts")
        first, second, third = ([dict(zip(columns, row, strict=True)) for row in r] for r in TRADES)
        assert engine.feed("Trades", first) == thalweg.Fed(3, 0, 0)
        engine.feed("Ticks", [(n,) for n, _ in TICKS], at=[at for _, at in TICKS])
        engine.catch_up(SECONDS)
        assert [c.values for c in engine.answers("odd")] == [(1,), (3,)]  # 60 may get more rows
        engine.advance("Ticks", 61)
        assert engine.feed("Trades", pa.Table.from_pylist(second)) == thalweg.Fed(2, 1, 0)
        engine.feed("Trades", pd.DataFrame(third))
        engine.advance("Trades", instant(8))
        engine.catch_up(SECONDS)
        assert [c.values for c in engine.answers("odd")] == [(1,), (3,), (5,)]
        assert engine.answers("high").standing().to_pylist() == [
            {"symbol": "BOLT", "n": 2, "high": 5.0}
        ]
        assert engine.fed("Trades") == 8
        engine.close("Trades")
        engine.close("Ticks")
        engine.wait(SECONDS)
        assert engine.report.finished
        assert engine.report.streams["Trades"].late == 1
        found = {name: sorted(map(shown, engine.answers(name))) for name in engine.queries}
        assert found == expected()
        assert sorted(map(shown, seen)) == expected()["high"]


def test_a_stopped_engine_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    rows = [row for some in TRADES for row in some]
    for stage in range(2):
        engine = thalweg.Engine(spark)
        engine.execute(SCRIPT)
        engine.feed("Names", NAMES)
        with engine.start(tmp_path / "kept"):
            done = engine.fed("Trades")
            assert done == (4 if stage else 0)
            engine.feed("Trades", rows[done : done + 4])
            if stage:
                engine.feed("Ticks", [(n,) for n, _ in TICKS], at=[at for _, at in TICKS])
                engine.close("Ticks")
                engine.close("Trades")
                engine.wait(SECONDS)
            else:
                engine.catch_up(SECONDS)
        found = {name: sorted(map(shown, engine.answers(name))) for name in engine.queries}
        assert (found == expected()) == bool(stage)


def test_sinks_and_files_of_a_script(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.csv").write_text("1,5\n2,6\n3,7\n")
    (tmp_path / "script.cql").write_text("""
CREATE STREAM S (at BIGINT, x INT) TIMESTAMP BY at FROM csv('in.csv');
CREATE QUERY q AS SELECT x FROM S WHERE x > 5;
CREATE SINK f FROM q INTO jsonl('out.jsonl');
CREATE SINK c FROM q INTO console();
""")
    with thalweg.Engine(spark) as engine:
        engine.execute_file(tmp_path / "script.cql")
        engine.start(keep_answers=False).wait(SECONDS)
        with pytest.raises(thalweg.QueryError, match="not kept"):
            engine.answers("q")
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 2
    assert capsys.readouterr().out.count("q") >= 2


def test_a_subscriber_that_fails_ends_the_job(spark: SparkSession) -> None:
    def fail(answer: thalweg.Answer) -> None:
        raise ValueError("no room")

    engine = thalweg.Engine(spark)
    engine.execute("CREATE STREAM S (x INT) FROM memory(); CREATE QUERY q AS SELECT x FROM S;")
    engine.subscribe("q", fail)
    engine.start()
    engine.feed("S", [(1,)], at=1)
    engine.close("S")
    with pytest.raises(ValueError, match="no room"):
        engine.wait(SECONDS)


def test_threads_and_subscribers_may_feed_and_stop(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing that was accepted is lost, and nobody waits for himself."""
    engine = thalweg.Engine(spark)
    engine.execute("""
        CREATE STREAM S (n INT, t BIGINT) TIMESTAMP BY t SLACK 100000 SECONDS FROM memory();
        CREATE STREAM Heard (n INT, t BIGINT) TIMESTAMP BY t FROM memory();
        CREATE QUERY every AS SELECT ISTREAM(n) FROM S [NOW];
        CREATE QUERY echoes AS SELECT ISTREAM(n) FROM Heard [NOW];
    """)
    refused: list[str] = []

    def hear(answer: thalweg.Answer) -> None:
        engine.feed("Heard", [(len(answer.changes()), 1)])
        engine.close("Heard")
        try:
            engine.wait()
        except thalweg.QueryError as error:
            refused.append(str(error))
        time.sleep(0.5)
        engine.stop()

    engine.subscribe("every", hear)
    engine.start(tmp_path / "job")

    def feed(first: int) -> None:
        for n in range(first, first + 10):
            engine.feed("S", [(n, n)])

    threads = [threading.Thread(target=feed, args=(first,)) for first in (0, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert engine.fed("S") == 20
    engine.close("S")
    engine.wait(SECONDS)
    assert "cannot wait" in refused[0]
    assert sorted(row["n"] for row in engine.answers("every").to_arrow().to_pylist()) == [
        *range(20)
    ]
    # What was heard is on disk, and comes after the next start.
    engine.start(tmp_path / "job")
    engine.wait(SECONDS)
    assert len(engine.answers("echoes").changes()) == 1


def test_answers_are_there_when_the_engine_has_caught_up(spark: SparkSession) -> None:
    engine = thalweg.Engine(spark)
    engine.execute("""
        CREATE STREAM S (n INT, t BIGINT) TIMESTAMP BY t FROM memory();
        CREATE QUERY one AS SELECT ISTREAM(n) FROM S [NOW];
        CREATE QUERY two AS SELECT ISTREAM(n + 1 AS m) FROM S [NOW];
    """)
    engine.subscribe("one", lambda answer: time.sleep(1))
    with engine.start():
        engine.feed("S", [(1, 1), (2, 2)])
        engine.advance("S", 5)
        engine.catch_up(SECONDS)
        assert len(engine.answers("two").changes()) == 2


def test_a_folder_may_have_another_job_later(spark: SparkSession, tmp_path: Path) -> None:
    """Workers that live on know nothing of the one before."""
    for number, rows in enumerate(([(1,), (2,)], [(3,), (4,), (5,)])):
        engine = thalweg.Engine(spark)
        engine.execute(f"""
            CREATE STREAM S (n INT) FROM memory();
            CREATE QUERY q AS SELECT ISTREAM(n * {number + 1} AS m) FROM S [NOW];
        """)
        engine.start(tmp_path / "job")
        engine.feed("S", rows, at=1)
        engine.close("S")
        engine.wait(SECONDS)
        got = sorted(row["m"] for row in engine.answers("q").to_arrow().to_pylist())
        assert got == [n * (number + 1) for (n,) in rows]
        shutil.rmtree(tmp_path / "job")


def test_an_engine_that_did_not_start_can_be_started(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "s.parquet").write_bytes(b"PAR1 nothing of the kind PAR1")
    engine = thalweg.Engine(spark, folder=tmp_path)
    engine.execute("""
        CREATE STREAM S (n INT, t BIGINT) TIMESTAMP BY t FROM parquet('s.parquet');
        CREATE QUERY q AS SELECT ISTREAM(n) FROM S [NOW];
    """)
    with pytest.raises(thalweg.QueryError, match=r"s\.parquet"), engine:
        engine.start()
    table = pa.table({"n": pa.array([1], pa.int32()), "t": pa.array([1], pa.int64())})
    pq.write_table(table, tmp_path / "s.parquet")
    engine.start()
    engine.wait(SECONDS)
    assert len(engine.answers("q").changes()) == 1


def test_a_batch_that_is_repeated_counts_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between the end of a batch and Spark's own note of it."""
    engine = thalweg.Engine(spark)
    once = engine._after_batch

    def twice(done: BatchDone) -> None:
        once(done)
        once(done)

    monkeypatch.setattr(engine, "_after_batch", twice)
    engine.execute("CREATE STREAM S (x INT) FROM memory(); CREATE QUERY q AS SELECT x FROM S;")
    with engine.start():
        engine.feed("S", [(1,), (2,)], at=[1, 2])
        engine.close("S")
        engine.wait(SECONDS)
    assert [change.values for change in engine.answers("q")] == [(1,), (2,)]
    with pytest.raises(thalweg.QueryError, match="has stopped"):
        engine.feed("S", [(3,)], at=3)


def test_mistakes_say_what_to_do_instead(spark: SparkSession) -> None:
    engine = thalweg.Engine(spark)
    with pytest.raises(thalweg.QueryError, match="no query to run"):
        engine.start()
    with pytest.raises(thalweg.QueryErrors, match='no column "pricee"'):
        engine.execute(SCRIPT + "CREATE QUERY x AS SELECT pricee FROM Trades;")
    assert engine.queries == []  # all of a script, or nothing of it
    engine.execute(SCRIPT)
    for wrong, message in {
        "Trade": "did you mean",
        "odd": 'no stream or table "odd"',
        "Trades": "not been started",
    }.items():
        with pytest.raises(thalweg.QueryError, match=message):
            engine.feed(wrong, [])
    engine.feed("Names", NAMES)
    engine.start()
    with engine:
        with pytest.raises(thalweg.QueryError, match="is running"):
            engine.execute("CREATE QUERY y AS SELECT n FROM Ticks;")
        with pytest.raises(thalweg.QueryError, match='no column "sym"'):
            engine.feed("Trades", [{"sym": "ACME"}])
        with pytest.raises(thalweg.QueryError, match="2 values for 3 columns"):
            engine.feed("Trades", [("ACME", 1.0)])
        with pytest.raises(thalweg.QueryError, match=r"say when its rows are.*at="):
            engine.feed("Ticks", [(1,)])
        with pytest.raises(thalweg.QueryError, match="is a datetime"):
            engine.advance("Trades", 5)
        with pytest.raises(TimeoutError):
            engine.wait(0.1)
        assert engine.feed("Trades", [("ACME", "high", instant(1))]) == thalweg.Fed(0, 0, 1)


def test_a_foreign_session_is_told_of_what_it_lacks(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg.job.engine.shortcomings", lambda spark: "it lacks something")
    with pytest.warns(UserWarning, match="it lacks something"):
        thalweg.Engine(spark)


def test_the_page_about_python_says_what_happens(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parents[2] / "docs" / "python.md"
    program = "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S))
    monkeypatch.setattr(thalweg, "session", lambda master: spark)
    monkeypatch.setattr(spark, "stop", lambda: None)
    exec(compile(program, page.name, "exec"), {})
    expected = re.findall(r"^# > (.*)$", program, re.M)
    assert capsys.readouterr().out.splitlines() == expected


def test_the_first_program_of_the_readme_runs(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text()
    for title, text in re.findall(r"^```[a-z]+ (\S+)\n(.*?)^```$", page, re.M | re.S):
        (tmp_path / title).write_text(text)
    monkeypatch.chdir(tmp_path)
    exec(compile((tmp_path / "vwap.py").read_text(), "vwap.py", "exec"), {"spark": spark})
    printed = capsys.readouterr().out
    assert "12.69" in printed
    assert len(printed.splitlines()) == 1 + 10
