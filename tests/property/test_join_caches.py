"""Joins as a whole: what they look up, what they keep, and how they change."""

from __future__ import annotations

import pickle
from itertools import islice

import numpy as np
import pytest

from thalweg.adapt.caching import Candidate
from thalweg.adapt.choices import Adaptation
from thalweg.bench.cached_joins import few_of_many, three_way
from thalweg.bench.joined import OFF, Joined, digest, rows_of
from thalweg.operators import cache_watch, join_pipeline
from thalweg.operators.delta import Delta, Times
from thalweg.operators.stored import StoreView
from thalweg.vector.column import Columns

STAR = """
CREATE STREAM C (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE STREAM A (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE STREAM B (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE QUERY q AS SELECT C.a, C.b FROM C [RANGE 1 SECOND], A [RANGE 1 MINUTE],
  B [RANGE 1 MINUTE] WHERE C.a = A.a AND C.b = B.b;
"""
CHAIN = """
CREATE STREAM R (a BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE STREAM S (a BIGINT, b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE STREAM T (b BIGINT, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();
CREATE QUERY q AS SELECT R.a, T.b FROM R [RANGE 1 MINUTE], S [RANGE 1 MINUTE], T {window}
  WHERE R.a = S.a AND S.b = T.b;
"""
CACHED = Adaptation(filters="off", joins="off")


def rows(second: int, *keys: list[int]) -> Delta:
    times = np.full(len(keys[0]), second * 1_000_000)
    return rows_of(times, *(np.array(some, np.int64) for some in keys))


