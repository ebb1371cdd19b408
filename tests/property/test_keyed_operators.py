"""What keyed operators keep, against plain lists; and that they forget."""

from __future__ import annotations

import pickle
import random
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest

from thalweg.kernels.timeline import course_of, link_changes, merge_events
from thalweg.operators.agenda import Agenda, in_order
from thalweg.operators.base import Moment, snapshot
from thalweg.operators.counts import CountedRows, as_relation
from thalweg.operators.delta import FOREVER, Delta
from thalweg.operators.measures import Distinct, Extreme
from thalweg.operators.member_folds import DistinctFold, ExtremeFold
from thalweg.operators.windows import RowsWindowRun
from thalweg.plan.expressions import Column
from thalweg.plan.nodes import PartitionWindow, SingleRow
from thalweg.types import BIGINT, DOUBLE, STRING, Field, Type, decimal
from thalweg.values import sort_key
from thalweg.vector.column import from_values, rows_of

SEEDS = range(25)
SCHEMA = (Field("k", BIGINT), Field("t", STRING))


def moment(frontier: int) -> Moment:
    return Moment(frontier, (frontier,), {}, None, {})


@pytest.mark.parametrize("seed", SEEDS)
def test_an_agenda_is_a_sorted_list(seed: int) -> None:
    rng = random.Random(seed)
    agenda, kept, now, number = Agenda(2), list[tuple[int, int]](), 0, 0
    for _ in range(60):
        for _ in range(rng.randrange(3)):
            some = []
            for _ in range(rng.choice((0, 1, 5, 200))):
                some.append((now + rng.choice((0, 1, rng.randrange(300))), number))
                number += 1
            kept += some
            agenda.add(np.array(some, np.int64).reshape(-1, 2))
        now += rng.choice((0, 1, 10, 60))
        due = agenda.due(now)
        found = [] if due is None else due.tolist()
        assert [time for time, _ in found] == sorted(time for time, _ in found)
        assert sorted(map(tuple, found)) == sorted(event for event in kept if event[0] < now)
        kept = [event for event in kept if event[0] >= now]


def test_an_agenda_that_does_not_grow_stays_where_it_is() -> None:
    agenda, places = Agenda(3), set()
    for batch in range(400):
        events = np.zeros((100, 3), np.int64)
        events[:, 0] = np.arange(batch * 100, batch * 100 + 100) + 5000
        agenda.add(events)
        agenda.due(batch * 100)
        if batch > 200:
            places |= {run._rows.ctypes.data for run in agenda._runs}
    assert len(places) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_course_has_an_entry_per_slot_and_instant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    events = in_order(rng.integers(0, 6, (50, 3)))
    last = np.full(6, -1, np.int32)
    course = course_of(events, last)
    keys = [(slot, time) for time, slot, _ in events.tolist()]
    assert [(course.slot[e], course.time[e]) for e in course.entry] == keys
    entries = list(zip(course.slot.tolist(), course.time.tolist(), strict=True))
    assert len(set(entries)) == len(entries) == len(set(keys))
    for i, (slot, _) in enumerate(entries):
        before = [j for j in range(i) if entries[j][0] == slot]
        assert course.previous[i] == (before[-1] if before else -1)
    assert (last == -1).all()
    changed = rng.random(len(course)) < 0.5
    chosen = np.flatnonzero(changed).tolist()
    linked = link_changes(course.previous, changed, len(chosen)).tolist()
    for place, i in enumerate(chosen):
        before = [p for p, j in enumerate(chosen[:place]) if entries[j][0] == entries[i][0]]
        assert linked[place] == (before[-1] if before else -1)


def test_events_are_merged() -> None:
    rng = np.random.default_rng(3)
    a, b = (in_order(rng.integers(0, 9, (n, 2))) for n in (7, 12))
    for merge in (merge_events, merge_events.py_func):  # type: ignore[attr-defined]
        merged = merge(a, b)
        assert (np.diff(merged[:, 0]) >= 0).all()
        assert sorted(merged.tolist()) == sorted(a.tolist() + b.tolist())


VALUES: dict[Type, tuple[Any, ...]] = {
    BIGINT: (-(2**63), -1, 0, 1, 2, 2**63 - 1),
    DOUBLE: (float("-inf"), -1.5, -0.0, 0.0, 5e-324, 1e9, float("inf"), float("nan")),
    STRING: ("", "a", "ab", "b", "same start, 1", "same start, 2", "Ä", "\0"),
    decimal(9, 3): tuple(from_values([1, -2, 0], decimal(9, 3)).values()),
}


