"""Golden scripts and random pairs on Spark: hundreds of scripts share a job, and each gives
what it gives alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from thalweg.job.run import Job
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference
from thalweg.testing.golden import bind_golden, run_golden
from thalweg.testing.sections import GoldenScript, read_golden
from thalweg.testing.strategies import Case, random_case
from thalweg.testing.together import Member, Outcome, work_together

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.cqlt"))
PAIRS = range(90_000, 90_200)
# Rows per batch, and shards.
SHAPES = ((1, 4), (1_000_000, 3))


@dataclass(frozen=True)
class Done:
    """A job that is over: the scripts it ran, and what came of each."""

    golden: list[tuple[GoldenScript, Member]]
    pairs: list[tuple[Case, Member]]
    outcome: Outcome


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: f"{shape[0]} rows")
def done(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Done:
    scripts = [script for script in map(read_golden, GOLDEN) if not script.of("error")]
    golden = [(s, Member(i, *bind_golden(s)[:2])) for i, s in enumerate(scripts)]
    cases = enumerate(map(random_case, PAIRS), start=len(golden))
    pairs = [(case, Member(i, case.program(), case.feeds())) for i, case in cases]
    members = [member for _, member in (*golden, *pairs)]
    rows, shards = request.param
    work = work_together(members, tmp_path_factory.mktemp("together") / "job", shards, rows)
    job = Job(spark, work)
    job.start()
    job.wait()
    return Done(golden, pairs, Outcome(work.root))


def test_golden_scripts(done: Done) -> None:
    wrong = []
    for script, member in done.golden:
        ran = done.outcome.of(member)
        verdict = run_golden(script, lambda program, feeds, ran=ran: ran)
        wrong += [f"{script.folder.name}/{script.name}", *verdict.complaints] * (not verdict.passed)
    assert not wrong, "\n".join(wrong)


def test_random_pairs(done: Done) -> None:
    wrong = []
    for case, member in done.pairs:
        expected, actual = reference(member.program, member.feeds), done.outcome.of(member)
        for query in member.program.catalog.queries():
            compare = partial(differences, columns=query.plan.schema)
            found = compare(expected.answers[query.name], actual.answers[query.name])
            wrong += [f"{query.name} of:\n{case}", *found] * bool(found)
    assert not wrong, "\n".join(wrong)


def test_what_streams_refuse(done: Done) -> None:
    late, rejects = done.outcome.aside.late, done.outcome.aside.rejects
    for _, member in (*done.golden, *done.pairs):
        for name, judged in member.judged().items():
            assert repr(late[name]) == repr(judged.late), name  # one NaN is not another
            assert rejects[name] == judged.rejects, name
