"""`thalweg run` as a user runs it: the records in its files add up to the answers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thalweg.answers import Change
from thalweg.testing.compare import differences

from .case import Case
from .court import Judge, Rows, bound, filled_in, needs_data, plan_of, reference_of
from .queries import CASES

# Few rows or few instants each: the reference computes every instant from scratch.
RUNS = (
    ("rstream_at_every_slide", ("jsonl", "csv", "parquet")),
    ("labels_as_a_stream_with_late_rows", ("jsonl", "csv", "parquet")),
    ("union_of_two_scans", ("jsonl", "csv", "parquet")),
    ("cars_that_changed_segment", ("jsonl",)),
    ("where_each_bus_is", ("parquet",)),
    ("pickups_too_late_for_their_slack", ("csv",)),
)

Read = Callable[[str, dict[str, str]], str]


def _columns(types: dict[str, str]) -> str:
    return ", ".join(f"'{name}': '{type_}'" for name, type_ in types.items())


# How another program reads an answer, given the types of its columns.
READERS: dict[str, Read] = {
    "jsonl": lambda file, types: f"read_json('{file}', columns = {{{_columns(types)}}})",
    "csv": lambda file, types: (
        f"read_csv('{file}', header = true, columns = {{{_columns(types)}}}, "
        "nullstr = '', allow_quoted_nulls = false)"
    ),
    "parquet": lambda file, types: f"read_parquet('{file}')",
}


@needs_data
@pytest.mark.parametrize(
    ("name", "file_format"), [(name, form) for name, forms in RUNS for form in forms]
)
def test_records_add_up_to_the_answer(name: str, file_format: str, tmp_path: Path) -> None:
    [case] = [case for case in CASES if case.name == name]
    script = tmp_path / "judged.cql"
    script.write_text(filled_in(case.script), encoding="utf-8")
    command = [sys.executable, "-m", "thalweg.cli", "run", str(script), "--engine", "reference"]
    options = ["--drain", "--out", str(tmp_path / "out"), "--format", file_format]
    ran = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    records = _records(case, tmp_path / "out" / f"q.{file_format}", file_format)
    assert f"q: {len(records)} records" in ran.stderr

    program = bound(case)
    plan, reference = plan_of(program), reference_of(program)
    for now in case.instants:
        rows = _elements(records, now) if plan.is_stream else _relation(records, now)
        complaints = differences(
            [Change(now, "+", row) for row in reference.answer_at(plan, now)],
            [Change(now, "+", row) for row in rows],
            plan.schema,
        )
        assert complaints == [], f"at {now}"
    times = [time for time, *_ in records]
    assert times == sorted(times)
    entered = {record[:1] + record[2:] for record in records if record[1] == "+"}
    left = {record[:1] + record[2:] for record in records if record[1] == "-"}
    assert not entered & left, "outputs are net per instant"


def _records(case: Case, file: Path, file_format: str) -> Rows:
    """The records of an answer, read by DuckDB."""
    judge = Judge()
    judge.connection.execute(filled_in(case.sql), {"tau": case.instants[0]})
    types = {column[0]: str(column[1]) for column in judge.connection.description or ()}
    types = {"time": "BIGINT", "sign": "VARCHAR", **types}
    names, rows = judge.ask(f"FROM {READERS[file_format](str(file), types)}", {})
    assert names == list(types)
    return rows


def _elements(records: Rows, now: int) -> Rows:
    assert {sign for _, sign, *_ in records} == {"+"}
    return [tuple(values) for time, _, *values in records if time == now]


def _relation(records: Rows, now: int) -> Rows:
    counts: Counter[tuple[Any, ...]] = Counter()
    for time, sign, *values in records:
        if time <= now:
            counts[tuple(values)] += {"+": 1, "-": -1}[sign]
    assert min(counts.values(), default=0) >= 0, "a row left that was not there"
    return list(counts.elements())
