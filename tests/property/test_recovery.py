"""Whatever happens to the working state, and wherever a job is stopped: the same records.

`# spec: k_constraints 8.35`, without Spark: the plain functions of a job, with its
memory damaged and its steps cut off at random.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from job_answers import Bags, answers, defined

from thalweg.cql.script import read_script
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.outputs import targets_of
from thalweg.program import Program, bind_script
from thalweg.report import RunReport
from thalweg.run import read_tables
from thalweg.shard import manifest as manifests
from thalweg.shard.arena import Arena, Busy, boot_id
from thalweg.shard.working import places, remove_working_state

SCRIPT = """
CREATE STREAM Trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('trades', rows = 60, rate = 4.0);
CREATE STREAM Quotes (symbol STRING, bid DOUBLE, ask DOUBLE, ts TIMESTAMP)
  TIMESTAMP BY ts FROM generator('quotes', rows = 50, rate = 3.0);
CREATE QUERY large AS SELECT symbol, volume FROM Trades WHERE volume > 1000;
CREATE QUERY both AS SELECT ISTREAM(t.symbol, t.price, q.bid, t.ts, q.ts AS quoted)
  FROM Trades [RANGE 3 SECONDS] t, Quotes [RANGE 3 SECONDS] q WHERE t.symbol = q.symbol;
CREATE QUERY volumes AS SELECT symbol, sum(volume) AS total, count(*) AS n, max(price) AS top
  FROM Trades [HOP 6 SECONDS, 2 SECONDS] GROUP BY symbol;
CREATE QUERY totals AS SELECT count(*) AS n, sum(volume) AS total FROM Trades [RANGE 4 SECONDS];
CREATE QUERY latest AS SELECT symbol, price FROM Trades [PARTITION BY symbol ROWS 1];
CREATE QUERY unquoted AS SELECT t.symbol, t.volume FROM Trades [RANGE 1 SECONDS] t
  LEFT ANTI JOIN Quotes [RANGE 5 SECONDS] q ON t.symbol = q.symbol;
