"""Golden scripts and random pairs on Spark: hundreds of scripts share a job, and each gives
what it gives alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from thalweg.job.run import BatchDone, Job
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference
from thalweg.testing.golden import bind_golden, run_golden
from thalweg.testing.sections import GoldenScript, read_golden
from thalweg.testing.strategies import Case, random_case
from thalweg.testing.together import Member, Outcome, work_together
from thalweg.work import Work

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.cqlt"))
PAIRS = range(90_000, 90_200)
# Rows per batch, and shards.
SHAPES = ((1, 4), (1_000_000, 3))


@dataclass(frozen=True)
class Scripts:
    golden: list[tuple[GoldenScript, Member]]
    pairs: list[tuple[Case, Member]]

    @property
    def members(self) -> list[Member]:
        return [member for _, member in (*self.golden, *self.pairs)]


def scripts(golden: list[Path], pairs: range) -> Scripts:
    """All but those that have mistakes to be found."""
    read = {f"{path.parent.name}-{path.stem}": read_golden(path) for path in golden}
    cases = {f"pair {seed}": random_case(seed) for seed in pairs}
    return Scripts(
        [(s, Member(n, *bind_golden(s)[:2])) for n, s in read.items() if not s.of("error")],
        [(c, Member(n, c.program(), c.feeds())) for n, c in cases.items()],
    )


@dataclass(frozen=True)
class Done:
    """A job that is over: the scripts it ran, and what came of them."""

    scripts: Scripts
    outcome: Outcome

    def wrong_golden(self) -> list[str]:
        wrong = []
        for script, member in self.scripts.golden:
            ran = self.outcome.of(member)
            verdict = run_golden(script, lambda program, feeds, ran=ran: ran)
            wrong += [f"{member.label}:", *verdict.complaints] if verdict.complaints else []
        return wrong

    def wrong_pairs(self) -> list[str]:
        wrong = []
        for case, member in self.scripts.pairs:
            expected, actual = reference(member.program, member.feeds), self.outcome.of(member)
            for query in member.program.catalog.queries():
                compare = partial(differences, columns=query.plan.schema)
                found = compare(expected.answers[query.name], actual.answers[query.name])
                wrong += [f"{member.label}, {query.name}:\n{case}", *found] if found else []
        return wrong


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: f"{shape[0]} rows")
def done(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Done:
    every = scripts(GOLDEN, PAIRS)
    rows, shards = request.param
    work = work_together(every.members, tmp_path_factory.mktemp("job"), shards, rows)
    job = Job(spark, work)
    job.start()
    job.wait()
    return Done(every, Outcome(work.root))


def test_golden_scripts(done: Done) -> None:
    # spec: streamon 9.1
    wrong = done.wrong_golden()
    assert not wrong, "\n".join(wrong)


def test_random_pairs(done: Done) -> None:
    wrong = done.wrong_pairs()
    assert not wrong, "\n".join(wrong)


def test_what_streams_refuse(done: Done) -> None:
    late, rejects = done.outcome.aside.late, done.outcome.aside.rejects
    for member in done.scripts.members:
        for name, judged in member.judged().items():
            assert repr(late[name]) == repr(judged.late), name  # one NaN is not another
            assert rejects[name] == judged.rejects, name


def test_a_job_that_was_stopped_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    some = scripts(GOLDEN[::8], PAIRS[:30])
    work = work_together(some.members, tmp_path / "job", shards=3, rows_per_batch=1)
    starts = 1
    while not run_some(spark, work).is_finished:
        starts += 1
    assert starts > 2
    done = Done(some, Outcome(work.root))
    wrong = done.wrong_golden() + done.wrong_pairs()
    assert not wrong, "\n".join(wrong)


def run_some(spark: SparkSession, work: Work) -> Job:
    """A few batches, as a Spark query of their own."""

    def after_batch(done: BatchDone) -> None:
        if done.entry.batch % 3 == 0:
            job.stop()

    job = Job(spark, work, after_batch)
    job.start()
    job.wait()
    return job
