"""The command line as a user meets it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq

from thalweg.demo.show import demo_program

from .conftest import RUN, Command

SCRIPT = """
CREATE STREAM Trades (symbol STRING, price DECIMAL(8,2), at TIMESTAMP)
  TIMESTAMP BY at FROM csv('trades.csv', header = true);
CREATE QUERY dear AS SELECT symbol, price FROM Trades WHERE price > 10;
CREATE QUERY latest AS SELECT symbol, price AS time FROM Trades [PARTITION BY symbol ROWS 1];
"""
TRADES = "symbol,price,at\nIBM,12.50,1970-01-01 00:00:01\nSUN,,1970-01-01 00:00:02\n"


def write_files(folder: Path) -> None:
    (folder / "t.cql").write_text(SCRIPT)
    (folder / "trades.csv").write_text(TRADES)


def test_json_lines(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    ended = thalweg(*RUN, "t.cql", "--drain", "--out", "out")
    assert ended.code == 0
    lines = (tmp_path / "out/latest.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"time": 1_000_000, "sign": "+", "symbol": "IBM", "time_1": 12.5},
        {"time": 2_000_000, "sign": "+", "symbol": "SUN", "time_1": None},
    ]
    assert list(json.loads(lines[0])) == ["time", "sign", "symbol", "time_1"]


def test_csv(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    thalweg(*RUN, "t.cql", "--drain", "--out", "out", "--format", "csv")
    with (tmp_path / "out/latest.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["time", "sign", "symbol", "time_1"],
            ["1000000", "+", "IBM", "12.50"],
            ["2000000", "+", "SUN", ""],
        ]


def test_parquet(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    thalweg(*RUN, "t.cql", "--drain", "--out", "out", "--format", "parquet")
    table = pq.read_table(tmp_path / "out/dear.parquet")
    assert [str(t) for t in table.schema.types] == ["int64", "string", "string", "decimal128(8, 2)"]
    assert table.column_names == ["time", "sign", "symbol", "price"]
    assert table.num_rows == 1


def test_a_second_run_replaces_the_first(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    thalweg(*RUN, "t.cql", "--out", "out")
    first = (tmp_path / "out/dear.jsonl").read_text()
    thalweg(*RUN, "t.cql", "--out", "out")
    assert (tmp_path / "out/dear.jsonl").read_text() == first
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["dear.jsonl", "latest.jsonl"]


def test_sinks_of_the_script(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    with (tmp_path / "t.cql").open("a") as file:
        file.write("CREATE SINK s FROM dear INTO csv('dear.csv');")
    ended = thalweg(*RUN, "t.cql", "--drain")
    assert ended.out == ""
    assert "latest: 2 records, not written (no sink; --out DIR writes every query)" in ended.err
    assert (tmp_path / "dear.csv").read_text() == ("time,sign,symbol,price\n1000000,+,IBM,12.50\n")


def test_explain_statements_print_plans(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "e.cql").write_text(SCRIPT + "EXPLAIN BOUND dear; EXPLAIN SELECT price FROM dear")
    ended = thalweg("explain", "e.cql", "--query", "dear")
    assert ended.out.count("Stream Trades") == 1
    ended = thalweg(*RUN, "e.cql", "--out", "out")
    assert "Stream Trades (symbol, price, at)" in ended.out
    assert "Query dear (symbol, price)" in ended.out


def test_explain_the_whole_and_its_job(thalweg: Command, tmp_path: Path) -> None:
    """As JSON what golden/plan/global_and_job.cqlt has as text."""
    write_files(tmp_path)
    whole = json.loads(thalweg("explain", "t.cql", "--stage", "global", "--json").out)
    assert [exchange["stream"] for exchange in whole["exchanges"]] == ["Trades", "Trades"]
    assert [query["query"] for query in whole["queries"]] == ["dear", "latest"]
    job = json.loads(thalweg("explain", "t.cql", "--stage", "job", "--query", "dear", "--json").out)
    assert job["intake"][0]["source"] == "csv('trades.csv')"
    assert [sent["for"] for sent in job["intake"][0]["sends"]] == [["dear"]]
    assert job["outlet"] == [{"query": "dear", "to": ["the terminal"]}]


def test_explain_as_json(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    plans = json.loads(thalweg("explain", "t.cql", "--json").out)
    assert [plan["query"] for plan in plans] == ["dear", "latest"]
    root = plans[0]["plan"]
    assert plans[0]["gives"] == "stream"
    assert root["node"] == "Istream"
    assert root["columns"] == [
        {"name": "symbol", "type": "STRING"},
        {"name": "price", "type": "DECIMAL(8,2)"},
    ]
    assert len(root["signature"]) == 16


def test_check_reports_all_mistakes(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "w.cql").write_text(
        SCRIPT
        + "CREATE QUERY a AS SELECT prise, symbl FROM Trades;\n"
        + "CREATE QUERY b AS SELECT FROM Trades;\n"
        + "CREATE QUERY c AS SELECT * FROM a;\n"
        + "SET tiemzone = 'UTC'"
    )
    ended = thalweg("check", "w.cql")
    assert ended.code == 1
    assert ended.err.count("error:") == 4  # the use of the broken query is not one more
    assert 'did you mean "timezone"?' in ended.err


def test_check_of_a_right_script(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    ended = thalweg("check", "t.cql")
    assert (ended.code, ended.out) == (0, "t.cql: no mistakes in 1 stream, 2 queries.\n")


def test_an_unknown_query(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    ended = thalweg("explain", "t.cql", "--query", "daer")
    assert ended.code == 1
    assert 'did you mean "dear"?' in ended.err


def test_golden_scripts_from_the_command_line(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "g.cqlt").write_text(
        "stream S(x int)\n\nquery q\nSELECT x FROM S\n\nfeed S\n1 | 5\n\noutput q\n1 | 6\n"
    )
    ended = thalweg("test", "g.cqlt")
    assert ended.code == 1
    assert "missing:    1 | + | 6" in ended.out
    assert thalweg("test", "--accept", "g.cqlt").code == 0
    assert (tmp_path / "g.cqlt").read_text().endswith("output q\n1 | 5\n")
    assert thalweg("test", ".").code == 0


def test_the_demo_script_fits_into_eighty_columns() -> None:
    _, text = demo_program()
    assert max(map(len, text.splitlines())) <= 76


def test_user_functions_and_aggregates(thalweg: Command, tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / "mine.py").write_text(
        "def shout(text):\n    return text.upper() + '!'\n\n"
        "class Span:\n"
        "    def __init__(self):\n        self.values = []\n"
        "    def add(self, x):\n        self.values += [] if x is None else [x]\n"
        "    def result(self):\n"
        "        return max(self.values) - min(self.values) if self.values else None\n"
    )
    (tmp_path / "u.cql").write_text(
        SCRIPT
        + "CREATE FUNCTION shout(t STRING) RETURNS STRING AS 'mine:shout';"
        + "CREATE AGGREGATE span(x DECIMAL(8,2)) RETURNS DECIMAL(8,2) AS 'mine:Span';"
        + "CREATE QUERY q AS SELECT shout(symbol) AS s, span(price) AS w "
        + "FROM Trades [UNBOUNDED] GROUP BY shout(symbol);"
    )
    thalweg(*RUN, "u.cql", "--out", "out")
    rows = [json.loads(line) for line in (tmp_path / "out/q.jsonl").read_text().splitlines()]
    assert [(row["s"], row["w"]) for row in rows] == [("IBM!", 0.0), ("SUN!", None)]


def test_a_time_zone_holds_for_what_follows(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("1970-01-02 00:00:00\n")
    declaration = "CREATE STREAM {} (at TIMESTAMP) TIMESTAMP BY at FROM csv('s.csv');"
    (tmp_path / "z.cql").write_text(
        declaration.format("Early")
        + "SET timezone = '-01:00';"
        + declaration.format("Late")
        + "SET timezone = '+05:00';"
        + "CREATE QUERY q AS SELECT at FROM Early;"
        + "CREATE QUERY r AS SELECT at FROM Late;"
    )
    thalweg(*RUN, "z.cql", "--out", "out")
    times = [json.loads((tmp_path / f"out/{q}.jsonl").read_text())["time"] for q in ("q", "r")]
    assert times == [86_400_000_000, 90_000_000_000]