CREATE QUERY chained AS SELECT symbol, count(*) AS n FROM both [RANGE 2 SECONDS] GROUP BY symbol;
CREATE QUERY looks AS SELECT RSTREAM(symbol, n) FROM (
  SELECT symbol, count(*) AS n FROM Quotes [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY symbol);
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("script")
    (folder / "market.cql").write_text(SCRIPT)
    return bind_script(read_script(folder / "market.cql"), (folder,))


@pytest.fixture(scope="module")
def expected(program: Program) -> Bags:
    return defined(program)


def job_of(program: Program, root: Path, rows: int = 5, shards: int = 2) -> PlainJob:
    tables = read_tables(program, RunReport(), None)
    work = work_of(program, root, tables, rows, targets_of(program, None, "jsonl"))
    return PlainJob(replace(work, shards=shards, keeps_answers=True))


def damage(path: Path, random_: random.Random) -> None:
    """One of the things that can happen to a file of working state."""
    match random_.randrange(5):
        case 0:
            path.unlink(missing_ok=True)
        case 1 if path.exists():
            with open(path, "r+b") as file:  # a torn header
                file.seek(random_.randrange(8, 100))
                file.write(random_.randbytes(random_.randrange(1, 60)))
        case 2 if path.exists():
            arena = Arena(path)
            with arena.held(1):
                arena.soil()
        case 3 if path.exists():
            arena = Arena(path)
            with arena.held(1):
                arena.store(["something else"], "a wrong token")
        case _:
            pass


@pytest.mark.parametrize("rows_at_once", [1, 3, 20])
def test_a_batch_taken_in_strides_answers_the_same(
    program: Program, expected: Bags, tmp_path: Path, rows_at_once: int
) -> None:
    work = job_of(program, tmp_path / "job", rows=40).work
    PlainJob(replace(work, rows_at_once=rows_at_once)).run()
    assert answers(program, work.root) == expected


@pytest.mark.parametrize("seed", range(6))
def test_working_state_that_is_damaged_is_rebuilt(
    program: Program, expected: Bags, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(seed)
    monkeypatch.setattr(manifests, "_LEAST_INPUT", random_.choice((1, 20_000, 1 << 20)))
    job = job_of(program, tmp_path, rows=random_.choice((3, 8, 20)))

    def happen(batch: int, shard: int) -> None:
        if random_.random() < 0.4:
            damage(places(job.work.root)[0] / str(shard), random_)

    job.run(happen)
    assert answers(program, tmp_path) == expected
    assert job.rebuilt > 0
    remove_working_state(tmp_path)


class Killed(Exception):
    pass


@pytest.mark.parametrize("seed", range(8))
def test_a_job_that_is_cut_off_anywhere_goes_on_exactly(
    program: Program, expected: Bags, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_ = random.Random(100 + seed)
    monkeypatch.setattr(manifests, "_LEAST_INPUT", random_.choice((1, 20_000, 1 << 20)))
    job = job_of(program, tmp_path, rows=random_.choice((4, 10)))

    def happen(batch: int, shard: int) -> None:
        if random_.random() < 0.25:
            raise Killed

    committed = job.manifests
    while not job.entry.finished:
        try:
            committed = job.manifests
            job.batch(happen)
        except Killed:
            # New processes; a batch that was on is repeated from the last manifests, and
            # sometimes the one before it too: its outlet was done, its commit was not.
            job.manifests = committed
            job.start()
    assert answers(program, tmp_path) == expected
    remove_working_state(tmp_path)


def test_a_batch_that_is_repeated_after_its_outlet_changes_nothing(
    program: Program, expected: Bags, tmp_path: Path
) -> None:
    job = job_of(program, tmp_path, rows=7)
    while not job.entry.finished:
        entry, before = job.entry, job.manifests
        job.batch()
        if entry.batch % 2:
            job.entry, job.manifests = entry, before
            job.batch(flush=True)
    assert answers(program, tmp_path) == expected
    remove_working_state(tmp_path)


def test_only_what_manifests_name_is_kept(
    program: Program, expected: Bags, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "_MOST_INPUTS", 3)
    job = job_of(program, tmp_path, rows=2)
    most = 0
    while not job.entry.finished:
        job.batch()
        most = max(most, len(list((tmp_path / "segments").glob("*"))))
        assert len(list((tmp_path / "state").glob("*"))) <= 3
    assert job.entry.batch > 20
    assert most <= 9
    assert answers(program, tmp_path) == expected
    remove_working_state(tmp_path)


def test_windows_that_turn_over_take_no_more_room(tmp_path: Path) -> None:
    """Rows that have ended leave the stores, also one that several queries share."""
    (tmp_path / "long.cql").write_text(
        """
        CREATE STREAM Trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP)
          TIMESTAMP BY ts FROM generator('trades', rows = 6000, rate = 20.0);
        CREATE STREAM Quotes (symbol STRING, bid DOUBLE, ask DOUBLE, ts TIMESTAMP)
          TIMESTAMP BY ts FROM generator('quotes', rows = 6000, rate = 20.0);
        CREATE QUERY near AS SELECT ISTREAM(t.volume, q.bid, t.ts, q.ts AS quoted)
          FROM Trades [RANGE 1 SECONDS] t, Quotes [RANGE 1 SECONDS] q, Quotes [NOW] n
          WHERE t.symbol = q.symbol AND t.symbol = n.symbol;
        CREATE QUERY far AS SELECT t.symbol, count(*) AS n
          FROM Trades [RANGE 2 SECONDS] t, Quotes [RANGE 5 SECONDS] q WHERE t.symbol = q.symbol
          GROUP BY t.symbol;
        """
    )
    program = bind_script(read_script(tmp_path / "long.cql"), (tmp_path,))
    job = job_of(program, tmp_path / "job", rows=400)
    sizes = []
    while not job.entry.draining:
        job.batch()
        sizes.append(job.state_size)
    assert len(sizes) > 20
    assert max(sizes[10:]) < 1.5 * max(sizes[3:10])
    remove_working_state(tmp_path / "job")


# The arena itself


def test_an_arena_keeps_arrays_in_place(tmp_path: Path) -> None:
    one, other = Arena(tmp_path / "a", 1 << 24), Arena(tmp_path / "a", 1 << 24)
    value = {"numbers": np.arange(1000), "texts": pa.array(["x", None, "yz"]), "rest": [1, "two"]}
    with one.held(1):
        one.soil()
        assert one.store(value, "first") > 8000
    with other.held(1):
        found = other.attach("first")
        assert found is not None
        assert found["texts"].to_pylist() == ["x", None, "yz"]
        other.soil()
        found["numbers"][7] = -1
        found["more"] = np.ones(10)
        other.store(found, "second")
    with one.held(1):
        assert one.attach("first") is None
        again = one.attach("second")
        assert again is not None
        assert again["numbers"][7] == -1
        assert again["more"].sum() == 10


def test_an_arena_gives_back_what_was_left_there(tmp_path: Path) -> None:
    one, other = Arena(tmp_path / "a", 1 << 24), Arena(tmp_path / "a", 1 << 24)
    value = {"numbers": np.arange(1000)}
    with one.held(1):
        one.store(value, "first")
        assert one.attach("first") is value
    with other.held(1):
        found = other.attach("first")
        assert found is not None
        other.soil()
        found["numbers"][7] = -1
    with one.held(1):
        assert one.attach("first") is None
    with other.held(1):
        other.store(found, "second")
    with one.held(1):
        assert one.attach("first") is None
        assert one.attach("second")["numbers"][7] == -1
        one.soil()
        one.store([np.zeros(5 << 17)], "large")
        large = one.attach("large")
        one.soil()
        large[0][3] = 1  # in place
    with other.held(1):
        assert other.attach("large") is None


def test_an_arena_that_was_being_changed_is_not_believed(tmp_path: Path) -> None:
    arena = Arena(tmp_path / "a", 1 << 24)
    with arena.held(1):
        arena.store([1], "t")
        arena.soil()
        assert arena.attach("t") is None


def test_an_arena_of_another_boot_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = Arena(tmp_path / "a", 1 << 24)
    with arena.held(1):
        arena.store([1], "t")
    monkeypatch.setattr("thalweg.shard.arena.boot_id", lambda: boot_id()[::-1])
    later = Arena(tmp_path / "a", 1 << 24)
    with later.held(1):
        assert later.attach("t") is None


def test_two_attempts_do_not_share_an_arena(tmp_path: Path) -> None:
    one, other = Arena(tmp_path / "a", 1 << 24), Arena(tmp_path / "a", 1 << 24)
    with one.held(1), pytest.raises(Busy), other.held(0.05):
        pass


@pytest.mark.parametrize("seed", range(20))
def test_an_arena_is_a_dictionary_of_arrays(tmp_path: Path, seed: int) -> None:
    """Arrays that grow, shrink, change in place and vanish, against plain copies."""
    random_ = np.random.default_rng(seed)
    path, expected = tmp_path / "a", dict[int, np.ndarray[tuple[int], np.dtype[np.int64]]]()
    for step in range(30):
        arena = Arena(path, 1 << 26)
        with arena.held(1):
            value = arena.attach(str(step - 1)) if step else {}
            assert value is not None
            assert value.keys() == expected.keys()
            assert all((value[key] == expected[key]).all() for key in value)
            arena.soil()
            for key in random_.integers(0, 8, 3).tolist():
                match random_.integers(3):
                    case 0:
                        value[key] = random_.integers(0, 100, random_.integers(0, 5000))
                    case 1 if key in value:
                        value[key][: len(value[key]) // 2] = step
                    case _:
                        value.pop(key, None)
            arena.store(value, str(step))
            expected = {key: array.copy() for key, array in value.items()}
