"""Live sources by a clock that is turned by hand: what they promise, and when a batch begins."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.cql.script import read_script
from thalweg.errors import QueryErrors, SourceText
from thalweg.intake.live import LiveSource
from thalweg.intake.reading import Cursor, StreamReader
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.outlet.answers import pieces_of, records_of
from thalweg.outlet.aside import read_aside
from thalweg.outlet.begin import has_news
from thalweg.outputs import targets_of
from thalweg.program import Program, bind_script, load_python
from thalweg.reference import Reference
from thalweg.report import RunReport
from thalweg.run import read_inputs

STREAMS = """
CREATE STREAM Busy (k INT, at BIGINT) TIMESTAMP BY at {skew} FROM csv('busy/'{follow});
CREATE STREAM Silent (k INT, at BIGINT) TIMESTAMP BY at {skew} FROM csv('silent/'{follow});
"""
QUERIES = """
CREATE QUERY alone AS SELECT b.k FROM Busy [RANGE 2 SECONDS] b
  LEFT ANTI JOIN Silent [RANGE 2 SECONDS] s ON b.k = s.k;
CREATE QUERY windows AS SELECT k, count(*) AS n FROM Busy [TUMBLE 4 SECONDS] GROUP BY k;
CREATE QUERY total AS SELECT count(*) AS n FROM alone;
CREATE QUERY above AS SELECT b.k FROM Busy [RANGE 2 SECONDS] b
  WHERE b.k > (SELECT min(s.k) FROM Silent [RANGE 2 SECONDS] s WHERE s.k <> b.k);
CREATE QUERY looks AS SELECT RSTREAM(k, n) FROM (
  SELECT k, count(*) AS n FROM Busy [HOP 4 SECONDS, 2 SECONDS] GROUP BY k);
