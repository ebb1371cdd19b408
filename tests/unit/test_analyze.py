"""`explain --analyze`: the plan of a job with the rows and times that were measured."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thalweg.adapt.decisions import Decision
from thalweg.adapt.measured import Measured, Step, summed
from thalweg.cql.script import read_script
from thalweg.explain_analyze import analyzed_text, explain_analyze
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.outlet.measuring import Account, kept_account
from thalweg.program import Program, bind_script
from thalweg.shard.working import remove_working_state

from .conftest import Command

ROWS = 20_000
SCRIPT = f"""
CREATE STREAM S (key BIGINT, a INT, ts TIMESTAMP) TIMESTAMP BY ts
  FROM generator('numbers', rows = {ROWS}, rate = 1000);
CREATE STREAM R (key BIGINT, b INT, ts TIMESTAMP) TIMESTAMP BY ts
  FROM generator('numbers', rows = 100, rate = 5);
SET adapt.filters = 'off';
CREATE QUERY few AS SELECT ISTREAM(key) FROM S [NOW] WHERE key % 10 = 1 AND a < 500;
CREATE QUERY joined AS SELECT ISTREAM(S.a, R.b)
  FROM S [RANGE 1 SECOND], R [RANGE 1 SECOND] WHERE S.key = R.key AND S.a < R.b;
CREATE QUERY all_of_it AS SELECT count(*) AS n FROM S [RANGE 1 SECOND];
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "few.cql"
    path.write_text(SCRIPT)
    return path


def program_of(script: Path) -> Program:
    return bind_script(read_script(script), (script.parent,))


def run(script: Path, batch_rows: int = 5_000, happen: Any = None) -> PlainJob:
    work = work_of(program_of(script), script.parent / "job", {}, batch_rows, [], 2)
    job = PlainJob(work)
    job.run(happen or (lambda batch, shard: None))
    remove_working_state(work.root)
    return job


