"""Decisions of a job: kept beside it, listed by a command, and without a part in any answer."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from thalweg.adapt.choices import Adaptation
from thalweg.cql.script import read_script
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.outlet.decided import keep_decisions, kept_decisions
from thalweg.program import bind_script
from thalweg.shard.working import remove_working_state
from thalweg.vector.chain import Chain
from thalweg.work import Work

from .conftest import Command

ROWS = 1_200_000
# The first one drops nothing, the last one nearly everything.
SCRIPT = """
SET adapt.filters = '{policy}';
CREATE STREAM S (key BIGINT, ts TIMESTAMP) TIMESTAMP BY ts
  FROM generator('numbers', rows = {rows}, rate = 100000);
CREATE QUERY few AS SELECT ISTREAM(key) FROM S [NOW]
  WHERE key % 7 >= 0 AND key % 10 <> 1 AND key % 5000 = 2;
"""


def script_of(policy: str) -> str:
    return SCRIPT.format(policy=policy, rows=ROWS)


def work_in(folder: Path, script: str) -> Work:
    folder.mkdir()
    (folder / "few.cql").write_text(script)
    program = bind_script(read_script(folder / "few.cql"), (folder,))
    return work_of(program, folder / "job", {}, ROWS, [], 1)


def run(folder: Path, script: str) -> PlainJob:
    work = work_in(folder, script)
    job = PlainJob(work)
    job.run()
    remove_working_state(work.root)
    return job


@pytest.mark.parametrize("policy", ["a-greedy", "sweep", "independent", "local-swaps"])
def test_filters_change_their_order(policy: str, tmp_path: Path, thalweg: Command) -> None:
    fixed, adapting = (run(tmp_path / name, script_of(name)) for name in ("off", policy))
    assert adapting.entry.records == fixed.entry.records
    assert 0 < fixed.entry.records["few"] < ROWS // 100
    assert not list(kept_decisions(fixed.work.root))
    made = list(kept_decisions(adapting.work.root))
    if policy != "sweep":  # which needs stages of more rows than there are
        assert made
    ended = thalweg("decisions", str(adapting.work.root))
    assert ended.out == "".join(f"batch {batch}: {decision}\n" for batch, decision in made)


def test_a_folder_without_decisions(tmp_path: Path, thalweg: Command) -> None:
    ended = thalweg("decisions", str(tmp_path))
    assert ended.code == 1
    assert "is not a checkpoint" in ended.err


def test_every_query_adapts_as_it_was_created_to(tmp_path: Path, thalweg: Command) -> None:
    several = """
CREATE STREAM S (key BIGINT, ts TIMESTAMP) TIMESTAMP BY ts
  FROM generator('numbers', rows = {rows}, rate = 100000);
SET adapt.filters = 'off';
SET adapt.joins = 'independent';
CREATE QUERY fixed AS SELECT ISTREAM(key) FROM S [NOW]
  WHERE key % 7 >= 0 AND key % 10 <> 1 AND key % 5000 = 3;
SET adapt.filters = 'a-greedy';
SET cache_memory = '1.5 KiB';
CREATE QUERY adapting AS SELECT ISTREAM(key) FROM S [NOW]
  WHERE key % 7 >= 0 AND key % 10 <> 1 AND key % 5000 = 2;
"""
    work = run(tmp_path / "several", several.format(rows=ROWS)).work
    assert work.adaptations == {
        "fixed": Adaptation(filters="off", joins="independent"),
        "adapting": Adaptation(joins="independent", cache_memory_bytes=1536),
    }
    made = list(kept_decisions(work.root))
    assert made
    assert all(decision.queries == ("adapting",) for _, decision in made)
    root = str(work.root)
    listed = thalweg("decisions", root, "--query", "adapting", "--json")
    assert json.loads(listed.out) == [
        {"batch": batch, **json.loads(json.dumps(asdict(decision)))} for batch, decision in made
    ]
    assert thalweg("decisions", root, "--query", "fixed").out == ""
    assert 'did you mean "fixed"?' in thalweg("decisions", root, "--query", "fixd").err


def test_what_was_decided_survives_a_crash_and_a_repeated_batch(tmp_path: Path) -> None:
    class Killed(Exception):
        pass

    def kill(batch: int, shard: int) -> None:
        if batch == 3:
            raise Killed

    work = replace(work_in(tmp_path / "few", script_of("a-greedy")), rows_per_batch=ROWS // 4)
    job = PlainJob(work)
    with pytest.raises(Killed):
        job.run(kill)
    before = list(kept_decisions(work.root))
    assert before
    batch, decision = before[-1]
    other = replace(decision, after=decision.before)
    # As the outlet does when a batch has ended, and is repeated because nobody knew.
    keep_decisions(work.root, batch, [other])
    keep_decisions(work.root, batch, [])
    assert list(kept_decisions(work.root)) == before
    job.start()
    job.run()
    remove_working_state(work.root)
    assert list(kept_decisions(work.root))[: len(before)] == before


def test_a_job_knows_what_changing_plans_was_worth(tmp_path: Path, thalweg: Command) -> None:
    # spec: streamon 7.1
    job = run(tmp_path / "few", script_of("a-greedy"))
    root = str(job.work.root)
    (lesson,) = json.loads(thalweg("decisions", root, "--worth", "--json").out)
    assert lesson["mechanism"] == "filters"
    assert lesson["queries"] == ["few"]
    assert lesson["best_single"][0] == "(key % 5000) = 2"
    # Nothing changed after the first profile.
    assert lesson["return_on_adaptivity"] == pytest.approx(1.0, abs=0.1)
    (met,) = lesson["conditions"]
    assert met["plan"] == lesson["best_single"]
    assert met["passed"]["(key % 10) <> 1"] == pytest.approx(0.9, abs=0.1)
    assert ROWS // 2 < met["rows"] <= ROWS
    told = thalweg("decisions", root, "--worth", "--query", "few").out
    assert told.startswith("filters of few: one condition; the best single order, (key % 5000) = 2")


def orders(job: PlainJob) -> list[tuple[int, ...]]:
    chains = [part for _, part in job._intakes["S"].fragments._adaptive]
    return [chain.order.order for chain in chains if isinstance(chain, Chain)]


def test_a_restarted_job_goes_by_what_was_found_before(tmp_path: Path) -> None:
    """What was decided is in the log of control, so a batch that is repeated begins with the
    same plans as when it was done first."""
    work = replace(work_in(tmp_path / "few", script_of("a-greedy")), rows_per_batch=ROWS // 8)
    job = PlainJob(work)
    while not job.entry.plans:
        job.batch()
    entry = job.entry
    (plan,) = entry.plans.values()
    assert plan.order[0] == 2
    begun = []
    for _ in range(2):
        job.start()
        assert job.entry == entry
        for part in range(len(entry.takes["S"])):
            job._take("S", part)
            begun.append(orders(job))
            break
    assert begun[0] == begun[1] == [plan.order]
    job.run()
    remove_working_state(work.root)
    assert job.entry.plans.keys() == entry.plans.keys()


def test_what_two_queries_share_is_decided_for_both(tmp_path: Path) -> None:
    more = """CREATE QUERY also AS SELECT key FROM S
  WHERE key % 7 >= 0 AND key % 10 <> 1 AND key % 5000 = 2;"""
    work = run(tmp_path / "few", script_of("a-greedy") + more).work
    made = [decision for _, decision in kept_decisions(work.root)]
    assert made
    assert all(decision.queries == ("also", "few") for decision in made)
