"""Malformed input of every kind: a clear error, or a reject that is counted and listed.

Never a traceback (the fixture checks that), never a silent loss.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.sinks.whole_file import whole_file

from .conftest import RUN, Command

SCRIPT = """
CREATE STREAM S (name STRING, value INT, ts BIGINT) TIMESTAMP BY ts {clauses}
  FROM {source};
CREATE QUERY q AS SELECT * FROM S;
"""


def write_script(folder: Path, source: str, clauses: str = "") -> str:
    (folder / "s.cql").write_text(SCRIPT.format(source=source, clauses=clauses))
    return "s.cql"


def answers(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "out/q.jsonl").read_text().splitlines()]


def listed(folder: Path, kind: str, name: str = "S") -> list[dict[str, object]]:
    path = folder / "out" / kind / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_missing_script(thalweg: Command) -> None:
    ended = thalweg(*RUN, "nothing.cql")
    assert ended.code == 1
    assert "there is no file nothing.cql" in ended.err


def test_a_folder_as_script(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    ended = thalweg("check", "d")
    assert ended.code == 1
    assert "is a folder" in ended.err


def test_a_script_that_is_not_utf8(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_bytes(b"CREATE QUERY q AS\nSELECT '\xff\xfe' FROM S")
    ended = thalweg("check", "s.cql")
    assert ended.code == 1
    assert "not text in UTF-8" in ended.err
    assert "line 2" in ended.err


def test_a_script_with_zero_bytes(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_bytes(b"CREATE \0 QUERY")
    assert "zero byte" in thalweg("check", "s.cql").err


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(lambda rng: rng.randbytes(10_000_000), id="bytes"),
        pytest.param(lambda rng: b"SELECT ( " * 100_000, id="words"),
        pytest.param(lambda rng: b"(" * 900_000, id="parentheses"),
        pytest.param(lambda rng: b";" * 900_000, id="semicolons"),
        pytest.param(lambda rng: b"'" + b"x" * 900_000, id="quote"),
        pytest.param(lambda rng: b"CREATE QUERY q AS SELECT " + b"1+" * 50_000, id="sum"),
    ],
)
def test_garbage_as_script(thalweg: Command, tmp_path: Path, garbage: object) -> None:
    (tmp_path / "s.cql").write_bytes(garbage(random.Random(1)))  # type: ignore[operator]
    ended = thalweg("check", "s.cql")
    assert ended.code in (0, 1)
    assert len(ended.err) < 20_000
    assert ended.code == 0 or ended.err.startswith("error: ")


def test_a_missing_data_file(thalweg: Command, tmp_path: Path) -> None:
    ended = thalweg(*RUN, write_script(tmp_path, "csv('nothing.csv')"), "--drain")
    assert ended.code == 1
    assert "no file is at 'nothing.csv'" in ended.err
    assert "s.cql:3:12" in ended.err


def test_a_pattern_that_matches_nothing(thalweg: Command, tmp_path: Path) -> None:
    ended = thalweg(*RUN, write_script(tmp_path, "parquet('*.parquet')"), "--drain")
    assert "no file matches '*.parquet'" in ended.err


def test_unreadable_csv_rows(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(
        b"a,1,10\n"
        b"b,two,11\n"  # not a number
        b"c,3\n"  # a column is missing
        b"d,4,12,5\n"  # one too many
        b"\xff\xfe,5,13\n"  # not UTF-8
        b"e,99999999999,14\n"  # does not fit
        b"f,6,\n"  # no event time
        b"\n"
        b'"g\nh",7,15\n'  # a line break inside quotes
        b"i,,16\n"  # a NULL
    )
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv')"), "--out", "out")
    assert ended.code == 0
    assert [row["name"] for row in answers(tmp_path)] == ["a", "g\nh", "i"]
    assert "3 rows, 6 rows rejected" in ended.err
    rejects = listed(tmp_path, "_rejects")
    assert [reject["place"] for reject in rejects] == [
        "s.csv:2",
        "s.csv:3",
        "s.csv:4",
        "s.csv:5",
        "s.csv:6",
        "s.csv:7",
    ]
    reasons = [str(reject["reason"]) for reject in rejects]
    assert "column value: 'two' is not an integer" in reasons
    assert "2 columns instead of 3" in reasons
    assert "the line is not UTF-8" in reasons
    assert "the event time is NULL" in reasons
    assert rejects[-1]["raw"] == "name=f, value=6, ts=NULL"


def test_a_quote_that_is_never_closed(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('a,1,10\n"b,2,11\nc,3,12\n"d"e,4,13\n"f""g",5,14\n')
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv')"), "--out", "out")
    assert ended.code == 0
    assert [row["name"] for row in answers(tmp_path)] == ["a", "c", 'f"g']
    assert listed(tmp_path, "_rejects") == [
        {
            "place": "s.csv:2",
            "reason": "the line cannot be split: ',' expected after '\"'",
            "raw": '"b,2,11',
        },
        {
            "place": "s.csv:4",
            "reason": "the line cannot be split: ',' expected after '\"'",
            "raw": '"d"e,4,13',
        },
    ]


def test_an_unclosed_quote_reaches_neither_the_end_nor_far(
    thalweg: Command, tmp_path: Path
) -> None:
    rows = "".join(f"r{i},{i}\n" for i in range(2, 2500))
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "t.csv").write_text(f'"a,1\n{rows}"b,2500\nc,2501\n')
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="")
        + "CREATE TABLE T (name STRING, x INT) FROM csv('t.csv');"
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert "T: 2499 rows, 2 rows rejected" in ended.err
    assert [
        (reject["place"], reject["reason"]) for reject in listed(tmp_path, "_rejects", "T")
    ] == [
        ("t.csv:1", "the line cannot be split: a quote is not closed within 1000 lines"),
        ("t.csv:2500", "the line cannot be split: a quote is not closed"),
    ]


def test_an_empty_line_of_one_column_is_a_null(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "t.csv").write_text("1\n\n3\n")
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="")
        + "CREATE TABLE T (x INT) FROM csv('t.csv');"
        "CREATE QUERY counted AS SELECT S.name, T.x FROM S, T;"
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert "T: 3 rows\n" in ended.err
    lines = (tmp_path / "out/counted.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["x"] or 0 for line in lines) == [0, 1, 3]


def test_a_header_that_names_a_column_twice(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("name,other,value,Value,other,ts\na,0,1,2,0,10\n")
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv', header = true)"), "--drain")
    assert ended.code == 1
    assert 's.csv has several columns "value"' in ended.err


def test_a_header_that_cannot_be_split(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text('name,"value,ts\na,1,10\n')
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv', header = true)"), "--drain")
    assert ended.code == 1
    assert "the header of s.csv cannot be split: a quote is not closed" in ended.err


def test_a_header_without_the_column(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("name,valeu,ts\na,1,10\n")
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv', header = true)"), "--drain")
    assert ended.code == 1
    assert 's.csv has no column "value"' in ended.err
    assert 'did you mean "valeu"?' in ended.err


def test_unreadable_json_rows(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(
        b'{"name": "a", "value": 1, "ts": 10}\n'
        b"not json\n"
        b"[1, 2]\n"
        b'{"name": "b", "value": "x", "ts": 11}\n'
        b'{"name": "c", "value": 1.5, "ts": 11}\n'
        b'{"name": "\xff", "value": 1, "ts": 12}\n'
        b'{"ts": 13}\n' + b"[" * 100_000 + b"\n"
        b'{"name": {"deep": [1]}, "value": 2.0, "ts": 14}\n'
    )
    ended = thalweg(*RUN, write_script(tmp_path, "jsonl('s.jsonl')"), "--out", "out")
    assert ended.code == 0
    assert [(row["name"], row["value"]) for row in answers(tmp_path)] == [
        ("a", 1),
        (None, None),
        ('{"deep":[1]}', 2),
    ]
    assert len(listed(tmp_path, "_rejects")) == 6


def test_json_that_says_two_things(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(
        '{"name": "a", "value": 1, "value": 2, "ts": 10}\n'
        '{"name": "b", "value": 1, "Value": 2, "ts": 11}\n'
        '{"name": {"x": 1, "x": 2}, "value": 1, "ts": 12}\n'
        '{"name": {"x": 1, "X": 2}, "value": 1, "ts": 13}\n'
        '{"name": "\\ud83d", "value": 1, "ts": 14}\n'
        '{"name": "\\ud83d\\ude00", "VALUE": 1, "ts": 15}\n'
    )
    ended = thalweg(*RUN, write_script(tmp_path, "jsonl('s.jsonl')"), "--out", "out")
    assert ended.code == 0
    assert [row["name"] for row in answers(tmp_path)] == ['{"x":1,"X":2}', "\U0001f600"]
    assert [reject["reason"] for reject in listed(tmp_path, "_rejects")] == [
        'the key "value" is there twice',
        'several keys of the object are "value"',
        'the key "x" is there twice',
        "a text has half a surrogate pair",
    ]


def test_a_parquet_file_with_a_column_twice(thalweg: Command, tmp_path: Path) -> None:
    columns = [pa.array(["a"]), pa.array([1]), pa.array([2]), pa.array([1])]
    for names in (["name", "value", "Value", "ts"], ["name", "value", "value", "ts"]):
        pq.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "s.parquet")
        ended = thalweg(*RUN, write_script(tmp_path, "parquet('s.parquet')"), "--drain")
        assert ended.code == 1
        assert 's.parquet has several columns "value"' in ended.err


def test_parquet_timestamps_of_every_unit(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_text(
        "CREATE STREAM S (at TIMESTAMP, all ARRAY<TIMESTAMP>) TIMESTAMP BY at"
        " FROM parquet('s.parquet');"
        "CREATE QUERY q AS SELECT at, all[0] AS first FROM S;"
    )
    for unit, second in (("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        type_ = pa.timestamp(unit, "UTC")
        times = pa.array([second, 2**62], pa.int64()).cast(type_)
        lists = pa.array([[second], [second]], pa.list_(pa.int64())).cast(pa.list_(type_))
        pq.write_table(pa.table({"at": times, "all": lists}), tmp_path / "s.parquet")
        ended = thalweg(*RUN, "s.cql", "--out", "out")
        assert ended.code == 0, ended.err
        first = answers(tmp_path)[0]
        assert first["at"] == first["first"] == "1970-01-01T00:00:01Z"
        assert len(answers(tmp_path)) + len(listed(tmp_path, "_rejects")) == 2


def test_a_truncated_parquet_file(thalweg: Command, tmp_path: Path) -> None:
    table = pa.table({"name": ["a"] * 1000, "value": [1] * 1000, "ts": range(1000)})
    pq.write_table(table, tmp_path / "s.parquet")
    whole = (tmp_path / "s.parquet").read_bytes()
    (tmp_path / "s.parquet").write_bytes(whole[: len(whole) // 2])
    ended = thalweg(*RUN, write_script(tmp_path, "parquet('s.parquet')"), "--drain")
    assert ended.code == 1
    assert "cannot read s.parquet as Parquet" in ended.err


def test_a_damaged_parquet_file(thalweg: Command, tmp_path: Path) -> None:
    table = pa.table({"name": ["a"] * 1000, "value": [1] * 1000, "ts": range(1000)})
    pq.write_table(table, tmp_path / "s.parquet", compression="gzip")
    data = bytearray((tmp_path / "s.parquet").read_bytes())
    data[20:60] = b"\0" * 40
    (tmp_path / "s.parquet").write_bytes(bytes(data))
    ended = thalweg(*RUN, write_script(tmp_path, "parquet('s.parquet')"), "--drain")
    assert ended.code == 1
    assert "s.parquet" in ended.err


def test_a_parquet_column_of_another_type(thalweg: Command, tmp_path: Path) -> None:
    pq.write_table(pa.table({"name": [1], "value": [1], "ts": [1]}), tmp_path / "s.parquet")
    ended = thalweg(*RUN, write_script(tmp_path, "parquet('s.parquet')"), "--drain")
    assert ended.code == 1
    assert 'column "name" of s.parquet is int64, declared STRING' in ended.err


def test_a_parquet_value_that_does_not_fit(thalweg: Command, tmp_path: Path) -> None:
    table = pa.table({"name": ["a", "b"], "value": [1, 2**40], "ts": [1, 2]})
    pq.write_table(table, tmp_path / "s.parquet")
    ended = thalweg(*RUN, write_script(tmp_path, "parquet('s.parquet')"), "--out", "out")
    assert ended.code == 0
    assert [row["name"] for row in answers(tmp_path)] == ["a"]
    assert [reject["place"] for reject in listed(tmp_path, "_rejects")] == ["s.parquet:2"]


def test_times_that_go_back_beyond_the_slack(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\nb,2,8\nc,3,7\nd,4,12\ne,5,9\n")
    script = write_script(tmp_path, "csv('s.csv')", "SLACK 2 SECONDS")
    ended = thalweg(*RUN, script, "--out", "out")
    assert [row["name"] for row in answers(tmp_path)] == ["b", "a", "d"]
    assert "2 rows late" in ended.err
    assert [row["row"] for row in listed(tmp_path, "_late")] == [
        {"name": "c", "value": 3, "ts": 7},
        {"name": "e", "value": 5, "ts": 9},
    ]


def test_times_beyond_the_range_of_instants(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(f"a,1,{-(2**63)}\nb,1,5\nc,1,{2**43}\nd,1,{2**63 - 1}\n")
    script = write_script(tmp_path, "csv('s.csv')")
    for file_format in ("parquet", "jsonl"):
        ended = thalweg(*RUN, script, "--out", "out", "--format", file_format)
        assert "S: 2 rows, 2 rows rejected" in ended.err
    assert [row["name"] for row in answers(tmp_path)] == ["b", "c"]
    assert [reject["reason"] for reject in listed(tmp_path, "_rejects")] == [
        f"the event time {time} (read as seconds: no UNIT is declared)"
        " does not fit into 64 bits of microseconds"
        for time in (-(2**63), 2**63 - 1)
    ]


def test_ten_megabytes_of_garbage_as_data(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_bytes(random.Random(2).randbytes(10_000_000))
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv')"), "--out", "out")
    assert ended.code == 0
    assert answers(tmp_path) == []
    assert f"{len(listed(tmp_path, '_rejects'))} rows rejected" in ended.err


def test_a_folder_of_files_is_one_stream(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/b.csv").write_text("b,1,5\nc,1,20\n")
    (tmp_path / "d/a.csv").write_text("a,1,10\n")
    ended = thalweg(*RUN, write_script(tmp_path, "csv('d')"), "--out", "out")
    assert [row["name"] for row in answers(tmp_path)] == ["a", "c"]
    assert "1 row late" in ended.err


def test_an_output_folder_that_cannot_be_made(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "out").write_text("a file is in the way")
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv')"), "--out", "out")
    assert ended.code == 1
    assert "cannot write" in ended.err


def test_a_user_function_that_raises(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def half(x):\n    return x // 2 if x != 3 else 1 / 0\n\ndef text(x):\n    return 5\n"
    )
    (tmp_path / "s.csv").write_text("a,2,1\nb,3,2\n")
    (tmp_path / "s.cql").write_text(
        "CREATE STREAM S (name STRING, value INT, ts BIGINT) TIMESTAMP BY ts FROM csv('s.csv');"
        "CREATE FUNCTION half(x INT) RETURNS INT AS 'mine:half';"
        "CREATE FUNCTION text(x INT) RETURNS STRING AS 'mine:text';"
        "CREATE QUERY q AS SELECT name, half(value) AS h, text(value) AS t FROM S;"
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert ended.code == 0
    assert [(row["h"], row["t"]) for row in answers(tmp_path)] == [(1, None), (None, None)]
    assert "3 failed calls" in ended.err
    failures = (tmp_path / "out/_failures/q.jsonl").read_text()
    assert "ZeroDivisionError" in failures


def test_user_code_that_wants_to_end_the_program(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import sys\n"
        "class Silent(Exception):\n    def __str__(self):\n        raise ValueError\n"
        "def leave(x):\n    sys.exit(3)\n"
        "def close(x):\n    raise GeneratorExit\n"
        "def hush(x):\n    raise Silent\n"
        "class Leave:\n    def add(self, x):\n        sys.exit(4)\n"
        "    def result(self):\n        return 1\n"
    )
    (tmp_path / "s.csv").write_text("a,2,1\n")
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="").replace(
            "CREATE QUERY q AS SELECT * FROM S;",
            "CREATE FUNCTION leave(x INT) RETURNS INT AS 'mine:leave';"
            "CREATE FUNCTION close(x INT) RETURNS INT AS 'mine:close';"
            "CREATE FUNCTION hush(x INT) RETURNS INT AS 'mine:hush';"
            "CREATE AGGREGATE gone(x INT) RETURNS INT AS 'mine:Leave';"
            "CREATE QUERY q AS SELECT gone(leave(value)) AS a, gone(close(value)) AS b,"
            " gone(hush(value)) AS c FROM S;",
        )
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert ended.code == 0
    assert [(row["a"], row["b"], row["c"]) for row in answers(tmp_path)] == [(None, None, None)]
    failures = (tmp_path / "out/_failures/q.jsonl").read_text()
    for reason in ('"SystemExit: 3"', '"GeneratorExit: "', '"Silent"', '"SystemExit: 4"'):
        assert f'"reason": {reason}' in failures


def test_a_module_that_ends_the_program_when_imported(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "s.cql").write_text("CREATE FUNCTION f(x INT) RETURNS INT AS 'mine:f';")
    ended = thalweg("check", "s.cql")
    assert ended.code == 1
    assert "cannot import mine" in ended.err
    assert "SystemExit: 0" in ended.err


def test_failures_are_counted_for_each_query(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,2,1\n")
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="").replace("*", "value / 0 AS x")
        + "CREATE QUERY r AS SELECT name, value / 0 AS x FROM S;"
        + "CREATE QUERY t AS SELECT name FROM S;"
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert "q: 1 record, 1 failed call (NULL instead)\n" in ended.err
    assert "r: 1 record, 1 failed call (NULL instead)\n" in ended.err
    assert "t: 1 record\n" in ended.err
    assert len((tmp_path / "out/_failures/r.jsonl").read_text().splitlines()) == 1


def test_compressed_files_are_read(thalweg: Command, tmp_path: Path) -> None:
    import gzip

    (tmp_path / "s.csv.gz").write_bytes(gzip.compress(b"a,1,10\n"))
    thalweg(*RUN, write_script(tmp_path, "csv('s.csv.gz')"), "--out", "out")
    assert [row["name"] for row in answers(tmp_path)] == ["a"]


def test_a_truncated_compressed_file(thalweg: Command, tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(b"".join(b"a,%d,%d\n" % (i, i) for i in range(20_000)))
    (tmp_path / "s.csv.gz").write_bytes(packed[: len(packed) // 2])
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv.gz')"), "--out", "out")
    assert ended.code == 1
    assert "cannot read" in ended.err
    assert not (tmp_path / "out/q.jsonl").exists()


def test_a_location_in_the_home_of_nobody(thalweg: Command, tmp_path: Path) -> None:
    ended = thalweg(*RUN, write_script(tmp_path, "csv('~no-such-user/s.csv')"))
    assert ended.code == 1
    assert "there is no home folder for '~no-such-user/s.csv'" in ended.err


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("jsonl('d')", "it is a folder"),
        ("parquet('/dev/full')", "it is not a regular file"),
        ("csv('s.csv/x.csv')", "s.csv is not a folder"),
        ("csv('~no-such-user/x')", "there is no home folder"),
        ("csv('s.csv')", 'would be written over s.csv, which stream "S" reads'),
        ("csv('link.csv')", 'would be written over s.csv, which stream "S" reads'),
        ("jsonl('d/../other.jsonl')", 'sink "other" and sink "t" go to one file'),
        ("jsonl('out/q.jsonl')", 'the answer of q and sink "t" go to one file'),
        ("jsonl('out/_failures/q.jsonl')", 'the failures of q and sink "t" go to one file'),
    ],
)
def test_an_output_that_cannot_be(
    thalweg: Command, tmp_path: Path, sink: str, message: str
) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "link.csv").symlink_to("s.csv")
    (tmp_path / "d").mkdir()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="")
        + "CREATE SINK other FROM q INTO jsonl('other.jsonl');"
        + f"CREATE SINK t FROM q INTO {sink};"
    )
    ended = thalweg(*RUN, "s.cql", "--out", "out")
    assert ended.code == 1
    assert message in ended.err
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted([*before, "s.cql"])


@pytest.mark.parametrize("name", ["_late", "_rejects", "_failures"])
def test_a_file_in_the_place_of_a_list(thalweg: Command, tmp_path: Path, name: str) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).write_text("")
    ended = thalweg(*RUN, write_script(tmp_path, "csv('s.csv')"), "--out", "out")
    assert ended.code == 1
    assert f"{name} is not a folder" in ended.err


def test_a_link_as_output_stays_a_link(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "link.csv").symlink_to("d/real.csv")
    (tmp_path / "s.cql").write_text(
        SCRIPT.format(source="csv('s.csv')", clauses="")
        + "CREATE SINK t FROM q INTO csv('link.csv');"
    )
    assert thalweg(*RUN, "s.cql").code == 0
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "d/real.csv").read_text().endswith("10,+,a,1,10\n")


def test_nothing_is_left_behind_by_an_interrupt(tmp_path: Path) -> None:
    def write_half() -> None:
        with whole_file(tmp_path / "q.jsonl") as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_that_takes_no_more(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,1,10\n")
    script = write_script(tmp_path, "csv('s.csv')")
    for arguments in ((*RUN, script), ("check", script), ("explain", script, "--json")):
        with open("/dev/full", "wb") as full:
            ended = thalweg(*arguments, stdout=full)
        assert ended.code == 1
        assert "No space left on device" in ended.err


def test_texts_are_shown_as_they_are(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(f"[bold]x[/] :smile: {'long ' * 40},1,10\n")
    script = write_script(tmp_path, "csv('s.csv')")
    ended = thalweg(*RUN, script)
    assert f"+ name=[bold]x[/] :smile: {'long ' * 40}  value=1" in ended.out
    (tmp_path / "s.cql").write_text("CREATE QUERY q AS SELECT '[/] :smile:' FROM [red]")
    assert "SELECT '[/] :smile:' FROM [red]" in thalweg("check", "s.cql").err


def test_many_mistakes_are_not_all_shown(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_text("SET nothing = 1;\n" * 60)
    ended = thalweg("check", "s.cql")
    assert ended.err.count("error:") == 50
    assert ended.err.endswith("and 10 more\n")


def test_a_null_of_a_generator_in_a_column_that_has_none(thalweg: Command, tmp_path: Path) -> None:
    (tmp_path / "s.cql").write_text(
        "CREATE STREAM S (temperature DOUBLE NOT NULL, ts TIMESTAMP) TIMESTAMP BY ts\n"
        "  FROM generator('readings', rows = 500);\n"
        "CREATE QUERY q AS SELECT temperature FROM S WHERE temperature IS NULL;\n"
    )
    assert thalweg(*RUN, "s.cql", "--out", "out").code == 0
    assert answers(tmp_path) == []
    rejects = listed(tmp_path, "_rejects")
    assert rejects
    assert all("NOT NULL" in str(reject["reason"]) for reject in rejects)
