"""Joins that look for better orders at every row, and find some: the same answers."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from join_cases import join_case

from thalweg.adapt import filter_order
from thalweg.adapt.filter_order import FilterOrder
from thalweg.bench.drifting_joins import batches, chain
from thalweg.bench.joined import ORDERS, Joined
from thalweg.operators import join_pipeline
from thalweg.operators.join_pipeline import Pipeline
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, placed, reference


class Eager:
    """The loop as it is, without patience: it profiles whenever it may, tries what is no better,
    and keeps what its trials say; counts what it did."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.did: Counter[str] = Counter()
        for name in ("LEAST_ROWS", "LEAST_NANOS", "WORTH_TRYING", "WORTH_IT"):
            patch.setattr(filter_order, name, 0)
        patch.setattr(filter_order, "MORE_PATIENCE", 1.0)
        patch.setattr(filter_order, "PROFILE_SHARE", 1e9)
        patch.setattr(filter_order, "EVENT_SHARE", 1e9)
        for name in ("UNSURE_ROWS", "TIMED_ROWS", "TOLD_ROWS", "TREE_EVERY"):
            patch.setattr(join_pipeline, name, 1)
        self._profile, self._decide = FilterOrder.profile, FilterOrder._decide
        patch.setattr(FilterOrder, "profile", lambda order, *given: self.profile(order, *given))
        patch.setattr(FilterOrder, "_decide", lambda order, change: self.decide(order, change))

    def profile(self, order: FilterOrder, *given: Any) -> None:
        self.did["profiles"] += 1
        self._profile(order, *given)

    def decide(self, order: FilterOrder, change: Any) -> None:
        self.did["kept" if change.is_kept else "taken back"] += 1
        self._decide(order, change)


def test_answers_do_not_depend_on_what_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    # spec: streamon 9.24
    chance = random.Random(17)
    eager = Eager(monkeypatch)
    for seed in range(200):
        case = join_case(seed, row_counts=(8, 16))
        program = case.program()
        (query,) = program.catalog.queries()
        expected = reference(program, case.feeds).answers["q"]
        engine = batched(chance.choice((2, 5, 100)), placement=placed(program))
        ran = engine(program, case.feeds).answers["q"]
        wrong = differences(expected, ran, query.plan.schema)
        assert not wrong, f"seed {seed}: {wrong}"
    assert eager.did["profiles"] > 500, eager.did
    assert eager.did["kept"] > 50, eager.did


def met_one_by_one(pipeline: Pipeline, delta: Any, member: int, rows: Any) -> list[int]:
    return [int(row) for row in rows if len(pipeline.met(delta, member, np.array([row])))]


def test_what_is_behind_the_gate_is_that_of_the_rows_asked_about() -> None:
    joined = Joined(chain(4).script(), ORDERS)
    made = list(batches(chain(4), (0.5, 0.6, 0.7), 40_000, range(4), np.random.default_rng(5)))
    for batch in made:
        joined.step(batch)
    pipeline = joined.join.pipelines[3]
    assert pipeline._gate == 1
    # The same numbers of rows of one batch and of another; and others of the same batch.
    asked = [
        (batch["R3"], np.arange(some, some + 200), member)
        for batch, some in ((made[3], 0), (made[2], 0), (made[2], 300))
        for member in pipeline.others
    ]
    found = [pipeline.met(delta, member, rows).tolist() for delta, rows, member in asked]
    for (delta, rows, member), these in zip(asked, found, strict=True):
        assert these == met_one_by_one(pipeline, delta, member, rows)
    assert len({str(these) for these in found}) > 3
