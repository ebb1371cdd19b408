"""Columns of the engine as Arrow columns, and back."""

from __future__ import annotations

import decimal as dec
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from thalweg.sinks.parquet import arrow_array
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    YEAR_MONTH,
    Field,
    Type,
    array,
    decimal,
    struct,
    to_arrow,
)
from thalweg.vector.column import CodedVector, from_shown, from_values

PAIR = struct(Field("b", TIMESTAMP), Field("a", STRING))
CASES: tuple[tuple[Type, list[Any]], ...] = (
    (BOOLEAN, [True, None, False]),
    (TINYINT, [1, None, -128]),
    (SMALLINT, [1, None, -1]),
    (INT, [1, None, -1]),
    (BIGINT, [2**63 - 1, None, -1]),
    (FLOAT, [0.5, None, -0.0]),
    (DOUBLE, [0.1, None, float("inf")]),
    (STRING, ["a", None, ""]),
    (BINARY, [b"\xff", None, b""]),
    (DATE, [0, None, -1]),
    (TIMESTAMP, [0, None, -1]),
    (DAYS, [86_400_000_000, None, 0]),
    (DAY_TIME, [5, None, -5]),
    (YEAR_MONTH, [5, None, -5]),
    (decimal(5, 2), [dec.Decimal("1.25"), None, dec.Decimal("-0.01")]),
    (NULL, [None, None, None]),
    (array(INT), [(1, None), None, ()]),
    (array(TIMESTAMP), [(1, None), None, ()]),
    (PAIR, [(1, "x"), None, (None, None)]),
    (array(PAIR), [((1, "x"), None), None, ()]),
    (struct(Field("p", PAIR), Field("d", array(DATE))), [((1, "x"), (0, None)), None, (None, ())]),
    (array(array(PAIR)), [(((1, "x"),), None, ()), None, ()]),
)


@pytest.mark.parametrize(("type_", "values"), CASES, ids=[str(case[0]) for case in CASES])
def test_columns_as_files_show_them(type_: Type, values: list[Any]) -> None:
    values = values * 2
    column = from_values(values, type_)
    rows = np.array([5, 0, 1, 1, 4])
    for part, expected in (
        (column, values),
        (column.take(rows), [values[row] for row in rows]),
        (
            column.where(np.array([False, True, True, False, True, False])),
            values[1:3] + values[4:5],
        ),
        (from_values([], type_), []),
    ):
        shown = part.to_arrow()
        shown.validate(full=True)
        assert shown.type == to_arrow(type_)
        assert shown.equals(arrow_array(expected, type_))
        assert from_shown(shown, type_).values() == expected


@pytest.mark.parametrize(("type_", "values"), CASES, ids=[str(case[0]) for case in CASES])
def test_slices_of_arrow_columns(type_: Type, values: list[Any]) -> None:
    shown = pa.concat_arrays([arrow_array(values, type_)] * 3).slice(2, 5)
    column = from_shown(shown, type_)
    assert column.values() == (values * 3)[2:7]
    assert column.to_arrow().equals(shown)


@pytest.mark.parametrize("texts", [["a", "b", None, "a"], ["a", "b", "b", "a"], []])
def test_texts_by_dictionary_are_the_texts(texts: list[str | None]) -> None:
    plain = from_values(texts, STRING)
    rows, keep = np.array([3, 0, 0][: len(texts)], np.int64), np.arange(len(texts)) % 2 == 1

    def coded() -> CodedVector:
        return CodedVector(pa.array(texts, pa.string()).dictionary_encode())

    assert coded().take(rows).values() == plain.take(rows).values()
    assert coded().where(keep).values() == plain.where(keep).values()
    assert coded().part(slice(1, 3)).values() == plain.part(slice(1, 3)).values()
    assert coded().part(slice(1, 3)).take(rows[1:1]).values() == []
    assert coded().present().tolist() == plain.present().tolist()
    assert coded().has_nulls == plain.has_nulls
    assert coded().values() == plain.values()
    assert len(coded()) == len(plain)
    assert pickle.loads(pickle.dumps(coded())).values() == plain.values()
