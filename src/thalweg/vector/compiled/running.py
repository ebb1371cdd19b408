"""Loops over columns, where their code is ready."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thalweg.types import Type
from thalweg.vector.column import FIXED, Columns, Index, Mask, Vector, storage_type
from thalweg.vector.compiled.loops import Loop
from thalweg.vector.compiled.store import CodeStore

Selection = Callable[[Index], tuple[Index, Index]]

_EVERY_VALUE: Mask = np.empty(0, np.bool_)


def selection(loop: Loop, store: CodeStore, columns: Columns, length: int) -> Selection | None:
    """A function that finds which of some rows pass, and which the code leaves open, both in
    order; None if there is no code yet. It writes over the rows that it is given."""
    run = store.find(loop.code, length)
    if run is None:
        return None
    given = loop.integers, loop.doubles, *_arrays(loop, columns)
    unsure = np.empty(0, np.int64)

    def select(rows: Index) -> tuple[Index, Index]:
        nonlocal unsure
        if len(unsure) < len(rows):
            unsure = np.empty(len(rows), np.int64)
        passed, opened = run(rows, unsure, *given)
        return rows[:passed], unsure[:opened]

    return select


def values_of(
    loop: Loop, store: CodeStore, columns: Columns, length: int, type_: Type
) -> tuple[Vector, Index] | None:
    """The values of an expression and the rows that the code leaves open."""
    run = store.find(loop.code, length)
    if run is None:
        return None
    values = np.empty(length, loop.code.results[0])
    there, unsure = np.ones(length, np.bool_), np.empty(length, np.int64)
    nulls, count = run(values, there, unsure, loop.integers, loop.doubles, *_arrays(loop, columns))
    return _vector(values, there if nulls else None, type_), unsure[:count]


def _arrays(loop: Loop, columns: Columns) -> list[npt.NDArray[np.generic]]:
    arrays: list[npt.NDArray[np.generic]] = []
    for index in loop.columns:
        column = columns[index]
        if isinstance(column.data, np.ndarray):
            data, valid = column.data, column.valid
        else:
            data = _units(column.data)
            valid = column.present() if column.has_nulls else None
        arrays += [_plain(data), _EVERY_VALUE if valid is None else _plain(valid)]
    return arrays


def _plain(array: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The array without gaps and aligned: what the code was compiled for."""
    return np.require(array, requirements=("C", "A"))


def _units(decimals: pa.Decimal128Array) -> npt.NDArray[np.int64]:
    """Decimals of few digits as numbers of units: the lower halves of their 128 bits."""
    _, data = decimals.buffers()
    halves = np.empty(0, np.int64) if data is None else np.frombuffer(data, np.int64)
    return halves[2 * decimals.offset : 2 * (decimals.offset + len(decimals)) : 2]


def _vector(values: npt.NDArray[np.generic], valid: Mask | None, type_: Type) -> Vector:
    if type_ in FIXED:
        return Vector(type_, values, valid)
    halves = np.empty((len(values), 2), np.int64)
    halves[:, 0] = values
    halves[:, 1] = values >> 63  # type: ignore[operator]
    mask = None if valid is None else pa.array(valid).buffers()[1]
    stored = storage_type(type_)
    return Vector(type_, pa.Array.from_buffers(stored, len(values), [mask, pa.py_buffer(halves)]))
