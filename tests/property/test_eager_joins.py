"""Joins that look for better orders at every row, and find some: the same answers."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from join_cases import join_case

from thalweg.adapt import adaptive_order, lookup_order
from thalweg.adapt.drops import Mask
from thalweg.adapt.join_order import path_to
from thalweg.adapt.learned import FoundPlan
from thalweg.adapt.lookup_order import LookupOrder
from thalweg.adapt.order_trial import Change
from thalweg.bench.drifting_joins import Graph, batches, chain, cycle, star
from thalweg.bench.joined import ORDERS, Joined
from thalweg.operators import join_pipeline
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta
from thalweg.operators.join import JoinRun
from thalweg.operators.join_pipeline import Pipeline
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, placed, reference


class Eager:
    """The loop as it is, without patience: it profiles whenever it may, tries what is no better,
    and keeps what its trials say; counts what it did."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.did: Counter[str] = Counter()
        for name in ("LEAST_ROWS", "LEAST_NANOS", "WORTH_IT"):
            patch.setattr(adaptive_order, name, 0)
        for name in ("worth_trying", "least_gain"):
            patch.setattr(LookupOrder, name, 0.0)
        patch.setattr(adaptive_order, "MORE_PATIENCE", 1.0)
        patch.setattr(LookupOrder, "profile_share", 1e9)
        patch.setattr(adaptive_order, "EVENT_SHARE", 1e9)
        patch.setattr(lookup_order, "TIMED_ROWS", 1)
        for name in ("UNSURE_ROWS", "TOLD_NANOS", "TREE_EVERY"):
            patch.setattr(join_pipeline, name, 1)
        self._profile, self._decide = LookupOrder.profile, LookupOrder._decide
        patch.setattr(LookupOrder, "profile", lambda order, *given: self.profile(order, *given))
        patch.setattr(LookupOrder, "_decide", lambda order, *given: self.decide(order, *given))

    def profile(self, order: LookupOrder, *given: Any) -> None:
        self.did["profiles"] += 1
        self._profile(order, *given)

    def decide(self, order: LookupOrder, change: Change, is_own: bool) -> None:
        self.did["kept" if change.is_kept else "taken back"] += 1
        self._decide(order, change, is_own)


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


def any_plan(pipeline: Pipeline, chance: random.Random) -> FoundPlan:
    """One that may be taken over, or one that does not fit: of too few members, by ways that
    lead nowhere or past members that are not joined."""
    numbers = list(range(len(pipeline.others)))
    order = tuple(chance.sample(numbers, len(numbers) - (chance.random() < 0.1)))
    _, tree = pipeline.route
    ways = dict(tree)
    if chance.random() < 0.5:
        members = [pipeline.root, *pipeline.others]
        ways = {member: chance.choice(members) for member in pipeline.others}
    return FoundPlan(order, tuple(sorted(ways.items())))


def test_answers_do_not_depend_on_what_others_suggest(monkeypatch: pytest.MonkeyPatch) -> None:
    # spec: streamon 9.24
    chance, step, taken = random.Random(3), JoinRun.step, Counter[str]()

    def suggested(run: JoinRun, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        plans = {run._name(p): any_plan(p, chance) for p in run.pipelines if chance.random() < 0.5}
        before = [p.route for p in run.pipelines]
        run.take_over(plans)
        for pipeline, route in zip(run.pipelines, before, strict=True):
            taken["orders"] += pipeline.route[0] != route[0]
            taken["ways"] += pipeline.route[1] != route[1]
            taken["trials"] += pipeline.order.is_trying
        return step(run, inputs, moment)

    Eager(monkeypatch)
    monkeypatch.setattr(JoinRun, "step", suggested)
    for seed in range(100):
        case = join_case(seed, row_counts=(8, 16))
        program = case.program()
        (query,) = program.catalog.queries()
        expected = reference(program, case.feeds).answers["q"]
        engine = batched(chance.choice((2, 5, 100)), placement=placed(program))
        ran = engine(program, case.feeds).answers["q"]
        wrong = differences(expected, ran, query.plan.schema)
        assert not wrong, f"seed {seed}: {wrong}"
    assert taken["orders"] > 50, taken
    assert taken["ways"] > 5, taken
    assert taken["trials"] > 50, taken


def met_one_by_one(pipeline: Pipeline, delta: Delta) -> Mask:
    """Row by row and path by path, look-up after look-up."""
    _, tree = pipeline.route
    found = np.zeros((len(delta), len(pipeline.others)), np.bool_)
    for row in range(len(delta)):
        one = delta.take(np.array([row]))
        for i, member in enumerate(pipeline.others):
            walk = pipeline._new_walk(
                frozenset((pipeline.root,)),
                lambda place, one=one: one.columns[place[1]],  # type: ignore[misc]
                pipeline.root,
            )
            partial = walk.begin(one.start, one.end, one.weight)
            for lookup in pipeline._topology.lookups(pipeline.root, path_to(member, tree)):
                partial = walk.expand(lookup, partial)
            found[row, i] = len(partial) > 0
    return found


@pytest.mark.parametrize("graph", [star(4), chain(5), cycle(4)], ids=lambda graph: graph.name)
def test_what_is_scouted_is_what_is_there(graph: Graph) -> None:
    joined = Joined(graph.script(), ORDERS)
    shares = (0.5, 0.6, 0.7, 0.4)[: len(graph.edges)]
    for batch in batches(graph, shares, 20_000, range(4), np.random.default_rng(5)):
        joined.step(batch)
    outcomes = set()
    for pipeline in joined.join.pipelines:
        some = batch[f"R{pipeline.root}"].part(slice(0, 40))
        scouted = pipeline.scout.along(pipeline.route[1], some)
        assert scouted.passes.tolist() == met_one_by_one(pipeline, some).tolist()
        outcomes.update(scouted.passes.mean(axis=0).round(2).tolist())
    assert len(outcomes) > 3
