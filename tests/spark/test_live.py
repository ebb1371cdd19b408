"""Live sources on Spark: answers by the clock, nothing to do when nothing is due, clean stops."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from thalweg.cql.script import read_script
from thalweg.job.run import BatchDone, Job
from thalweg.job.script import run_on_spark
from thalweg.program import Program, bind_script
from thalweg.report import RunReport

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM Busy (k INT, at BIGINT) TIMESTAMP BY at UNIT MILLISECOND SKEW 500 MILLISECONDS
  FROM csv('busy/', follow = true);
CREATE STREAM Silent (k INT, at BIGINT) TIMESTAMP BY at UNIT MILLISECOND SKEW 500 MILLISECONDS
  FROM csv('silent/', follow = true);
CREATE STREAM Numbers (key BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SKEW 0 SECONDS
  FROM generator('numbers', live = true, rate = 20, rows = 40);
CREATE QUERY alone AS SELECT ISTREAM(b.k) FROM Busy [NOW] b
  LEFT ANTI JOIN Silent [RANGE 2 SECONDS] s ON b.k = s.k;
CREATE QUERY ticks AS SELECT ISTREAM(key) FROM Numbers [NOW];
CREATE SINK alone_files FROM alone INTO jsonl('alone/');
CREATE SINK tick_files FROM ticks INTO jsonl('ticks/');
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    for name in ("busy", "silent"):
        (tmp_path / name).mkdir()
    (tmp_path / "live.cql").write_text(SCRIPT)
    return bind_script(read_script(tmp_path / "live.cql"), (tmp_path,))


def written(folder: Path) -> list[object]:
    paths = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def until(what: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def still(batches: list[BatchDone], seconds: float) -> bool:
    before = len(batches)
    time.sleep(seconds)
    return len(batches) == before


def now() -> int:
    return int(time.time() * 1000)


def put(folder: Path, name: str, *rows: tuple[int, int]) -> None:
    """A file that appears whole."""
    partial = folder / f".{name}"
    partial.write_text("".join(f"{k},{at}\n" for k, at in rows))
    partial.rename(folder / name)


def test_a_live_job(spark: object, program: Program, tmp_path: Path) -> None:
    batches: list[BatchDone] = []
    records: dict[str, int] = {}

    def follow(done: BatchDone) -> None:
        batches.append(done)
        records.update(done.entry.records)

    def first(job: Job) -> None:
        # The silent stream never says a word, and answers come.
        began = now()
        put(tmp_path / "busy", "1.csv", (1, began), (2, began + 1))
        until(lambda: records.get("alone", 0) == 2)
        until(lambda: records.get("ticks", 0) == 40)
        # Records become files though no more follow, and then nothing happens any more.
        until(lambda: len(written(tmp_path / "alone")) == 2)
        until(lambda: len(written(tmp_path / "ticks")) == 40)
        until(lambda: still(batches, 1.5))
        # What is older than the clock allows is late, and takes nothing with it.
        put(tmp_path / "busy", "2.csv", (3, began - 60_000), (4, now()))
        until(lambda: records.get("alone", 0) == 3)
        job.stop()
        job.wait()

    def run(attend: Callable[[Job], None]) -> RunReport:
        return run_on_spark(
            program,
            spark=spark,  # type: ignore[arg-type]
            checkpoint=tmp_path / "checkpoint",
            attend=attend,
            follow=follow,
            shards=2,
        )

    report = run(first)
    assert not report.finished
    assert report.streams["Busy"].late == 1
    assert len(written(tmp_path / "alone")) == 3

    def second(job: Job) -> None:
        put(tmp_path / "busy", "3.csv", (5, now()))
        until(lambda: records.get("alone", 0) == 4)
        job.stop()
        job.wait()

    report = run(second)
    assert report.streams["Busy"].accepted == 4
    assert len(written(tmp_path / "alone")) == 4
    assert len(written(tmp_path / "ticks")) == 40
