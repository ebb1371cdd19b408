"""Rows spread over shards and written to segments are the rows, each in its shard."""

from __future__ import annotations

import decimal as dec
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from thalweg.intake.lateness import late_of
from thalweg.intake.split import shard_of, split
from thalweg.kernels.lateness import mark_late
from thalweg.kernels.scatter import owners_of, places_of, scatter
from thalweg.operators.delta import Delta, combined, nothing
from thalweg.segments import SegmentReader, SegmentWriter
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    Schema,
    StructType,
    Type,
)
from thalweg.vector.column import Vector, from_values, rows_of

VALUES: dict[Type, tuple[Any, ...]] = {
    BOOLEAN: (True, False),
    TINYINT: (0, 1, -128),
    SMALLINT: (0, 7, -(2**15)),
    INT: (0, 7, 2**31 - 1),
    BIGINT: (0, 7, -(2**63)),
    FLOAT: (0.5, -0.0, float("inf")),
    DOUBLE: (0.1, 0.0, 1e300),
    DATE: (0, 20_000),
    TIMESTAMP: (0, 10**15),
    STRING: ("", "a", "Ä", "longer than a few bytes"),
    DecimalType(precision=5, scale=2): (dec.Decimal("1.25"), dec.Decimal("-3.10")),
    ArrayType(element=INT): ((), (1, None), (2, 3)),
    StructType(fields=(Field("a", INT), Field("b", STRING))): ((1, "x"), (None, None)),
}


def some_rows(source: random.Random) -> tuple[Delta, Schema]:
    types = [source.choice(list(VALUES)) for _ in range(source.randint(0, 5))]
    schema = tuple(Field(f"c{i}", type_) for i, type_ in enumerate(types))
    length = source.choice((0, 1, 2, 50))
    nulls = source.choice((0, 0.3))

    def some_values(type_: Type) -> list[Any]:
        values = (source.choice(VALUES[type_]) for _ in range(length))
        return [None if source.random() < nulls else value for value in values]

    columns = [from_values(some_values(type_), type_) for type_ in types]
    start = np.array([source.randint(-5, 5) for _ in range(length)], np.int64)
    if source.random() < 0.5:  # an event time that is a column too
        columns.append(Vector(TIMESTAMP, start))
        schema = (*schema, Field("ts", TIMESTAMP))
    weights = source.choice(((1,), (1, -1, 2)))
    return (
        Delta(
            tuple(columns),
            start,
            start if source.random() < 0.5 else start + 3,
            np.array([source.choice(weights) for _ in range(length)], np.int64),
            source.choice((None, np.arange(length) + 10)),
        ),
        schema,
    )


def listed(delta: Delta) -> list[Any]:
    position = [None] * len(delta) if delta.position is None else delta.position.tolist()
    numbers = (delta.start.tolist(), delta.end.tolist(), delta.weight.tolist(), position)
    return list(zip(rows_of(delta.columns, len(delta)), *numbers, strict=True))


@pytest.mark.parametrize("part", range(4))
def test_every_row_reaches_its_shard(part: int, tmp_path: Path) -> None:
    for seed in range(part, 200, 4):
        source = random.Random(seed)
        delta, schema = some_rows(source)
        shards = source.choice((1, 2, 5))
        some = tuple(source.sample(range(len(schema)), source.randint(0, len(schema))))
        keys = some or None
        owners = [0] * len(delta)
        if keys is not None:
            columns = tuple(delta.columns[i] for i in keys)
            owners = shard_of(columns, len(delta), shards).tolist()
        spread = split(delta, keys, shards)
        parts = dict(spread.parts())
        rows = listed(delta)
        writer = SegmentWriter(tmp_path)
        pieces = [dict(writer.add(3, spread.rows, spread.starts)) for _ in range(2)]
        writer.close()
        reader = SegmentReader()
        for shard in range(shards):
            own = [row for row, owner in zip(rows, owners, strict=True) if owner == shard]
            assert listed(parts.get(shard, nothing(schema))) == own, seed
            stored = [reader.read(p[shard], schema) for p in pieces if shard in p]
            assert [listed(read) for read in stored] == [own] * len(stored), seed
            assert bool(own) == bool(stored)
            for read in stored:
                assert read.start.base is not None
                for column, field in zip(read.columns, schema, strict=True):
                    assert column.type == field.type
            assert listed(combined(stored, schema)) == own * len(stored), seed


def test_what_follows_from_the_rest_is_not_written(tmp_path: Path) -> None:
    time = np.arange(1000, dtype=np.int64)
    key = Vector(BIGINT, time * 7)
    short = Delta((key, Vector(TIMESTAMP, time)), time, time, np.ones(1000, np.int64))
    writer = SegmentWriter(tmp_path)
    ((_, piece),) = writer.add(0, short, [0, 1000])
    writer.close()
    assert 16_000 <= piece.length < 16_600
    schema = (Field("k", BIGINT), Field("ts", TIMESTAMP))
    read = SegmentReader().read(piece, schema)
    assert read.end is read.start
    assert read.columns[1].data is read.start
    taken = read.take(np.array([5, 7]))
    assert taken.columns[1].data is taken.start is taken.end


def test_rows_of_one_key_are_in_one_shard() -> None:
    keys = from_values([i % 100 for i in range(10_000)], INT)
    owners = shard_of((keys,), 10_000, 7)
    assert owners.min() == 0
    assert owners.max() == 6
    assert np.bincount(owners).min() > 500
    assert (owners == np.tile(owners[:100], 100)).all()


def test_kernels_compiled_and_interpreted() -> None:
    source = np.random.default_rng(1)
    hashes = source.integers(0, 2**64, 500, np.uint64)
    for run in (owners_of, owners_of.py_func):  # type: ignore[attr-defined]
        owners = run(hashes, 5)
        assert owners.tolist() == [(int(h) >> 32) * 5 >> 32 for h in hashes]
    for run in (places_of, places_of.py_func):  # type: ignore[attr-defined]
        places, starts = run(owners, 5)
        order = np.argsort(owners, kind="stable")
        assert places[order].tolist() == list(range(500))
        assert starts.tolist() == [int((owners < shard).sum()) for shard in range(6)]
    for run in (scatter, scatter.py_func):  # type: ignore[attr-defined]
        moved = np.empty(500, np.uint64)
        run(hashes, places, moved)
        assert moved.tolist() == hashes[order].tolist()


@pytest.mark.parametrize("seed", range(60))
def test_late_is_below_the_largest_before(seed: int) -> None:
    source = random.Random(seed)
    ends = (-(2**63), -(2**63) + 1, 2**63 - 1) if seed % 3 == 0 else ()
    times = [source.choice((*range(i, i + 5), *ends)) for i in range(source.randint(0, 30))]
    slack = source.choice((0, 2, 2**62, 2**64))
    before = largest = source.choice((None, 3, 2**63 - 1, -(2**63)))
    expected = []
    for time in times:
        expected.append(largest is not None and time < largest - slack)
        largest = time if largest is None else max(largest, time)
    late, highest = late_of(np.array(times, np.int64), before, slack)
    assert highest == largest
    assert (late is None and not any(expected)) or late.tolist() == expected
    if times and slack < 2**63:
        marks = np.empty(len(times), np.bool_)
        start = times[0] if before is None else before
        floor = -(2**63) + slack
        run = mark_late.py_func  # type: ignore[attr-defined]
        assert run(times, start, slack, floor, marks) == (largest, sum(expected))
        assert marks.tolist() == expected
