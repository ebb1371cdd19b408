"""Rows that are fed while a job runs, and batches that are repeated after more have come."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from thalweg.errors import SourceText
from thalweg.intake.accept import Accepting
from thalweg.intake.slices import as_delta
from thalweg.intake.spooled import Handed, Spool
from thalweg.job.plain import PlainJob
from thalweg.outlet.begin import has_news
from thalweg.program import bind_script
from thalweg.shard.working import remove_working_state
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference
from thalweg.testing.feeds import FeedRow, Feeds
from thalweg.testing.strategies import random_case
from thalweg.testing.together import Member, Outcome, unfed_together

SEEDS = 25
# What stays of a feed: the last block, and what the last two batches have read.
MOST_BLOCKS = 4


class Hand:
    """Feeds a stream some rows at a time."""

    def __init__(self, state: Accepting, spool: Spool) -> None:
        self._rows, self._spool = as_delta(state.arrivals, state.stream.columns), spool
        self._slack, self._fed = state.stream.slack, 0
        self._columns = state.stream.columns

    def feed(self, chance: random.Random) -> None:
        end = min(len(self._rows), self._fed + chance.randint(0, 4))
        times = self._rows.start
        largest = int(times[:end].max()) if end else None
        if end < len(self._rows) and chance.random() < 0.3:  # a promise, as large as may be
            promised = int(times[end:].min()) + self._slack
            largest = promised if largest is None else max(largest, promised)
        some = self._rows.take(np.arange(self._fed, end))
        self._spool.add(some, [], [], Handed(end, largest))
        self._fed = end

    def finish(self, chance: random.Random) -> None:
        while self._fed < len(self._rows):
            self.feed(chance)
        self._spool.close(self._columns)


def test_answers_do_not_depend_on_when_rows_are_fed(tmp_path: Path) -> None:
    for seed in range(SEEDS):
        chance, case = random.Random(seed), random_case(seed)
        member = Member("fed", case.program(), case.feeds())
        root = tmp_path / str(seed)
        work = unfed_together([member], root, chance.choice((1, 3)), chance.choice((1, 5, 1000)))
        hands = [Hand(state, Spool(work.spool(n))) for n, state in member.judged().items()]
        job = PlainJob(work)
        for _ in range(chance.randint(0, 8)):
            feed_some(hands, chance)
            if job.begin():
                repeat_a_batch(job, hands, chance)
        for hand in hands:
            hand.finish(chance)
        while job.begin():
            job.batch()
        assert job.entry.finished
        check(member, root, seed)
        remove_working_state(root)


def feed_some(hands: list[Hand], chance: random.Random) -> None:
    for hand in hands:
        if chance.random() < 0.5:
            hand.feed(chance)


def repeat_a_batch(job: PlainJob, hands: list[Hand], chance: random.Random) -> None:
    """A batch, once more if it comes to that: the entry that it left is what counts."""
    before = job.entry, dict(job.manifests)
    job.batch(flush=chance.random() < 0.5)
    left = job.entry
    if chance.random() < 0.5:
        feed_some(hands, chance)
        job.entry, job.manifests = before
        job.batch()
        assert job.entry == left


def check(member: Member, root: Path, seed: int) -> None:
    ran, expected = Outcome(root).of(member), reference(member.program, member.feeds)
    for query in member.program.catalog.queries():
        name, schema = query.name, query.plan.schema
        wrong = differences(expected.answers[name], ran.answers[name], schema)
        assert not wrong, f"seed {seed}, {name}: {wrong}"


STANDING = """
CREATE STREAM s (t BIGINT, x INT) TIMESTAMP BY t FROM memory();
CREATE STREAM u (t BIGINT, x INT) TIMESTAMP BY t SLACK 3 SECONDS FROM memory();
CREATE TABLE k (x INT) FROM memory();
CREATE QUERY one AS SELECT RSTREAM(count(*) AS n) FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS];
CREATE QUERY two AS SELECT RSTREAM(x) FROM
  (SELECT x FROM s [RANGE 4 SECONDS SLIDE 2 SECONDS] UNION ALL SELECT x FROM k);
CREATE QUERY keyed AS SELECT RSTREAM(k.x, count(s.x) AS n) FROM k
  LEFT JOIN s [RANGE 6 SECONDS SLIDE 3 SECONDS] ON k.x = s.x GROUP BY k.x;
CREATE QUERY mixed AS SELECT RSTREAM(count(*) AS n)
  FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS], u [RANGE 3 SECONDS];
CREATE QUERY leaving AS SELECT RSTREAM(x) FROM u [RANGE 4 SECONDS];
"""


def test_relations_that_outlive_their_windows_are_said_in_time(tmp_path: Path) -> None:
    """A promise far beyond the last row does not say whether time will be counted so far."""
    above = [
        f"CREATE QUERY over_{name} AS SELECT count(*) AS c FROM {name} [RANGE 30 SECONDS];"
        for name in ("one", "two", "keyed", "mixed", "leaving")
    ]
    program = bind_script(SourceText("standing", STANDING + "\n".join(above)))
    for seed in range(8):
        chance = random.Random(seed)
        rows = {
            name: [
                FeedRow((time, chance.randint(1, 2)))
                for time in sorted(chance.choices((*range(8), 60, 61, 130), k=5))
            ]
            for name in ("s", "u")
        }
        member = Member("fed", program, Feeds(rows, {"k": [(1,), (3,)]}))
        root = tmp_path / str(seed)
        work = unfed_together([member], root, chance.choice((1, 3)), chance.choice((1, 1000)))
        hands = [Hand(state, Spool(work.spool(n))) for n, state in member.judged().items()]
        job = PlainJob(work)
        for _ in range(8):
            feed_some(hands, chance)
            while job.begin():
                job.batch()
        for hand in hands:
            hand.finish(chance)
        while job.begin():
            job.batch()
        check(member, root, seed)
        for name, changes in Outcome(root).of(member).answers.items():
            times = [change.time for change in changes]
            assert times == sorted(times), f"seed {seed}, {name}"
        remove_working_state(root)


def test_a_job_without_news_comes_to_rest(tmp_path: Path) -> None:
    """Until something is fed, there is nothing to do."""
    for seed in range(5):
        chance, case = random.Random(seed), random_case(seed)
        member = Member("fed", case.program(), case.feeds())
        work = unfed_together([member], tmp_path / str(seed), 2, 1000)
        hands = [Hand(state, Spool(work.spool(n))) for n, state in member.judged().items()]
        job = PlainJob(work)
        assert not job.begin()
        hands[0].feed(chance)
        batches = 0
        while job.begin():
            job.batch()
            batches += 1
        assert 0 < batches < 8
        assert not has_news(work, job.entry, 0)
        hands[-1].feed(chance)
        assert has_news(work, job.entry, 0)
        assert job.begin()
        remove_working_state(work.root)


def test_what_was_fed_and_read_is_swept(tmp_path: Path) -> None:
    chance, case = random.Random(0), random_case(0)
    member = Member("fed", case.program(), case.feeds())
    work = unfed_together([member], tmp_path, 2, 1000)
    (name, state), *_ = member.judged().items()
    hand, job = Hand(state, Spool(work.spool(name))), PlainJob(work)
    for _ in range(10):
        hand.feed(chance)
        while job.begin():
            job.batch()
    assert 0 < len(list(work.spool(name).iterdir())) <= MOST_BLOCKS
    assert Spool(work.spool(name)).handed.seen == job.entry.rows[name]
    remove_working_state(work.root)
