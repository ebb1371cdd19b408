"""Rows handed over block by block are read in slices of any size, once each and in order."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from thalweg.catalog import Stream
from thalweg.intake.accept import Accepting
from thalweg.intake.slices import Cursor, Slice, as_delta
from thalweg.intake.spooled import Handed, Spool, SpooledReader
from thalweg.operators.delta import Delta, combined
from thalweg.sources import Accepted, Reject
from thalweg.testing.feeds import accepted
from thalweg.testing.strategies import random_case
from thalweg.vector.column import rows_of

SEEDS = 60


def test_slices_of_a_spool(tmp_path: Path) -> None:
    for seed in range(SEEDS):
        case, chance = random_case(seed), random.Random(seed)
        for stream in case.program().catalog.streams():
            judged = accepted(stream, case.feeds().streams[stream.name])
            judged.rejects.append(Reject("here", "no reason", "raw"))
            folder = tmp_path / f"{seed} {stream.name}"
            spooled(folder, judged, chance)
            for rows in (1, 3, 1000):
                check(read_all(folder, stream, rows, chance), judged)


def spooled(folder: Path, judged: Accepting, chance: random.Random) -> None:
    """The rows in blocks of any size, some of them empty, by writers that come and go."""
    spool = Spool(folder)
    rows = as_delta(judged.arrivals, judged.stream.columns)
    cuts = sorted(chance.randint(0, len(rows)) for _ in range(chance.randint(0, 3)))
    asides: list[tuple[list[Accepted], list[Reject]]]
    asides = [([], []) for _ in cuts] + [(judged.late, judged.rejects)]
    chance.shuffle(asides)
    for first, last, aside in zip([0, *cuts], [*cuts, len(rows)], asides, strict=True):
        largest = int(rows.start[:last].max()) if last else None
        spool.add(rows.take(np.arange(first, last)), *aside, Handed(last, largest))
        if chance.random() < 0.5:
            spool = Spool(folder)
    assert not SpooledReader(folder, judged.stream).read(Cursor(), 1000).at_end
    spool.close(judged.stream.columns)


def read_all(folder: Path, stream: Stream, rows: int, chance: random.Random) -> list[Slice]:
    reader, slices = SpooledReader(folder, stream), []
    cursor = Cursor()
    while not slices or not slices[-1].at_end:
        slices.append(reader.read(cursor, rows))
        cursor = Cursor.from_json(slices[-1].cursor.to_json())
        if chance.random() < 0.5:
            reader = SpooledReader(folder, stream)
    return slices


def check(slices: list[Slice], judged: Accepting) -> None:
    columns = judged.stream.columns
    together = combined([one.rows for one in slices], columns)
    assert shown(together) == shown(as_delta(judged.arrivals, columns))
    assert repr([row for one in slices for row in one.late]) == repr(judged.late)
    assert [row for one in slices for row in one.rejects] == judged.rejects
    assert slices[-1].cursor.largest == judged.largest
    assert slices[-1].cursor.seen == len(judged.arrivals)


def shown(rows: Delta) -> str:
    position = None if rows.position is None or not len(rows) else rows.position.tolist()
    return repr((list(rows_of(rows.columns, len(rows))), rows.start.tolist(), position))
