"""Compiled loops against their plain-Python text, and against what they stand for."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.kernels import read_only
from thalweg.kernels.hashing import hash_bytes
from thalweg.kernels.probe import cross, first_matches, probe_records
from thalweg.kernels.slots import SlotTable, assign_slots, hash_rows
from thalweg.kernels.texts import Texts
from thalweg.operators.delta import Delta, nothing
from thalweg.operators.store import Store
from thalweg.types import BIGINT, INT, STRING, Field
from thalweg.vector.column import Vector, from_values
from thalweg.vector.hashing import hash_column

SEEDS = range(20)
NOWHERE = np.empty(0, np.int64)


@pytest.mark.parametrize("seed", SEEDS)
def test_slots_are_a_dictionary(seed: int) -> None:
    """Rows come and go; a row has one slot while it is there, and no two rows share one."""
    rng = np.random.default_rng(seed)
    table, known = SlotTable(2), dict[tuple[int, ...], int]()
    for _ in range(30):
        words = rng.integers(-3, 4, (int(rng.integers(1, 80)), 2))
        slots, fresh = table.assign(words)
        assert {tuple(row) for row in words[fresh].tolist()}.isdisjoint(known)
        for row, slot in zip(words.tolist(), slots.tolist(), strict=True):
            assert known.setdefault(tuple(row), slot) == slot
        assert len(set(known.values())) == len(known) == len(table)
        leaving = [row for row in known if rng.random() < 0.3]
        table.release(np.array([known.pop(row) for row in leaving], np.int64))


def test_slots_compiled_and_interpreted() -> None:
    words = np.random.default_rng(1).integers(-5, 6, (300, 2))
    texts = read_only(np.frombuffer(b"abcabcabc" * 100, np.uint8))
    offsets = np.arange(301) * 3
    outcomes = []
    for run in (assign_slots, assign_slots.py_func):  # type: ignore[attr-defined]
        hashes = hash_rows(words, Texts(texts, offsets))
        table, slots = np.full(1024, -1, np.int32), np.empty(300, np.int64)
        stored, places = np.zeros((600, 2), np.int64), np.zeros((600, 2), np.int64)
        numbers = np.zeros(600, np.int64), np.zeros(600, np.int32), np.zeros(3, np.int64)
        run(
            *(words, hashes, texts, offsets, 0, table, stored, numbers[0]),
            *(np.zeros(1, np.uint8), places, numbers[1], numbers[2], slots, np.empty_like(slots)),
        )
        outcomes.append((slots.tolist(), places.tolist(), numbers[2].tolist()))
    assert outcomes[0] == outcomes[1]


def stored_rows(
    rng: random.Random, count: int, time: int, span: int | None, in_order: bool = False
) -> list[tuple[int, int, int]]:
    """(key, start, end) of rows that share a few keys; if they are to be in order, none ends
    before one that came before it."""
    starts = [time + rng.randrange(6 if in_order else 20) for _ in range(count)]
    rows = [(rng.randrange(6), start, start + (span or rng.randrange(1, 9))) for start in starts]
    return sorted(rows, key=lambda row: row[2]) if in_order else rows


def matches(
    probing: list[tuple[int, int, int]], stored: list[tuple[int, int, int]], by_key: bool
) -> Iterator[tuple[int, int, int, int]]:
    for i, (key, start, end) in enumerate(probing):
        for j, (other, since, until) in enumerate(stored):
            if (key == other or not by_key) and max(start, since) < min(end, until):
                yield i, j, max(start, since), min(end, until)


@pytest.mark.parametrize("key", [(0,), ()])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_store_finds_what_a_nested_loop_finds(seed: int, key: tuple[int, ...]) -> None:
    """Also where a row has more partners than there was room for, and after rows have gone;
    with the rows of the last batch and without."""
    rng = random.Random(seed)
    span = 9 if rng.random() < 0.5 else None
    disorder = rng.choice((0.0, 0.2, 1.0))
    stored, store = list[tuple[int, int, int]](), Store(SCHEMA, key, has_ends=span is None)
    reader = store.new_reader()
    for time in range(0, 60, 6):
        in_order = rng.random() >= disorder
        more = stored_rows(rng, rng.choice((0, 3, 200)), time, span, in_order)
        store.add(as_delta(more) if more else nothing(SCHEMA))
        with_new = rng.random() < 0.5
        seen = [*stored, *(more if with_new else [])]
        stored += more
        probing = stored_rows(rng, rng.randrange(1, 30), time, span)
        delta = as_delta(probing)
        keys = tuple(delta.columns[i] for i in key)
        old = store.ring.count - (0 if with_new else store.added)
        found = store.index.probe(store.ring, keys, delta.start, delta.end, old, span)
        shown = [store.take(i, found[1]).values() for i in range(len(SCHEMA))]
        pairs = zip(found[0].tolist(), *shown, found[2].tolist(), found[3].tolist(), strict=True)
        assert sorted(pairs) == sorted(
            (i, *row_of(seen[j]), since, until)
            for i, j, since, until in matches(probing, seen, by_key=bool(key))
        )
        store.release(reader, time if span is None else time - span)
        stored = [row for row in stored if row[2] > time]
        if rng.random() < 0.3:
            store = pickle.loads(pickle.dumps(store))


SCHEMA = (Field("k", BIGINT), Field("ts", BIGINT), Field("n", INT), Field("s", STRING))


def row_of(row: tuple[int, int, int]) -> tuple[int, int, int, str]:
    key, start, end = row
    return key, start if end % 5 else end, 10 * key + start, f"{key} {start}"


def as_delta(rows: list[tuple[int, int, int]]) -> Delta:
    starts, ends = (np.array([row[i] for row in rows], np.int64) for i in (1, 2))
    cells = list(zip(*map(row_of, rows), strict=True))
    columns = tuple(from_values(c, f.type) for c, f in zip(cells, SCHEMA, strict=True))
    return Delta(columns, starts, ends, np.ones(len(rows), np.int64))


def test_rows_that_come_and_end_in_order_take_no_more_room() -> None:
    """A ring is as large as what it holds, whatever has passed through it."""
    store = Store(SCHEMA, (0,), has_ends=False)
    reader = store.new_reader()
    for time in range(0, 100_000, 100):
        store.add(as_delta([(i, time, time + 1000) for i in range(100)]))
        store.release(reader, time - 1000)
    assert store.ring.count <= 1100
    assert store.ring.room <= 2 * 1100
    assert len(pickle.dumps(store, 5)) < 60 * store.ring.room


def test_a_row_that_stays_does_not_keep_those_behind_it() -> None:
    store = Store(SCHEMA, (0,), has_ends=True)
    reader = store.new_reader()
    store.add(as_delta([(0, 0, 10**9)]))
    for time in range(1, 20_000, 10):
        store.add(as_delta([(1, time, time + 10) for _ in range(10)]))
        store.release(reader, time)
    assert store.ring.room < 1000


# The slot and the number of the newest record, how many there are and are seen, each with an end.
RING = (2, 9, 3, 3, -1)


def test_a_probe_compiled_and_interpreted() -> None:
    records = np.array([[5, 0, 9, 6], [5, 3, 4, 7], [6, 0, 9, 8]], np.int64)
    heads, shift = np.full(64, 9, np.uint32), np.uint64(58)
    keys, starts, ends = (np.array(part, np.int64) for part in ([5, 6], [2, 2], [8, 8]))
    outcomes = []
    for run in (probe_records, probe_records.py_func):  # type: ignore[attr-defined]
        left, right = np.zeros(8, np.int64), np.zeros(8, np.int64)
        with np.errstate(over="ignore"):
            given = (keys, starts, ends, records, heads, shift, *RING, False, NOWHERE, 0)
            found, stopped, _ = run(*given, left, right)
        outcomes.append((found, stopped, left[:found].tolist(), right[:found].tolist()))
    assert outcomes[0] == outcomes[1] == (3, 2, [0, 0, 1], [1, 0, 2])


def test_a_first_match_and_all_that_follow_it() -> None:
    """Compiled and interpreted; what is found from the first match on is all there is."""
    records = np.array([[5, 0, 9, 6], [5, 3, 4, 7], [6, 0, 9, 8]], np.int64)
    heads, shift = np.full(64, 9, np.uint32), np.uint64(58)
    keys, starts, ends = (np.array(part, np.int64) for part in ([5, 6, 7], [2, 2, 2], [8, 8, 8]))
    for run in (first_matches, first_matches.py_func):  # type: ignore[attr-defined]
        first = np.zeros(3, np.int64)
        with np.errstate(over="ignore"):
            run(keys, starts, ends, records, heads, shift, *RING, False, first)
        assert first.tolist() == [1, 2, -1]
    left, right = np.zeros(8, np.int64), np.zeros(8, np.int64)
    found, _, _ = probe_records(
        keys, starts, ends, records, heads, shift, *RING, False, first, 0, left, right
    )
    assert (left[:found].tolist(), right[:found].tolist()) == ([0, 0, 1], [1, 0, 2])


def test_numbers_of_records_begin_anew() -> None:
    """Their last 32 bits are kept; one that is as many records old is of another bucket."""
    rng = random.Random(0)
    for gone in (2**32 - 300, 2**32, 2**33 - 7):
        store = Store(SCHEMA, (0,), has_ends=False)
        reader = store.new_reader()
        store.add(as_delta(stored_rows(rng, 300, 0, 9, in_order=True)))
        # All buckets know records that would be young if so many had come since.
        store.ring.gone += gone
        stored: list[tuple[int, int, int]] = []
        for time in range(30, 90, 6):
            store.release(reader, time - 9)
            more = stored_rows(rng, 100, time, 9, in_order=True)
            store.add(as_delta(more))
            stored = [row for row in stored if row[2] > time] + more
            probing = stored_rows(rng, 30, time, 9)
            delta = as_delta(probing)
            keys = (delta.columns[0],)
            found = store.index.probe(store.ring, keys, delta.start, delta.end, store.ring.count, 9)
            expected = [m[0] for m in matches(probing, stored, by_key=True)]
            assert sorted(found[0].tolist()) == sorted(expected)


@pytest.mark.parametrize("in_order", [False, True])
def test_a_chain_is_left_where_records_are_over(in_order: bool) -> None:
    """The oldest record is one that ends last: it is not looked at where that cannot be."""
    records = np.array([[5, 0, 9, 6], [5, 0, 2, 7], [5, 1, 9, 8]], np.int64)
    heads, shift = np.full(64, 9, np.uint32), np.uint64(58)
    keys, starts, ends = (np.array(part, np.int64) for part in ([5], [3], [8]))
    for run in (probe_records, probe_records.py_func):  # type: ignore[attr-defined]
        left, right = np.zeros(8, np.int64), np.zeros(8, np.int64)
        with np.errstate(over="ignore"):
            given = (
                keys,
                starts,
                ends,
                records,
                heads,
                shift,
                2,
                9,
                3,
                3,
                -1,
                in_order,
                NOWHERE,
                0,
            )
            found, _, _ = run(*given, left, right)
        assert right[:found].tolist() == ([2] if in_order else [2, 0])


def test_combinations_of_one_owner_that_meet() -> None:
    owners, start, end = (np.array(part, np.int64) for part in ([0, 0, 2], [0, 5, 0], [4, 9, 9]))
    firsts, start2, end2 = (
        np.array(part, np.int64) for part in ([0, 2, 2, 3], [1, 4, 8], [2, 6, 9])
    )
    for run in (cross, cross.py_func):  # type: ignore[attr-defined]
        mine, theirs = np.zeros(8, np.int64), np.zeros(8, np.int64)
        found = run(owners, start, end, firsts, start2, end2, mine, theirs)
        assert list(zip(mine[:found], theirs[:found], strict=True)) == [(0, 0), (1, 1), (2, 2)]


@given(st.lists(st.integers(-3, 3), max_size=40), st.lists(st.integers(-4, 4), max_size=40))
def test_slots_are_found_as_they_were_assigned(known: list[int], asked: list[int]) -> None:
    table = SlotTable(1)
    assigned, _ = table.assign(np.array(known, np.int64).reshape(-1, 1))
    slot_of = dict(zip(known, assigned.tolist(), strict=True))
    found = table.find(np.array(asked, np.int64).reshape(-1, 1))
    assert found.tolist() == [slot_of.get(key, -1) for key in asked]


def test_texts_hash_alike_compiled_interpreted_and_sliced() -> None:
    texts = ["", "a", "ab", "b", "Ä", "a" * 100, "", "ab"]
    column = from_values(texts, STRING)
    hashes = hash_column(column)
    assert len(set(hashes.tolist())) == len(set(texts))
    assert hashes[[0, 2]].tolist() == hashes[[6, 7]].tolist()
    assert hash_column(Vector(STRING, column.data[3:])).tolist() == hashes[3:].tolist()
    _, offsets, data = column.data.buffers()
    starts = np.frombuffer(offsets, np.int32)[: len(texts) + 1]
    content = np.frombuffer(data, np.uint8)
    plain = hash_bytes.py_func(content, starts)  # type: ignore[attr-defined]
    assert plain.tolist() == hash_bytes(content, starts).tolist()
