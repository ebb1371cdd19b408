"""What the benchmarks compare with is right, and they say what they found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from thalweg.bench.ceiling import run_ceiling
from thalweg.bench.compare import Options, System, better, in_turn, ratios
from thalweg.bench.data import packets, sizes
from thalweg.bench.digest import Digest, digest
from thalweg.bench.expected import (
    joined_packets,
    last_instant,
    small_pairs,
    stream_columns,
    windowed_sums,
)
from thalweg.bench.findings import Bar, Findings
from thalweg.bench.join3 import WINDOW_US
from thalweg.bench.trial import Run, TrialFailed, in_own_process


def test_the_ceiling_joins_as_plain_arrays_do(tmp_path: Path) -> None:
    dataset = packets(tmp_path, 30_000, 10_000)
    expected = joined_packets(dataset, WINDOW_US)
    assert expected.rows > 5_000
    for run in in_own_process(run_ceiling, dataset, (1, 2), WINDOW_US, expected):
        assert run.wrong is None
        assert run.rows == dataset.rows


def test_expected_pairs_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    dataset = packets(tmp_path, 6_000, 2_000)
    sides = []
    for stream in ("C", "B"):
        columns = stream_columns(dataset, stream, ("pid", "size"))
        sides.append(dict(zip(*(column.to_pylist() for column in columns), strict=True)))
    here, there = sides
    pairs = [(p, here[p], there[p]) for p in here if p in there and here[p] + there[p] < 900]
    assert 0 < len(pairs) < len(here)
    assert small_pairs(dataset, 900) == digest(
        [np.array(column) for column in zip(*pairs, strict=True)]
    )


def test_expected_sums_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    dataset = sizes(tmp_path, 30_000, 10_000)
    second, span, keys = 1_000_000, 2_000_000, 7
    until = last_instant(dataset, "S") - second
    columns = stream_columns(dataset, "S", ("pid", "ts", "size"))
    pid, ts, size = (column.to_numpy() for column in columns)
    rows = []
    for end in range(int(ts[0]) // second * second + second, until + 1, second):
        inside = (ts >= end - span) & (ts < end) & (size >= 100)
        for key in range(keys):
            own = size[inside & (pid % keys == key)].astype(np.int64) + 3
            if len(own):
                rows.append((end, key, int(own.sum()), len(own), float(own.mean())))
    plain = digest([pa.array(column) for column in zip(*rows, strict=True)])
    assert windowed_sums(dataset, keys, span, second, until, least_size=100, added=3) == plain


def test_a_digest_does_not_see_the_order_of_rows_but_every_value() -> None:
    numbers, texts = np.arange(100), pa.array([f"t{i % 7}" for i in range(100)])
    order = np.random.default_rng(1).permutation(100)
    whole = digest([numbers, texts])
    assert digest([numbers[order], texts.take(pa.array(order))]) == whole
    assert digest([numbers[:50], texts[:50]]) + digest([numbers[50:], texts[50:]]) == whole
    assert digest([np.where(numbers == 3, 4, numbers), texts]) != whole
    assert digest([numbers, texts.take(pa.array(order))]) != whole


def test_ratios_are_taken_within_a_round() -> None:
    best = better([1.0, 4.0], [2.0, 3.0])
    assert best == [2.0, 4.0]
    found = ratios(best, [1.0, 1.0])
    assert (found.median, found.lowest, found.highest) == (3.0, 2.0, 4.0)


def options(tmp_path: Path, repeats: int) -> Options:
    return Options(None, repeats, True, tmp_path)


def system(name: str, answer: Callable[[], Run]) -> System:
    return System((name,), lambda: [answer()])


def test_systems_run_in_turn_and_a_wrong_answer_ends_it(tmp_path: Path) -> None:
    asked: list[str] = []

    def run(name: str, wrong: str | None) -> Run:
        asked.append(name)
        return Run(10, 1.0, wrong=wrong)

    right = [system(name, lambda name=name: run(name, None)) for name in "ab"]  # type: ignore[misc]
    in_turn(right, options(tmp_path, 2))
    assert asked == ["a", "b", "a", "b"]
    wrong = system("c", lambda: run("c", "other rows"))
    runs = in_turn([wrong, *right], options(tmp_path, 2))
    assert asked == ["a", "b", "a", "b", "c"]
    findings = Findings("which")
    findings.add_runs(runs)
    assert not findings.answers_equal
    assert findings.to_json()["answers_equal"] is False


def test_findings_name_what_is_not_reached() -> None:
    findings = Findings("how fast")
    findings.bars += [
        Bar("fast", ratios([3.0], [1.0]), least=2),
        Bar("flat", ratios([3.0], [1.0]), most=1.2),
    ]
    assert [bar.is_met for bar in findings.bars] == [True, False]
    assert "not met" in findings.text()
    told = findings.to_json()
    assert (told["answers_equal"], told["fast"], told["flat"]) == (True, 3.0, 3.0)


def _fails() -> Digest:
    raise ValueError("no room")


def test_a_system_that_fails_says_why() -> None:
    with pytest.raises(TrialFailed, match="no room"):
        in_own_process(_fails)