@pytest.mark.parametrize("type_", VALUES)
@pytest.mark.parametrize("seed", SEEDS)
def test_extremes_of_what_comes_and_goes(seed: int, type_: Type) -> None:
    """Values of three groups, in and out in any order, some of them several times."""
    rng = random.Random(seed)
    argument = Column(type=type_, index=0, name="x")
    greatest = rng.random() < 0.5
    extreme = ExtremeFold(Extreme(argument, (), greatest), 3)
    distinct = DistinctFold(Distinct((argument,), ()), 4)
    bags, number = defaultdict[int, Counter[Any]](Counter), defaultdict[int, int](int)
    best = max if greatest else min
    extreme.make_room(3)
    for time in range(60):
        rows = []
        for _ in range(rng.randrange(1, 12)):
            group, value = rng.randrange(3), rng.choice((None, *VALUES[type_]))
            inside = [v for v, count in bags[group].items() if count > 0]
            if inside and rng.random() < (0.7 if time > 40 else 0.4):
                rows.append((group, rng.choice(inside), -1))
                bags[group][rows[-1][1]] -= 1
            else:
                rows.append((group, value, 1))
                if value is not None:
                    bags[group][next((v for v in bags[group] if alike(v, value)), value)] += 1
        values = (from_values([value for _, value, _ in rows], type_),)
        groups = np.array([group for group, _, _ in rows], np.int64)
        never = np.zeros(len(rows), np.bool_)
        events = np.zeros((len(rows), 5), np.int64)
        events[:, 1] = groups
        events[:, 2] = [weight for _, _, weight in rows]
        events[:, 3] = extreme.enter(groups, values, never)
        events[:, 4] = distinct.enter(groups, values, never)
        course = course_of(events, np.full(3, -1, np.int32))
        after = extreme.fold(events, course).after.values()
        for slot, change in zip(groups.tolist(), distinct.weights(events).tolist(), strict=True):
            number[slot] += change
        for group, shown in zip(course.slot.tolist(), after, strict=True):
            there = [v for v, count in bags[group].items() if count > 0]
            expected = best(there, key=sort_key, default=None)
            assert sort_key(shown) == sort_key(expected)
            assert number[group] == len({sort_key(v) for v in there})
        extreme.forget()
        distinct.forget()
    live = sum(1 for bag in bags.values() for count in bag.values() if count > 0)
    assert len(distinct._members.keys) == live
    assert len(extreme._members.keys) <= 2 * live + 65


def alike(a: Any, b: Any) -> bool:
    return sort_key(a) == sort_key(b)


def rows_in(rng: random.Random, count: int, first: int) -> Delta:
    """Elements in the order of arrival: times mostly ascend."""
    times = sorted(first + rng.randrange(8) for _ in range(count))
    keys = [rng.choice((None, 1, 2, 3)) for _ in times]
    texts = [rng.choice((None, "a", "b", "")) for _ in times]
    at = np.array(times, np.int64)
    columns = (from_values(keys, BIGINT), from_values(texts, STRING))
    return Delta(columns, at, at, np.ones(count, np.int64), np.arange(count) + first * 1000)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_rows_of_partitions(seed: int) -> None:
    rng = random.Random(seed)
    window = PartitionWindow(SingleRow(), rows=rng.randrange(1, 4), keys=(0,))
    run = RowsWindowRun(window, SCHEMA)
    everything: list[tuple[int, int, Any]] = []
    inside = Counter[Any]()
    for batch in range(20):
        delta = rows_in(rng, rng.randrange(0, 30), batch * 8)
        everything += [
            (time, position, row)
            for time, position, row in zip(
                delta.start.tolist(),
                delta.position.tolist(),  # type: ignore[union-attr]
                rows_of(delta.columns, len(delta)),
                strict=True,
            )
        ]
        now = batch * 8 + rng.randrange(9)
        changes = run.step((delta,), moment(now))
        assert len(changes) <= 2 * len(everything)
        for row, start, end, weight in zip(
            rows_of(changes.columns, len(changes)),
            changes.start.tolist(),
            changes.end.tolist(),
            changes.weight.tolist(),
            strict=True,
        ):
            assert start < now
            inside[row] += weight
            inside[row] -= weight if end < FOREVER else 0
        by_key = defaultdict[Any, list[Any]](list)
        for time, _, row in sorted(everything, key=lambda entry: entry[:2]):
            if time < now:
                by_key[row[0]].append(row)
        expected = Counter(row for rows in by_key.values() for row in rows[-window.rows :])
        assert +inside == expected


def test_a_window_of_rows_does_not_grow() -> None:
    rng = random.Random(1)
    run = RowsWindowRun(PartitionWindow(SingleRow(), rows=3, keys=(0,)), SCHEMA)
    sizes = []
    for batch in range(200):
        run.step((rows_in(rng, 20, batch * 8),), moment(batch * 8))
        sizes.append(len(pickle.dumps(snapshot(run))))
    assert max(sizes) <= 1.1 * max(sizes[:30])


@pytest.mark.parametrize("seed", SEEDS)
def test_counted_rows_are_net(seed: int) -> None:
    """Summing what a relation gave out is what is in it, at every instant."""
    rng = random.Random(seed)
    rows, now = CountedRows(SCHEMA, 1), 0
    given: list[tuple[Any, int, int, int]] = []
    shown: list[tuple[Any, int, int, int]] = []
    for batch in range(12):
        delta = rows_in(rng, rng.randrange(0, 20), batch * 8)
        ends = delta.start + np.array([rng.randrange(1, 30) for _ in range(len(delta))], np.int64)
        ends = np.where(rng.random() < 0.2, FOREVER, ends)
        delta = Delta(delta.columns, delta.start, ends, delta.weight)
        given += stretches(delta)
        rows.add(0, delta)
        now = (batch + 1) * 8
        changes = as_relation(rows.steps(now, lambda count: np.minimum(count, 1)), SCHEMA)
        shown += stretches(changes)
    for instant in range(now):
        expected = {row for row, count in content(given, instant).items() if count > 0}
        assert +content(shown, instant) == Counter(expected)


def stretches(delta: Delta) -> list[tuple[Any, int, int, int]]:
    numbers = (delta.start.tolist(), delta.end.tolist(), delta.weight.tolist())
    return list(zip(rows_of(delta.columns, len(delta)), *numbers, strict=True))


def content(rows: list[tuple[Any, int, int, int]], instant: int) -> Counter[Any]:
    found = Counter[Any]()
    for row, start, end, weight in rows:
        if start <= instant < end:
            found[row] += weight
    return found
