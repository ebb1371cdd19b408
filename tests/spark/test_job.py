"""The engine on Spark: a job over real files and generators answers as the reference does."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.cql.script import read_script
from thalweg.job.analyze import analyze_kept
from thalweg.job.script import run_on_spark
from thalweg.program import Program, bind_script
from thalweg.run import run_on_reference

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM Trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('trades', rows = 120, rate = 4.0);
CREATE STREAM Quotes (symbol STRING, bid DOUBLE, ask DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('quotes', rows = 90, rate = 3.0);
CREATE STREAM Orders (id INT, symbol STRING, at BIGINT)
  TIMESTAMP BY at UNIT SECOND SLACK 2 SECONDS FROM csv('orders.csv');
CREATE TABLE Names (symbol STRING, name STRING) FROM csv('names.csv');

CREATE QUERY large AS SELECT symbol, volume FROM Trades WHERE volume > 1000;
CREATE QUERY both AS SELECT ISTREAM(t.symbol, t.price, q.bid, t.ts, q.ts AS quoted)
  FROM Trades [RANGE 3 SECONDS] t, Quotes [RANGE 3 SECONDS] q WHERE t.symbol = q.symbol;
CREATE QUERY volumes AS SELECT symbol, sum(volume) AS total, count(*) AS n, avg(volume) AS mean
  FROM Trades [TUMBLE 5 SECONDS] GROUP BY symbol;
CREATE QUERY totals AS SELECT count(*) AS n, sum(volume) AS total FROM Trades [RANGE 4 SECONDS];
CREATE QUERY highest AS SELECT symbol, max(price) AS top FROM Trades [HOP 6 SECONDS, 2 SECONDS]
  GROUP BY symbol;
CREATE QUERY seen AS SELECT DISTINCT symbol FROM Trades [RANGE 2 SECONDS];
CREATE QUERY latest AS SELECT symbol, price FROM Trades [PARTITION BY symbol ROWS 1];
CREATE QUERY last_three AS SELECT id FROM Orders [ROWS 3];
CREATE QUERY unquoted AS SELECT t.symbol, t.volume FROM Trades [RANGE 1 SECONDS] t
  LEFT ANTI JOIN Quotes [RANGE 5 SECONDS] q ON t.symbol = q.symbol;
CREATE QUERY named AS SELECT n.name, o.id FROM Orders [RANGE 3 SECONDS] o
  LEFT JOIN Names n ON o.symbol = n.symbol;
CREATE QUERY above AS SELECT symbol, price FROM Trades [RANGE 2 SECONDS]
  WHERE price > (SELECT avg(bid) FROM Quotes [RANGE 2 SECONDS]);
CREATE QUERY top AS SELECT symbol, volume FROM Trades [RANGE 3 SECONDS]
  ORDER BY volume DESC LIMIT 2;
CREATE QUERY looks AS SELECT RSTREAM(symbol, n) FROM (
  SELECT symbol, count(*) AS n FROM Orders [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY symbol);
CREATE QUERY chained AS SELECT symbol, count(*) AS n FROM both [RANGE 2 SECONDS] GROUP BY symbol;
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "orders.csv").write_text(
        "1,ACME,100\n2,BOLT,101\n3,ACME,99\n4,CRUX,104\n5,DUNE,90\nx,ACME,105\n6,ACME,106\n"
    )
    (tmp_path / "names.csv").write_text("ACME,Acme Corp\nBOLT,Bolt & Nut\n")
    (tmp_path / "market.cql").write_text(SCRIPT)
    return bind_script(read_script(tmp_path / "market.cql"), (tmp_path,))


@pytest.mark.parametrize("rows", [75, 1_000_000])
def test_a_job_answers_as_the_reference(
    spark: object, program: Program, tmp_path: Path, rows: int
) -> None:
    expected = run_on_reference(program, tmp_path / "expected")
    actual = run_on_spark(
        program,
        tmp_path / "actual",
        spark=spark,
        rows_per_batch=rows,  # type: ignore[arg-type]
        checkpoint=tmp_path / "job",
    )
    assert actual.streams == expected.streams
    assert actual.records == expected.records
    for query in program.catalog.queries():
        wanted, got = (
            (tmp_path / folder / f"{query.name}.jsonl").read_text().splitlines()
            for folder in ("expected", "actual")
        )
        assert sorted(got) == sorted(wanted), query.name
    measured = analyze_kept(program, tmp_path / "job").account
    read = [actual.streams[stream.name].accepted for stream in program.catalog.streams()]
    assert measured.rows == sum(read)
    for aside in ("_late", "_rejects"):
        assert (tmp_path / "actual" / aside / "Orders.jsonl").read_text() == (
            tmp_path / "expected" / aside / "Orders.jsonl"
        ).read_text()
