"""Files written from columns are those that the sinks write record by record."""

from __future__ import annotations

import decimal as dec
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from thalweg.catalog import Query
from thalweg.errors import SourceText
from thalweg.operators.answer import Records
from thalweg.program import bind_script
from thalweg.sinks import SINKS, SinkRequest
from thalweg.sinks import columns as column_sinks
from thalweg.sinks.columns import write_records
from thalweg.types import BIGINT, STRING
from thalweg.vector.column import from_shown, from_values

SEEDS = 60
VALUES: dict[str, tuple[Any, ...]] = {
    "BOOLEAN": (True, False),
    "TINYINT": (0, -128, 127),
    "SMALLINT": (0, -1),
    "INT": (0, 7, -(2**31)),
    "BIGINT": (0, 7, -(2**63), 2**63 - 1),
    "FLOAT": (0.0, -0.0, 0.5, 1e10, float(np.float32(0.1)), float("nan")),
    "DOUBLE": (0.0, -0.0, 0.1, 1e-3, 0.00099, 1e7, 9999999.5, 1e16, 5e-324, float("-inf")),
    "DECIMAL(9,7)": (dec.Decimal("0.0000001"), dec.Decimal("-1.5"), dec.Decimal(0)),
    "STRING": ("", "a", "Ä", "a,b", 'x"y', "two\nlines", "\r", "\u2028", "\x85", "\\", "\x00", "%"),
    "BINARY": (b"", b"\xff\0", b"a,b"),
    "DATE": (0, -1, 2**31 - 1, -(2**31)),
    "TIMESTAMP": (
        0, -1, 10**6, 1_711_846_799_999_999, 1_711_846_800_000_000, 1_729_990_800_000_010,
        -(2**62), 2**63 - 1, -(2**63), 253_402_300_800_000_000,
    ),
    "ARRAY<STRING>": ((), ("a", None), ('"',)),
    "STRUCT<a: INT, `b c`: TIMESTAMP>": ((1, 2), (None, 0)),
    "ARRAY<STRUCT<a: DATE, b: ARRAY<DOUBLE>>>": ((), ((1, (0.5, None)), None), ((None, None),)),
}  # fmt: skip
NAMES = ("a", "time", "50%", "x,y", 'q"r', "ü")


def random_records(random: random.Random) -> tuple[Query, Records]:
    types = [random.choice(list(VALUES)) for _ in range(random.randint(1, 5))]
    names = random.sample(NAMES, len(types))
    listing = "".join(f"`{name}` {type_}, " for name, type_ in zip(names, types, strict=True))
    chosen = ", ".join(f"`{name}`" for name in names)
    script = f"""
        SET timezone = '{random.choice(("UTC", "Europe/Paris", "-00:30"))}';
        CREATE STREAM S ({listing} ts BIGINT) TIMESTAMP BY ts FROM memory();
        CREATE QUERY q AS SELECT {chosen} FROM S [RANGE 1]
    """
    query = bind_script(SourceText("case", script)).query("q")
    rows = random.choice((0, 1, 5, 40))
    nulls = random.choice((0, 0.3))
    usual = random.random() < 0.5  # no ends of time, no infinities: the quick ways
    columns = []
    for type_, column in zip(types, query.plan.schema, strict=True):
        pool = VALUES[type_][: 4 if usual else None]
        cells = [None if random.random() < nulls else random.choice(pool) for _ in range(rows)]
        columns.append(from_values(cells, column.type))
    time = np.array([random.randint(-3, 9) for _ in range(rows)], np.int64)
    weight = np.array([random.choice((1, 1, -1, 2, -3)) for _ in range(rows)], np.int64)
    return query, Records(tuple(columns), time, weight)


def write_one_by_one(path: Path, format: str, query: Query, records: Records) -> None:
    writer = SINKS[format].open(SinkRequest(query, path))
    for change in records.changes():
        writer.write(change)
    writer.close()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_the_same_files(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_sinks, "_ROWS_AT_ONCE", 7)
    expected, actual = tmp_path / "expected", tmp_path / "actual"
    for seed in range(SEEDS):
        query, records = random_records(random.Random(seed))
        write_one_by_one(expected, format, query, records)
        write_records(actual, format, query, [records])
        if format == "parquet":
            assert pq.read_schema(actual) == pq.read_schema(expected)
            assert content(actual, query) == content(expected, query), f"seed {seed}"
        else:
            assert actual.read_bytes() == expected.read_bytes(), f"seed {seed}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["actual", "expected"]


def content(path: Path, query: Query) -> str:
    """The values of a file, as text: NaN is not equal to itself."""
    types = [BIGINT, STRING, *(column.type for column in query.plan.schema)]
    columns = pq.read_table(path).combine_chunks().columns
    return repr(
        [
            [value for chunk in column.chunks for value in from_shown(chunk, type_).values()]
            for column, type_ in zip(columns, types, strict=True)
        ]
    )


def test_doubles_as_java_prints_them() -> None:
    chance = random.Random(1)
    for _ in range(20_000):
        value = chance.uniform(-10, 10) * 10.0 ** chance.randint(-8, 12)
        rounded = float(f"{value:.{chance.randint(1, 17)}g}")
        for number in (value, rounded):
            expected = column_sinks.to_text(number, column_sinks.DOUBLE, "UTC")
            assert column_sinks._double_text(number) == expected
