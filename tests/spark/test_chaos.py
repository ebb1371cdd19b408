"""Python workers and whole drivers are killed at random instants: the records stay the same.

Five kills here; `make chaos` sets THALWEG_KILLS to 50.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from thalweg.cql.script import read_script
from thalweg.program import bind_script
from thalweg.run import run_on_reference

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("THALWEG_KILLS", "5"))
KILLS_PER_RUN = 5

SCRIPT = """
CREATE STREAM Trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('trades', rows = 400, rate = 4.0);
CREATE STREAM Quotes (symbol STRING, bid DOUBLE, ask DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('quotes', rows = 300, rate = 3.0);
CREATE STREAM Orders (id INT, symbol STRING, at BIGINT)
  TIMESTAMP BY at UNIT SECOND SLACK 2 SECONDS FROM csv('orders.csv');

CREATE QUERY large AS SELECT symbol, volume FROM Trades WHERE volume > 1000;
CREATE QUERY both AS SELECT ISTREAM(t.symbol, t.price, q.bid, t.ts, q.ts AS quoted)
  FROM Trades [RANGE 3 SECONDS] t, Quotes [RANGE 3 SECONDS] q WHERE t.symbol = q.symbol;
CREATE QUERY volumes AS SELECT symbol, sum(volume) AS total, count(*) AS n, max(price) AS top
  FROM Trades [HOP 6 SECONDS, 2 SECONDS] GROUP BY symbol;
CREATE QUERY totals AS SELECT count(*) AS n, sum(volume) AS total FROM Trades [RANGE 4 SECONDS];
CREATE QUERY latest AS SELECT symbol, price FROM Trades [PARTITION BY symbol ROWS 1];
CREATE QUERY last_three AS SELECT id FROM Orders [ROWS 3];
CREATE QUERY chained AS SELECT symbol, count(*) AS n FROM both [RANGE 2 SECONDS] GROUP BY symbol;
CREATE SINK parts FROM both INTO jsonl('parts/');
"""

QUERIES = ("large", "both", "volumes", "totals", "latest", "last_three", "chained")


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("expected")
    write_script(folder)
    script = read_script(folder / "market.cql")
    run_on_reference(bind_script(script, (folder,)), folder / "out")
    return folder / "out"


def write_script(folder: Path) -> None:
    (folder / "market.cql").write_text(SCRIPT)
    lines = [f"{i},{'ABC'[i % 3]},{i - (5 if i % 17 == 0 else 0)}" for i in range(300)]
    lines[100] = "no order"
    (folder / "orders.csv").write_text("\n".join(lines) + "\n")


class Attempt:
    """A driver in a session of its own, with its JVM and its workers."""

    def __init__(self, folder: Path, rows: int) -> None:
        runner = Path(__file__).with_name("chaos_run.py")
        self._log = folder / "attempts.log"
        self._before = self._log.stat().st_size if self._log.exists() else 0
        places = (folder / name for name in ("market.cql", "checkpoint", "out"))
        with open(self._log, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, runner, *places, str(rows)],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def said(self) -> str:
        return self._log.read_bytes()[self._before :].decode(errors="replace")

    def wait_for(self, text: str, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if text in self.said():
                return True
            if self.process.poll() is not None:
                return text in self.said()
            time.sleep(0.05)
        return False

    def kill(self) -> None:
        """The driver, its JVM and all workers, at once."""
        for pid in (self.process.pid, *descendants(self.process.pid)):
            kill(pid)
        self.process.wait()

    def kill_a_worker(self, random_: random.Random) -> None:
        workers = [pid for pid in descendants(self.process.pid) if b"daemon" in command(pid)]
        # The first is the daemon that forks the others.
        if len(workers) > 1:
            kill(random_.choice(workers[1:]))


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    found = []
    for child in children(pid):
        found += [child, *descendants(child)]
    return found


def children(pid: int) -> list[int]:
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


RUNS = range(-(-KILLS // KILLS_PER_RUN))


@pytest.mark.parametrize("seed", RUNS)
def test_kills_lose_and_double_nothing(expected: Path, tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    write_script(tmp_path)
    rows = random_.choice((8, 12))
    kills = min(KILLS_PER_RUN, KILLS - seed * KILLS_PER_RUN)
    attempt = Attempt(tmp_path, rows)
    while kills:
        assert attempt.wait_for("batch", 120), attempt.said()[-2000:]
        time.sleep(random_.uniform(0.0, 1.5))
        assert attempt.process.poll() is None, attempt.said()[-2000:]
        kills -= 1
        if random_.random() < 0.5:
            attempt.kill_a_worker(random_)
        else:
            attempt.kill()
            attempt = Attempt(tmp_path, rows)
    assert attempt.wait_for("finished", 180), attempt.said()[-2000:]
    attempt.process.wait()
    for query in QUERIES:
        wanted = lines(expected / f"{query}.jsonl")
        assert lines(tmp_path / "out" / f"{query}.jsonl") == wanted, query
    parts = [line for path in (tmp_path / "parts").glob("part-*") for line in lines(path)]
    assert sorted(parts) == lines(expected / "both.jsonl")
    for aside in ("_late/Orders.jsonl", "_rejects/Orders.jsonl"):
        assert (tmp_path / "out" / aside).read_text() == (expected / aside).read_text()


def lines(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())