def with_cache(script: str, monkeypatch: pytest.MonkeyPatch) -> Joined:
    """S joined with R, kept for T."""
    monkeypatch.setattr(join_pipeline, "BYPASS_SHARE", -1.0)
    joined = Joined(script, CACHED)
    joined.join.cache_watch = None
    caches = joined.join.caches
    assert caches is not None
    caches.use([caches.with_key(Candidate(2, 0, 1, frozenset({0, 1})))])
    # The first rows pass it by, to be compared with.
    joined.step({"T": rows(0, [100])})
    return joined


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Look-ups that were made: whether all partners were to be found, and for how many rows."""
    made: list[tuple[str, int]] = []
    first, probe = StoreView.first, StoreView.probe

    def noted_first(self: StoreView, keys: Columns, start: Times, *given: object) -> Times:
        made.append(("first", len(start)))
        return first(self, keys, start, *given)  # type: ignore[arg-type]

    def noted_probe(self: StoreView, keys: Columns, start: Times, *given: object) -> object:
        begin = given[2] if len(given) > 2 else None
        made.append(("all" if begin is None else "rest", len(start)))
        return probe(self, keys, start, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(StoreView, "first", noted_first)
    monkeypatch.setattr(StoreView, "probe", noted_probe)
    return made


def test_rows_are_dropped_before_anything_is_multiplied(
    probes: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # spec: streamon 9.25
    monkeypatch.setattr(join_pipeline, "MANY_PARTNERS", 0.5)
    joined = Joined(STAR, OFF)
    joined.step({"A": rows(0, [1, 1, 1, 2, 2]), "B": rows(0, [7, 7])})
    probes.clear()
    # Rows 0 and 1 have partners in A, row 0 in B as well.
    found = joined.step({"C": rows(1, [1, 2, 3, 4], [7, 8, 7, 8])})
    assert found.weight.sum() == 6
    assert probes == [("first", 4), ("all", 2), ("rest", 1)]


def test_what_has_no_partner_is_kept_too(
    probes: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # spec: streamon 9.29
    joined = with_cache(CHAIN.format(window="[RANGE 1 SECOND]"), monkeypatch)
    joined.step({"R": rows(0, [1]), "S": rows(0, [1, 9], [5, 6])})
    joined.step({"T": rows(1, [5, 6, 7])})
    probes.clear()
    found = joined.step({"T": rows(2, [5, 6, 7, 7])})
    assert found.weight.tolist() == [1]
    assert not probes
    # What comes to R or S is known at once.
    joined.step({"R": rows(3, [9])})
    assert joined.step({"T": rows(4, [5, 6, 7])}).weight.sum() == 2


def test_a_row_that_leaves_finds_what_it_found_when_it_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # spec: streamon 9.30
    joined = with_cache(CHAIN.format(window="[ROWS 10]"), monkeypatch)
    for second in range(20):
        own = list(range(10 * second, 10 * second + 10))
        joined.step({"R": rows(second, own), "S": rows(second, own, own)})
        joined.step({"T": rows(second, own)})
    assert joined.join.caches is not None
    (candidate,) = joined.join.caches.used
    counts = joined.join.caches.of(candidate).counts
    assert counts.hits / counts.probes > 0.45


def test_a_restored_join_does_not_remember_what_never_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joined = with_cache(CHAIN.format(window="[RANGE 1 MINUTE]"), monkeypatch)
    joined.step({"R": rows(0, [1]), "S": rows(0, [1], [5])})
    joined.step({"T": rows(1, [5])})
    state = pickle.loads(pickle.dumps(joined._dataflow.snapshot(), 5))
    assert joined.step({"S": rows(2, [1], [5])}).weight.sum() == 1
    joined._dataflow.restore(state)
    assert joined.step({"T": rows(3, [5])}).weight.sum() == 1


def test_a_cache_is_found_tried_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # spec: streamon 9.34, 9.36
    monkeypatch.setattr(cache_watch, "INTERVAL", 20_000_000)
    case = few_of_many(rows=500)
    plain, cached = Joined(case.script, OFF), Joined(case.script, CACHED)
    for batch in islice(case.batches(np.random.default_rng(3)), 120):
        assert digest(plain.step(batch)) == digest(cached.step(batch))
    assert cached.join.caches is not None
    assert {c.members for c in cached.join.caches.used} == {frozenset({0, 1})}
    decisions = [d for d in cached.join.decisions() if d.mechanism == "caches"]
    assert decisions
    assert decisions[-1].is_kept
    assert decisions[-1].after == ("R ⋈ S for T",)


def test_answers_stay_the_same_when_a_stream_becomes_twenty_times_as_fast(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # spec: streamon 9.34
    monkeypatch.setattr(cache_watch, "INTERVAL", 5_000_000)
    monkeypatch.setattr(cache_watch, "LOOK", 500_000)
    case = three_way("burst", burst=True, rows=100)
    plain, cached = Joined(case.script, OFF), Joined(case.script, Adaptation())
    for batch in (case.batch(n, np.random.default_rng(n)) for n in range(120)):
        assert digest(plain.step(batch)) == digest(cached.step(batch))


@pytest.mark.parametrize(
    ("adaptation", "is_free", "keeps"),
    [
        (Adaptation(), True, True),
        (Adaptation(joins="off"), False, True),
        (Adaptation(joins="independent", caches="off"), True, False),
        (OFF, False, False),
    ],
)
def test_a_join_changes_what_it_may(adaptation: Adaptation, is_free: bool, keeps: bool) -> None:
    joined = Joined(STAR, adaptation)
    assert [p.order.is_unsure for p in joined.join.pipelines] == [is_free] * 3
    assert (joined.join.caches is not None) == keeps


def test_a_join_says_what_it_measured() -> None:
    joined = Joined(STAR, Adaptation())
    joined.step({"A": rows(0, [1, 2]), "B": rows(0, [7]), "C": rows(0, [1, 2, 3], [7, 8, 7])})
    (measured,) = (m for m in joined.join.measured() if m.subject == "from C")
    assert [(step.name, step.rows_in, step.rows_out) for step in measured.steps] == [
        ("A", 3, 0),
        ("B", 0, 0),
    ]
    assert not list(joined.join.measured())
