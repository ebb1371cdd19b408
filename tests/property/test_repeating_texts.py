"""Texts that come as numbers of a dictionary give the same answers as written out."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from job_answers import answers, defined

from thalweg.errors import SourceText
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.program import bind_script

SCRIPT = """
CREATE STREAM S (k STRING, v INT, other STRING, ts BIGINT) TIMESTAMP BY ts SLACK 1 SECOND
  FROM parquet('s');
CREATE STREAM R (k STRING, w INT, ts BIGINT) TIMESTAMP BY ts FROM parquet('r');
CREATE QUERY kept AS SELECT ISTREAM(k, other) FROM S [NOW] WHERE v > 4 AND k <> 'b' AND v < 9;
CREATE QUERY cases AS SELECT ISTREAM(upper(k) AS u, other || '!' AS o, v) FROM S [NOW]
  WHERE v = 3 OR other LIKE 'x%' OR k IS NULL;
CREATE QUERY counted AS SELECT k, count(*) AS n, max(other) AS top FROM S [RANGE 5 SECONDS]
  WHERE v > 1 GROUP BY k;
CREATE QUERY met AS SELECT ISTREAM(S.k, S.other, R.w) FROM S [RANGE 4 SECONDS], R [RANGE 4 SECONDS]
  WHERE S.k = R.k AND S.v <> R.w;
CREATE QUERY last AS SELECT k, v, other FROM S [PARTITION BY k ROWS 2];
CREATE QUERY distinct_ones AS SELECT DISTINCT other FROM S [ROWS 7] WHERE v <> 2;
"""


@pytest.mark.parametrize("seed", range(6))
def test_texts_by_dictionary_answer_as_texts(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for stream, number in (("s", "v"), ("r", "w")):
        (tmp_path / stream).mkdir()
        for file in range(2):
            table = _rows(chance, number, file)
            size = chance.choice((30, 1000))
            pq.write_table(table, tmp_path / stream / f"{file}.parquet", row_group_size=size)
    program = bind_script(SourceText("texts", SCRIPT), (tmp_path,))
    work = work_of(program, tmp_path / "job", {}, chance.choice((40, 1000)), [])
    PlainJob(replace(work, shards=chance.choice((1, 3)), keeps_answers=True)).run()
    assert answers(program, tmp_path / "job") == defined(program)


def _rows(chance: random.Random, number: str, file: int) -> pa.Table:
    count = 150
    columns = {
        "k": pa.array(chance.choices(["a", "b", "ß", "", None], k=count)),
        number: pa.array(chance.choices(range(12), k=count), pa.int32()),
        "ts": pa.array([20 * file + i // 10 for i in range(count)], pa.int64()),
    }
    if number == "v":
        columns["other"] = pa.array(chance.choices(["x", "xy", "z", None], k=count))
    return pa.table(columns)