CREATE QUERY counted AS SELECT RSTREAM(count(*) AS n) FROM Busy [HOP 4 SECONDS, 2 SECONDS];
CREATE QUERY last_two AS SELECT k FROM Busy [ROWS 2];
"""
START = 1000


class Scene:
    """A script beside folders that fill up, and the job that runs it; time is in seconds."""

    def __init__(self, folder: Path, script: str, rows: int = 1000) -> None:
        self.folder = folder
        for name in ("busy", "silent"):
            (folder / name).mkdir(exist_ok=True)
        (folder / "live.cql").write_text(script)
        self.program = bind_script(read_script(folder / "live.cql"), (folder,))
        self.now = float(START)
        targets = targets_of(self.program, None, "jsonl")
        work = work_of(self.program, folder / "job", {}, rows, targets)
        work = replace(work, shards=2, keeps_answers=True, begun=self.clock())
        self.job = PlainJob(work, self.clock)

    def clock(self) -> int:
        return int(self.now * 1_000_000)

    def put(self, stream: str, name: str, *rows: tuple[int, int]) -> None:
        text = "".join(f"{k},{at}\n" for k, at in rows)
        (self.folder / stream / name).write_text(text)

    def run(self) -> int:
        """Until there is nothing to do; how many batches it took."""
        batches = 0
        while self.job.begin():
            self.job.batch()
            batches += 1
            assert batches < 50, "it never comes to rest"
        return batches

    def turn(self, seconds: float, step: float = 0.3) -> int:
        """Let time pass; how many batches began."""
        end, batches = self.now + seconds, 0
        while self.now < end:
            self.now = min(end, self.now + step)
            batches += self.run()
        return batches

    def answers(self) -> dict[str, Counter[tuple[object, ...]]]:
        pieces = pieces_of(self.job.work.root)
        return {
            query.name: Counter(
                (change.time, change.sign, *change.values)
                for records in records_of(pieces.get(query.name, []), query.plan.schema)
                for change in records.changes()
            )
            for query in self.program.catalog.queries()
        }


def script(skew: str = "SKEW 1 SECOND", follow: str = ", follow = true") -> str:
    return STREAMS.format(skew=skew, follow=follow) + QUERIES


def expected(folder: Path, text: str) -> dict[str, Counter[tuple[object, ...]]]:
    """What the reference answers on all that is there by now."""
    program = bind_script(SourceText("finite", text), (folder,))
    run = Reference(
        read_inputs(program, RunReport(), None),
        lambda path: load_python(path, program.folders, False),
    )
    return {
        query.name: Counter((c.time, c.sign, *c.values) for c in run.answers(query.plan))
        for query in program.catalog.queries()
    }


def test_a_silent_stream_with_a_skew_blocks_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, script())
    scene.put("busy", "1.csv", (1, 1000), (2, 1001))
    scene.now = 1001.5
    scene.run()
    assert not scene.answers()["alone"]  # of the silent one, 1000 may still come
    scene.turn(1.6)
    assert scene.answers()["alone"] == {(1000, "+", 1): 1, (1001, "+", 2): 1}
    scene.turn(10.0)
    (tmp_path / "silent" / "1.csv").write_text("")
    assert scene.answers() == expected(tmp_path, script("", ""))


def test_without_a_skew_it_blocks(tmp_path: Path) -> None:
    scene = Scene(tmp_path, script(skew=""))
    scene.put("busy", "1.csv", (1, 1000), (2, 1001))
    scene.turn(20.0)
    assert not scene.answers()["alone"]
    scene.put("silent", "1.csv", (5, 1001))
    scene.turn(1.0)
    assert scene.answers()["alone"] == {(1000, "+", 1): 1}


def test_idling_costs_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, script())
    assert scene.turn(30.0) == 0
    scene.put("busy", "1.csv", (1, 1030))
    assert scene.run() == 1
    # Changes at 1030, 1032 and 1033 are let out, and each goes on to the shard of `total`;
    # so are the ends of the window, at 1036.
    assert scene.turn(20.0) <= 10
    assert scene.turn(600.0) == 0
    (tmp_path / "silent" / "1.csv").write_text("")
    assert scene.answers() == expected(tmp_path, script("", ""))


def test_files_are_read_once_in_the_order_in_which_they_are_found(tmp_path: Path) -> None:
    scene = Scene(tmp_path, script())
    scene.put("busy", "b.csv", (1, 1000))
    scene.run()
    assert scene.run() == 0
    scene.put("busy", "a.csv", (2, 1001))
    scene.put("busy", "_hidden.csv", (9, 1001))
    scene.put("busy", "c.csv", (3, 1001))
    scene.run()
    assert scene.job.entry.rows["Busy"] == 3
    scene.turn(20.0)
    assert scene.answers()["last_two"] == {
        (1000, "+", 1): 1,
        (1001, "-", 1): 1,
        (1001, "+", 2): 1,
        (1001, "+", 3): 1,
    }


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_one_reader_goes_on_as_files_are_found(tmp_path: Path, kind: str) -> None:
    """What it has open of files that it knew does not keep it from those found since."""
    folder = tmp_path / "files"
    folder.mkdir()
    text = f"CREATE STREAM S (at BIGINT) TIMESTAMP BY at FROM {kind}('files/', follow = true)"
    program = bind_script(SourceText("script", text), (tmp_path,))
    stream = program.catalog.streams()[0]
    request = replace(program.read_request(stream), found=tmp_path / "found")
    source, reader = LiveSource(request, stream), StreamReader(request, stream, stream.tick)
    cursor, seen, time = Cursor(), [], 0
    rng = random.Random(kind)
    for number in range(12):
        times = list(range(time, time := time + rng.randrange(7)))
        if kind == "parquet":
            pq.write_table(pa.table({"at": pa.array(times, pa.int64())}), folder / f"{number:02d}")
        else:
            line = '{{"at": {}}}\n' if kind == "jsonl" else "{}\n"
            (folder / f"{number:02d}").write_text("".join(map(line.format, times)))
        cursor = source.look(cursor, 0)
        for _ in range(rng.randrange(4)):
            part = reader.read(cursor, rng.randrange(1, 4))
            seen += part.rows.start.tolist()
            cursor = part.cursor
    while not part.at_end:
        part = reader.read(cursor, 3)
        seen += part.rows.start.tolist()
        cursor = part.cursor
    assert seen == list(range(time))


def test_asking_for_news_writes_nothing(tmp_path: Path) -> None:
    """A program asks while the job, in another process, lists what it finds."""
    scene = Scene(tmp_path, script())
    scene.put("busy", "1.csv", (1, 1000))
    scene.turn(5.0)
    lists = {path: path.read_text() for path in scene.job.work.root.rglob("found/*")}
    assert lists
    assert not has_news(scene.job.work, scene.job.entry, 0)
    scene.put("busy", "2.csv", (2, 1001))
    assert has_news(scene.job.work, scene.job.entry, 0)
    assert {path: path.read_text() for path in scene.job.work.root.rglob("found/*")} == lists


@pytest.mark.parametrize("window", ["[RANGE 3 SECONDS]", "[ROWS 3]"])
def test_a_job_is_still_though_a_query_could_speak_at_any_instant(
    tmp_path: Path, window: str
) -> None:
    text = STREAMS.format(skew="", follow=", follow = true")
    scene = Scene(tmp_path, f"{text}CREATE QUERY q AS SELECT RSTREAM(k) FROM Busy {window};")
    scene.put("busy", "1.csv", (1, 1000))
    scene.turn(5.0)
    before = scene.job.entry.batch
    for _ in range(5):
        scene.turn(1.0)
    assert scene.job.entry.batch == before


def test_a_row_below_what_the_clock_promised_is_late(tmp_path: Path) -> None:
    scene = Scene(tmp_path, script())
    scene.put("busy", "1.csv", (1, 1000))
    scene.turn(5.0)  # 1004 is promised, and something was let out at 1003
    scene.put("busy", "2.csv", (2, 1001), (3, 1005))
    scene.turn(20.0)
    late = read_aside(scene.job.work.root).late["Busy"]
    assert [row.values for row in late] == [(2, 1001)]
    assert scene.job.entry.rows["Busy"] == 2


def test_rows_that_wait_in_a_source_are_not_late(tmp_path: Path) -> None:
    """The clock promises only where all was read that was there."""
    scene = Scene(tmp_path, script(), rows=4)
    rows = [(i % 3, START + i) for i in range(40)]
    scene.put("busy", "1.csv", *rows)
    scene.now = START + 100.0
    assert scene.run() >= 10
    assert scene.job.entry.rows["Busy"] == 40
    assert not read_aside(scene.job.work.root).late["Busy"]


@pytest.mark.parametrize("seed", range(6))
def test_a_repeated_batch_reads_what_it_read(tmp_path: Path, seed: int) -> None:
    """Files, the clock and the process change between a batch and its repetition."""
    rng = random.Random(seed)
    scene = Scene(tmp_path, script("SLACK 3 SECONDS SKEW 1 SECOND"), rows=5)
    number = 0
    for _ in range(25):
        scene.now += rng.choice((0.1, 0.3, 1.0))
        if rng.random() < 0.5:
            number += 1
            stream = rng.choice(("busy", "busy", "silent"))
            times = sorted(rng.randrange(int(scene.now), int(scene.now) + 2) for _ in range(4))
            scene.put(stream, f"{number:03d}.csv", *((rng.randrange(3), at) for at in times))
        if not scene.job.begin():
            continue
        if rng.random() < 0.4:
            kept = dict(scene.job.manifests)
            scene.job.batch()
            scene.job.manifests = kept  # Spark had not committed yet
            scene.now += 0.5
            number += 1
            scene.put("busy", f"{number:03d}.csv", (1, int(scene.now)))
            entry = scene.job.entry
            scene.job.start()
            scene.job.entry = replace(entry, batch=entry.batch - 1)
            scene.job.begin()
        scene.job.batch()
    scene.turn(20.0)
    silent = tmp_path / "silent"
    if not any(silent.iterdir()):
        (silent / "1.csv").write_text("")
    assert sum(scene.job.entry.rows.values()) == sum(
        len(path.read_text().splitlines()) for path in tmp_path.glob("*/*.csv")
    )
    assert scene.answers() == expected(tmp_path, script("SLACK 9 SECONDS", ""))


def test_a_live_generator_keeps_pace_with_the_clock(tmp_path: Path) -> None:
    columns = "(symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP) TIMESTAMP BY ts"
    query = "CREATE QUERY q AS SELECT symbol, count(*) AS n FROM S [TUMBLE 2 SECONDS]"
    query += " GROUP BY symbol"
    live = f"CREATE STREAM S {columns} SKEW 0 SECONDS FROM generator('trades', live = true); "
    scene = Scene(tmp_path, live + query)
    scene.run()
    for second in range(1, 6):
        scene.turn(1.0)
        assert scene.job.entry.rows["S"] == pytest.approx(10 * second, abs=15)
    rows = scene.job.entry.rows["S"]
    finite = f"CREATE STREAM S {columns} FROM generator('trades', rows = {rows}, "
    wanted = expected(tmp_path, finite + "start = '1970-01-01 00:16:40'); " + query)
    before = (START + 4) * 1_000_000
    assert _until(scene.answers()["q"], before) == _until(wanted["q"], before)


def _until(changes: Counter[tuple[object, ...]], instant: int) -> dict[object, int]:
    return {change: n for change, n in changes.items() if int(str(change[0])) <= instant}


def test_a_live_generator_may_end(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path,
        "CREATE STREAM S (key BIGINT, ts TIMESTAMP) TIMESTAMP BY ts"
        " FROM generator('numbers', live = true, rows = 25);"
        "CREATE QUERY q AS SELECT count(*) AS n FROM S [RANGE 1 SECOND]",
    )
    scene.turn(10.0)
    assert scene.job.entry.finished
    assert scene.job.entry.rows["S"] == 25


def test_records_become_files_when_there_is_nothing_else_to_do(tmp_path: Path) -> None:
    sink = "CREATE SINK files FROM last_two INTO jsonl('out/');"
    scene = Scene(tmp_path, script() + sink)
    scene.put("busy", "1.csv", (1, 1000), (2, 1001))
    scene.run()
    scene.turn(0.9)
    assert scene.job.entry.unwritten
    assert not list((tmp_path / "out").glob("*.jsonl"))
    scene.turn(10.0)
    assert not scene.job.entry.unwritten
    written = "".join(path.read_text() for path in (tmp_path / "out").glob("*.jsonl"))
    assert written.count("\n") == 2
    assert scene.turn(60.0, step=1.0) < 15


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE STREAM S (at BIGINT) TIMESTAMP BY at SKEW 1 SECOND FROM csv('a')", "is live"),
        ("CREATE TABLE T (k INT) FROM csv('a/', follow = true)", "read once"),
        (
            "CREATE STREAM S (ts TIMESTAMP) TIMESTAMP BY ts"
            " FROM generator('trades', live = true, start = '2026-01-01')",
            "start does not go with live",
        ),
    ],
)
def test_what_cannot_be_live(text: str, message: str) -> None:
    with pytest.raises(QueryErrors, match=message):
        bind_script(SourceText("script", text))


def test_the_reference_needs_an_end(tmp_path: Path) -> None:
    program: Program = bind_script(SourceText("script", script()), (tmp_path,))
    with pytest.raises(Exception, match="is live"):
        read_inputs(program, RunReport(), None)
