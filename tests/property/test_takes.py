"""What the parts of a batch take of a stream is, together, what one task would take."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.errors import SourceText
from thalweg.intake.reading import Cursor
from thalweg.intake.take import Taken, together
from thalweg.job.script import work_of
from thalweg.operators.delta import combined
from thalweg.program import bind_script
from thalweg.segments import SegmentReader
from thalweg.work import Work

SHARDS = 3
SCRIPT = """
CREATE STREAM S (k INT, v SMALLINT NOT NULL, t STRING, ts BIGINT)
  TIMESTAMP BY ts SLACK 2 SECONDS FROM parquet('s');
CREATE QUERY by_key AS SELECT k, count(*) AS n FROM S [ROWS 5] GROUP BY k;
CREATE QUERY kept AS SELECT ISTREAM(k, t) FROM S [RANGE 3 SECONDS] WHERE v > 0;
CREATE QUERY wrong AS SELECT ISTREAM(1 / v AS r) FROM S [NOW];
"""


def some_work(random: random.Random, folder: Path) -> Work:
    (folder / "s").mkdir(parents=True)
    in_order = random.random() < 0.5
    for file in range(random.randint(1, 3)):
        rows = random.randint(0, 30)
        if in_order:
            time = [100 * file + i for i in range(rows)]
        else:
            time = [random.choice((None, *range(i, i + 4))) for i in range(rows)]
        table = {
            "k": pa.array([random.choice((None, 1, 2, 3)) for _ in range(rows)], pa.int32()),
            "v": pa.array([random.choice((None, 0, 1, 2**20)) for _ in range(rows)], pa.int64()),
            "t": pa.array([random.choice((None, "", "a", "Ä")) for _ in range(rows)], pa.string()),
            "ts": pa.array(time, pa.int64()),
        }
        path = folder / "s" / f"{file}.parquet"
        pq.write_table(pa.table(table), path, row_group_size=random.choice((2, 7, 100)))
    program = bind_script(SourceText("case", SCRIPT), (folder,))
    return replace(work_of(program, folder / "job", {}, 100, []), shards=SHARDS)


def took(work: Work, parts: list[int]) -> Taken:
    """What tasks that know nothing of each other take from the beginning of the stream."""
    takes = [
        work.intake("S").take(Cursor(), parts, number, work.root / "segments")
        for number in range(len(parts))
    ]
    random.shuffle(takes)
    (taken,) = together(takes)
    return taken


def contents(work: Work, taken: Taken) -> dict[Any, Any]:
    """The rows by shard and exchange."""
    reader = SegmentReader()
    found = {}
    for shard in range(work.shards):
        for exchange in work.placement.exchanges:
            pieces = [p for p in taken.pieces.get(shard, []) if p.exchange == exchange.number]
            schema = exchange.plan.schema
            delta = combined([reader.read(piece, schema) for piece in pieces], schema)
            found[shard, exchange.number] = (
                [column.values() for column in delta.columns],
                delta.start.tolist(),
                None if delta.position is None or not len(delta) else delta.position.tolist(),
            )
    return found


def test_parts_take_what_one_task_takes(tmp_path: Path) -> None:
    for seed in range(120):
        source = random.Random(seed)
        work = some_work(source, tmp_path / str(seed))
        parts = [source.randint(1, 12) for _ in range(source.randint(1, 5))]
        whole, cut = took(work, [sum(parts)]), took(work, parts)
        assert contents(work, cut) == contents(work, whole), seed
        assert set(cut.failures) == set(whole.failures), seed
        same = {"pieces": {}, "failures": [], "seconds": {}, "measured": [], "part": 0}
        assert replace(cut, **same) == replace(whole, **same), seed
