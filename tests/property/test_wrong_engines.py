"""The comparison of the engine with the reference can fail: each broken part is caught.

Each mistake is one that a fast path could really have. Only a different answer
counts, not a crash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg import assembly
from thalweg.intake import split as splitting
from thalweg.kernels import read_only
from thalweg.operators import (
    aggregate_final,
    counts,
    folds,
    join,
    member_folds,
    row_words,
    store,
    windows,
)
from thalweg.operators.delta import FOREVER
from thalweg.optimize import entering, place
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.strategies import random_case

# How many random cases a mistake may survive.
CASES = 300


def leaves_a_tick_early(patch: pytest.MonkeyPatch) -> None:
    lifetimes = windows.lifetimes

    def wrong(window: Any, time: Any) -> Any:
        start, end = lifetimes(window, time)
        return start, np.where(end == windows.FOREVER, end, end - 1)

    patch.setattr(windows, "lifetimes", wrong)


def every_istream_enters(patch: pytest.MonkeyPatch) -> None:
    """Rows given out as they come, also where some cancel."""
    patch.setattr(entering, "shown_times", lambda plan, times: frozenset())


def rows_spread_at_random(patch: pytest.MonkeyPatch) -> None:
    def wrong(keys: Any, length: int, shards: int) -> Any:
        return (np.arange(length) % shards).astype(np.int16)

    patch.setattr(splitting, "shard_of", wrong)


def partition_windows_spread_by_any_column(patch: pytest.MonkeyPatch) -> None:
    keyed = place.Placer.keyed

    def wrong(self: Any, plan: Any, keys: Any) -> Any:
        if isinstance(plan, place.PartitionWindow) and place.is_linear(plan.input):
            return self._above(plan, plan.input, keys)
        return keyed(self, plan, keys)

    patch.setattr(place.Placer, "keyed", wrong)


def hashes_taken_for_values(patch: pytest.MonkeyPatch) -> None:
    """Keys whose hashes are equal are never compared, and many hashes are."""
    exact = store.hash_columns
    patch.setattr(store, "hash_columns", lambda columns, n: exact(columns, n) % 3)
    patch.setattr(join, "equal_values", lambda a, b: np.ones(len(a), np.bool_))


def stores_forget_too_soon(patch: pytest.MonkeyPatch) -> None:
    release = store.Store.release

    def wrong(self: Any, reader: int, bound: int) -> None:
        release(self, reader, min(bound, FOREVER - 1_000_000_000) + 1_000_000_000)

    patch.setattr(store.Store, "release", wrong)


def counts_stop_at_the_batch(patch: pytest.MonkeyPatch) -> None:
    """What a row counted before this batch is forgotten."""
    steps = counts.CountedRows.steps

    def wrong(self: Any, before: int, combine: Any) -> Any:
        self._counts[:] = 0
        return steps(self, before, combine)

    patch.setattr(counts.CountedRows, "steps", wrong)


def totals_stop_at_the_batch(patch: pytest.MonkeyPatch) -> None:
    step = aggregate_final.FinalAggregateRun.step

    def wrong(self: Any, inputs: Any, moment: Any) -> Any:
        for fold in self._totals:
            fold.totals[:] = 0
        return step(self, inputs, moment)

    patch.setattr(aggregate_final.FinalAggregateRun, "step", wrong)


def extremes_stay(patch: pytest.MonkeyPatch) -> None:
    """The least value that a window has seen, not the least in it."""
    fold = member_folds.fold_extremes

    def wrong(events: Any, *others: Any) -> Any:
        return fold(np.where(events < 0, 0, events), *others)

    patch.setattr(member_folds, "fold_extremes", wrong)


def doubles_stay(patch: pytest.MonkeyPatch) -> None:
    """A sum of DOUBLEs from which nothing is taken away again."""
    add = folds.add_doubles

    def wrong(events: Any, weights: Any, *others: Any) -> Any:
        return add(events, np.maximum(weights, 0), *others)

    patch.setattr(folds, "add_doubles", wrong)


def texts_told_apart_by_length(patch: pytest.MonkeyPatch) -> None:
    text_bytes = row_words.text_bytes

    def wrong(texts: Any) -> Any:
        found = text_bytes(texts)
        return replace(found, content=read_only(np.zeros_like(found.content)))

    patch.setattr(row_words, "text_bytes", wrong)


def every_answer_is_taken_as_it_comes(patch: pytest.MonkeyPatch) -> None:
    """Also where rows are equal, or leave as they enter."""
    patch.setattr(assembly, "shows_groups", lambda plan: True)


def semi_joins_count_partners(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(assembly, "_with_partner", lambda count, partners: partners)


MISTAKES: tuple[Callable[[pytest.MonkeyPatch], None], ...] = (
    leaves_a_tick_early,
    every_istream_enters,
    rows_spread_at_random,
    partition_windows_spread_by_any_column,
    hashes_taken_for_values,
    stores_forget_too_soon,
    counts_stop_at_the_batch,
    totals_stop_at_the_batch,
    extremes_stay,
    doubles_stay,
    texts_told_apart_by_length,
    every_answer_is_taken_as_it_comes,
    semi_joins_count_partners,
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_broken_engine_is_caught(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    assert any(map(answers_differ, range(CASES))), f"{mistake.__name__} was never noticed"


def answers_differ(seed: int) -> bool:
    case = random_case(seed)
    program, feeds = case.program(), case.feeds()
    expected = reference(program, feeds).answers
    try:
        actual = batched(3, 4)(program, feeds).answers
    except Exception:
        return False
    return any(
        differences(expected[query.name], actual[query.name], query.plan.schema)
        for query in program.catalog.queries()
    )
