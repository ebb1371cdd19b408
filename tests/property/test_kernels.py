"""Compiled loops against their plain-Python text, and against what they stand for."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from thalweg.kernels.hashing import hash_bytes
from thalweg.kernels.probe import probe_records
from thalweg.kernels.slots import (
    SlotTable,
    assign_slots,
    first_of_slots,
    hash_rows,
    totals_of_slots,
)
from thalweg.operators.delta import Delta
from thalweg.operators.store import Index
from thalweg.types import BIGINT, STRING
from thalweg.vector.column import Vector, from_values
from thalweg.vector.hashing import hash_column

SEEDS = range(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_slots_are_a_dictionary(seed: int) -> None:
    """Rows come and go; a row has one slot while it is there, and no two rows share one."""
    rng = np.random.default_rng(seed)
    table, known = SlotTable(2), dict[tuple[int, ...], int]()
    for _ in range(30):
        words = rng.integers(-3, 4, (int(rng.integers(1, 80)), 2))
        for row, slot in zip(words.tolist(), table.assign(words).tolist(), strict=True):
            assert known.setdefault(tuple(row), slot) == slot
        assert len(set(known.values())) == len(known) == len(table)
        leaving = [row for row in known if rng.random() < 0.3]
        table.release(np.array([known.pop(row) for row in leaving], np.int64))


def test_slots_compiled_and_interpreted() -> None:
    words = np.random.default_rng(1).integers(-5, 6, (300, 2))
    outcomes = []
    for run in (assign_slots, assign_slots.py_func):  # type: ignore[attr-defined]
        table = np.full(2048, -1, np.int64)
        stored = np.zeros((600, 2), np.int64)
        numbers = (np.zeros(600, np.int64), np.zeros(600, np.int64), np.zeros(2, np.int64))
        outcomes.append(run(words, hash_rows(words), table, stored, *numbers).tolist())
    assert outcomes[0] == outcomes[1]


def test_totals_and_first_rows() -> None:
    rng = np.random.default_rng(2)
    slots = np.r_[np.arange(7), rng.integers(0, 7, 200)]
    numbers = rng.integers(-9, 10, (207, 3))
    totals = totals_of_slots(slots, numbers, 7)
    assert totals.tolist() == [numbers[slots == i].sum(axis=0).tolist() for i in range(7)]
    assert first_of_slots(slots, 7).tolist() == list(range(7))


def stored_rows(rng: random.Random, count: int) -> list[tuple[int, int, int]]:
    """(key, start, end) of rows that share a few keys."""
    starts = [rng.randrange(20) for _ in range(count)]
    return [(rng.randrange(6), start, start + rng.randrange(1, 9)) for start in starts]


def matches(
    probing: list[tuple[int, int, int]], stored: list[tuple[int, int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    for i, (key, start, end) in enumerate(probing):
        for j, (other, since, until) in enumerate(stored):
            if key == other and max(start, since) < min(end, until):
                yield i, j, max(start, since), min(end, until)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_probe_finds_what_a_nested_loop_finds(seed: int) -> None:
    """Also where a row has more partners than there was room for, and after rows have gone."""
    rng = random.Random(seed)
    stored, index = list[tuple[int, int, int]](), Index((0,))
    for _ in range(3):
        more = stored_rows(rng, rng.randrange(1, 200))
        stored += more
        index.add(as_delta(more))
        probing = stored_rows(rng, rng.randrange(1, 30))
        delta = as_delta(probing)
        found = index.probe(delta.columns, delta.start, delta.end)
        assert sorted(zip(*(part.tolist() for part in found), strict=True)) == sorted(
            matches(probing, stored)
        )
        kept = np.array([rng.random() < 0.7 for _ in stored], np.bool_)
        index.keep(kept)
        stored = [row for row, stays in zip(stored, kept, strict=True) if stays]


def as_delta(rows: list[tuple[int, int, int]]) -> Delta:
    keys, starts, ends = (np.array(part, np.int64) for part in zip(*rows, strict=True))
    return Delta((Vector(BIGINT, keys),), starts, ends, np.ones(len(rows), np.int64))


def test_a_probe_compiled_and_interpreted() -> None:
    records = np.array([[5, 0, 9, -1], [5, 3, 4, 0], [6, 0, 9, 1]], np.int64)
    heads = np.array([2], np.int32)
    keys, starts, ends = (np.array(part, np.int64) for part in ([5, 6], [2, 2], [8, 8]))
    outcomes = []
    for run in (probe_records, probe_records.py_func):  # type: ignore[attr-defined]
        left, right = np.zeros(8, np.int64), np.zeros(8, np.int64)
        buckets = np.zeros(2, np.int64)
        found, stopped = run(keys, buckets, starts, ends, records, heads, 0, left, right)
        outcomes.append((found, stopped, left[:found].tolist(), right[:found].tolist()))
    assert outcomes[0] == outcomes[1] == (3, 2, [0, 0, 1], [1, 0, 2])


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