def operators(part: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [own for own in part["operators"] if own["operator"].split(" ")[0] == kind]


def check(document: dict[str, Any], few: int) -> None:
    """All rows are counted once, wherever they were."""
    assert document["rows"] == ROWS + 100
    intake = next(part for part in document["intake"] if part["stream"] == "S")
    assert all(own["measured"]["rows_in"] == ROWS for own in operators(intake, "stream"))
    (filtering,) = operators(intake, "filter")
    assert filtering["for"] == ["few"]
    (chain,) = filtering["adapting"]
    names = [step["name"] for step in chain["steps"]]
    assert sorted(names) == ["(key % 10) = 1", "a < 500"]
    first, second = chain["steps"]
    assert first["rows_in"] == filtering["measured"]["rows_in"] == ROWS
    assert first["rows_out"] == second["rows_in"]
    assert second["rows_out"] == filtering["measured"]["rows_out"] == few
    assert 0 < first["nanos"] + second["nanos"] <= filtering["measured"]["nanos"]
    received = [*operators(document["shard"], "received")]
    brought = {own["measured"]["rows_in"] for own in received if own["for"] == ["joined"]}
    assert {ROWS, 100} <= brought
    (join,) = operators(document["shard"], "join")
    assert join["measured"]["rows_in"] == ROWS + 100
    by_subject = {own["subject"]: own["steps"] for own in join["adapting"]}
    assert by_subject.keys() == {"a < b", "from S", "from R"}
    assert by_subject["a < b"][0]["rows_out"] == join["measured"]["rows_out"]
    looked_up = [by_subject["from S"][0], by_subject["from R"][0]]
    assert sum(step["rows_in"] for step in looked_up) == ROWS + 100
    # A condition is tested on what the look-ups have found.
    assert sum(step["rows_out"] for step in looked_up) == join["measured"]["rows_out"]


def test_a_script_is_run_to_be_measured(script: Path, thalweg: Command) -> None:
    few = run(script).entry.records["few"]
    ended = thalweg("explain", str(script), "--analyze", "--json")
    assert ended.code == 0, ended.err
    check(json.loads(ended.out), few)
    assert not ended.err.strip()


def test_a_job_is_shown_as_it_was_measured(script: Path, thalweg: Command) -> None:
    job = run(script)
    root = str(job.work.root)
    ended = thalweg("explain", str(script), "--analyze", "--checkpoint", root, "--json")
    assert ended.code == 0, ended.err
    check(json.loads(ended.out), job.entry.records["few"])


def test_a_shard_that_is_rebuilt_counts_nothing_twice(script: Path) -> None:
    class Lost(Exception):
        pass

    def lose(batch: int, shard: int) -> None:
        if (batch, shard) == (2, 1):
            raise Lost

    work = work_of(program_of(script), script.parent / "job", {}, 5_000, [], 2)
    job = PlainJob(work)
    with pytest.raises(Lost):
        job.run(lose)
    remove_working_state(work.root)
    lost = job.entry.rows.copy()
    job.start()
    job.run()
    assert job.rebuilt
    account = kept_account(work.root)
    assert account is not None
    # A new outlet begins with the batch that is repeated.
    assert account.rows == sum(job.entry.rows.values()) - sum(lost.values())
    counted = {s.name: s for m in account.of("S", "operators") for s in m.steps}
    assert counted["0"].rows_in == ROWS - lost["S"]


def test_the_checkpoint_of_another_script(script: Path, thalweg: Command) -> None:
    root = str(run(script).work.root)
    script.write_text(SCRIPT.replace("a < 500", "a < 501"))
    ended = thalweg("explain", str(script), "--analyze", "--checkpoint", root)
    assert ended.code == 1
    assert 'Its query "few" is another one.' in ended.err


@pytest.mark.parametrize("layout", [1, None])
def test_the_checkpoint_of_another_version(
    script: Path, thalweg: Command, layout: int | None
) -> None:
    work = run(script).work
    older = work if layout is None else (layout, work)
    (work.root / "work.pickle").write_bytes(pickle.dumps(older))
    ended = thalweg("explain", str(script), "--analyze", "--checkpoint", str(work.root))
    assert ended.code == 1
    assert "is of another version of Thalweg" in ended.err


def test_what_does_not_go_together(script: Path, tmp_path: Path, thalweg: Command) -> None:
    assert "goes with --analyze" in thalweg("explain", str(script), "--checkpoint", "x").err
    ended = thalweg("explain", str(script), "--analyze", "--checkpoint", str(tmp_path))
    assert ended.code == 1
    assert "is not a checkpoint" in ended.err


def test_the_text(script: Path) -> None:
    """Numbers that a machine measures are given, so the whole text is known."""
    account = Account(12, 1_500_000, 3.0)
    account.spent.update({"read": 0.5, "filter": 1.25})
    chain = (Step("a < 500", 1_000_000, 250_000, 2_000_000), Step("(key % 10) = 1", 250_000, 5, 9))
    for where, measured in (
        ("S", Measured("operators", (), "", (Step("1", 1_000_000, 5, 3_000_000),))),
        ("S", Measured("filters", ("few",), "", chain, 1)),
    ):
        account._add(where, [measured])
    decision = Decision("filters", ("x", "a < 500"), ("a < 500", "x"), 2.0, 1.5, True, ("few",))
    decisions = [(batch, decision) for batch in range(11)]
    program = program_of(script)
    document = explain_analyze(program, account, decisions, 2, program.query("few"))
    lines = analyzed_text(document).splitlines()
    numbered = [line for line in lines if re.search(r"\d %|rows in", line)]
    assert lines[:2] == [
        "Job: 2 shards, 12 batches in 3.0 s, 1,500,000 rows, 500k rows/s",
        "Tasks: filter 1.25 s, read 0.50 s",
    ]
    assert [" ".join(line.split()) for line in numbered] == [
        "rows in rows out passed rows/s ns/row time",
        "1: filter of 0, for few 1M 5 0.0005 % 333k 3 100.0 %",
        "a < 500 1M 250k 25 % 333k 2 66.7 %",
        "(key % 10) = 1 250k 5 0.002 % 83.3k 3.6e-05 0.0 %",
    ]
    assert lines[-11] == "Decisions, the last 10 of 11"
    assert lines[-1] == "  batch 10: filters of few: a < 500, x (1.5 times as fast, expected 2)"
    assert len({len(line) for line in numbered}) == 1
    assert "Intake of R" not in "\n".join(lines)


def test_steps_are_summed_in_the_order_of_the_latter() -> None:
    before = Measured("filters", ("q",), "", (Step("a", 4, 2, 10), Step("b", 2, 1, 5)), 3)
    later = replace(before, steps=(Step("b", 8, 4, 20), Step("a", 4, 3, 1, "new")))
    assert summed(before, later).steps == (Step("b", 10, 5, 25), Step("a", 8, 5, 11, "new"))
