"""A column of values: what the engine computes on instead of rows.

Types of a fixed width are NumPy arrays with a mask of what is there; all others
(text, decimals, arrays, structs) are Arrow arrays, which hold their NULLs
themselves. Inside both, values have the forms that `thalweg.types` describes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
    ArrayType,
    DecimalType,
    StructType,
    Type,
    to_arrow,
)
from thalweg.values import normal_zeros

Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]
Numbers = npt.NDArray[Any]

FIXED: dict[Type, np.dtype[Any]] = {
    BOOLEAN: np.dtype(np.bool_),
    TINYINT: np.dtype(np.int8),
    SMALLINT: np.dtype(np.int16),
    INT: np.dtype(np.int32),
    BIGINT: np.dtype(np.int64),
    FLOAT: np.dtype(np.float32),
    DOUBLE: np.dtype(np.float64),
    DATE: np.dtype(np.int32),
    TIMESTAMP: np.dtype(np.int64),
    DAYS: np.dtype(np.int64),
    DAY_TIME: np.dtype(np.int64),
    YEAR_MONTH: np.dtype(np.int32),
}


@dataclass(frozen=True, slots=True)
class Vector:
    """`valid` is None where nothing is NULL, and for Arrow arrays."""

    type: Type
    data: Numbers | pa.Array
    valid: Mask | None = None

    def __len__(self) -> int:
        return len(self.data)

    @property
    def is_fixed(self) -> bool:
        return isinstance(self.data, np.ndarray)

    def present(self) -> Mask:
        """Which values are not NULL."""
        if not isinstance(self.data, np.ndarray):
            there: Mask = pc.is_valid(self.data).to_numpy(zero_copy_only=False)
            return there
        return np.ones(len(self.data), np.bool_) if self.valid is None else self.valid

    @property
    def has_nulls(self) -> bool:
        if not isinstance(self.data, np.ndarray):
            return bool(self.data.null_count)
        return self.valid is not None and not self.valid.all()

    def take(self, rows: Index) -> Vector:
        if not isinstance(self.data, np.ndarray):
            return Vector(self.type, self.data.take(pa.array(rows)))
        valid = None if self.valid is None else self.valid.take(rows)
        return Vector(self.type, self.data.take(rows), valid)

    def where(self, keep: Mask) -> Vector:
        """The values at which the mask is true."""
        if not isinstance(self.data, np.ndarray):
            return Vector(self.type, self.data.filter(pa.array(keep)))
        return Vector(self.type, self.data[keep], None if self.valid is None else self.valid[keep])

    def part(self, rows: slice) -> Vector:
        """The values of consecutive rows, not copied."""
        return Vector(self.type, self.data[rows], None if self.valid is None else self.valid[rows])

    def values(self) -> list[Any]:
        """The values one by one, in their inner form."""
        if not isinstance(self.data, np.ndarray):
            return [_inner(value, self.type) for value in self.data.to_pylist()]
        listed: list[Any] = self.data.tolist()
        if self.valid is None:
            return listed
        return [v if there else None for v, there in zip(listed, self.valid.tolist(), strict=True)]

    def to_arrow(self) -> pa.Array:
        """The column in the Arrow type of its declaration, as files show it."""
        if not isinstance(self.data, np.ndarray):
            return _shown(self.data, self.type)
        mask = None if self.valid is None else ~self.valid
        stored = pa.array(self.data, mask=mask)
        shown = to_arrow(self.type)
        return stored if stored.type == shown else stored.cast(shown)


Columns = tuple[Vector, ...]


def from_values(values: Sequence[Any], type_: Type) -> Vector:
    """A column of values in their inner form."""
    dtype = FIXED.get(type_)
    if dtype is None:
        return Vector(type_, pa.array([_stored(v, type_) for v in values], storage_type(type_)))
    if None not in values:
        return Vector(type_, np.array(values, dtype))
    present = np.array([value is not None for value in values], np.bool_)
    zero = False if type_ == BOOLEAN else 0
    return Vector(type_, np.array([zero if v is None else v for v in values], dtype), present)


def constant(value: Any, type_: Type, length: int) -> Vector:
    """One value, repeated."""
    dtype = FIXED.get(type_)
    if dtype is None:
        one = pa.array([_stored(value, type_)], storage_type(type_))
        return Vector(type_, one.take(pa.array(np.zeros(length, np.int64))))
    if value is None:
        return Vector(type_, np.zeros(length, dtype), np.zeros(length, np.bool_))
    return Vector(type_, np.full(length, value, dtype))


def from_stored(array: pa.Array, type_: Type) -> Vector:
    """A column from an Arrow array of the storage type."""
    dtype = FIXED.get(type_)
    if dtype is None:
        return Vector(type_, array)
    if array.null_count == 0:
        return Vector(type_, array.to_numpy(zero_copy_only=False).astype(dtype, copy=False))
    present = pc.is_valid(array).to_numpy(zero_copy_only=False)
    filled = array.fill_null(False if type_ == BOOLEAN else 0).to_numpy(zero_copy_only=False)
    return Vector(type_, filled.astype(dtype, copy=False), present)


class CodedVector(Vector):
    """Texts as numbers of a dictionary. They are written out when somebody looks at them,
    and those that are dropped before never are."""

    __slots__ = ("_coded",)
    _coded: pa.Array

    def __init__(self, coded: pa.DictionaryArray) -> None:
        object.__setattr__(self, "type", STRING)
        object.__setattr__(self, "valid", None)
        object.__setattr__(self, "_coded", coded)

    @property
    def data(self) -> pa.Array:
        if pa.types.is_dictionary(self._coded.type):
            object.__setattr__(self, "_coded", self._coded.dictionary_decode())
        return self._coded

    def __len__(self) -> int:
        return len(self._coded)

    def __reduce__(self) -> Any:
        return Vector, (self.type, self.data)

    def present(self) -> Mask:
        there: Mask = pc.is_valid(self._coded).to_numpy(zero_copy_only=False)
        return there

    @property
    def has_nulls(self) -> bool:
        return bool(self._coded.null_count)

    def take(self, rows: Index) -> Vector:
        return Vector(STRING, CodedVector(self._coded.take(pa.array(rows))).data)

    def where(self, keep: Mask) -> Vector:
        return Vector(STRING, CodedVector(self._coded.filter(pa.array(keep))).data)

    def part(self, rows: slice) -> Vector:
        return CodedVector(self._coded[rows])


def from_shown(array: pa.Array, type_: Type) -> Vector:
    """The inverse of `Vector.to_arrow`, for arrays of exactly that Arrow type."""
    return from_stored(_unshown(array, type_), type_)


def to_stored(vector: Vector) -> pa.Array:
    """The inverse of `from_stored`."""
    if not isinstance(vector.data, np.ndarray):
        return vector.data
    mask = None if vector.valid is None else ~vector.valid
    return pa.array(vector.data, storage_type(vector.type), mask=mask)


def _shown(stored: pa.Array, type_: Type) -> pa.Array:
    """An array of the storage type in the Arrow type of its declaration."""
    match type_:
        case ArrayType(element=element):
            return _with_elements(stored, _shown(stored.values, element))
        case StructType(fields=fields):
            parts = [_shown(stored.field(i), f.type) for i, f in enumerate(fields)]
            return _with_fields(stored, parts, [f.name for f in fields])
    shown = to_arrow(type_)
    return stored if stored.type == shown else stored.cast(shown)


def _unshown(shown: pa.Array, type_: Type) -> pa.Array:
    """The inverse of `_shown`."""
    match type_:
        case ArrayType(element=element):
            return _with_elements(shown, _unshown(shown.values, element))
        case StructType(fields=fields):
            parts = [_unshown(shown.field(i), f.type) for i, f in enumerate(fields)]
            return _with_fields(shown, parts, [str(i) for i in range(len(fields))])
    stored = storage_type(type_)
    return shown if shown.type == stored else shown.cast(stored)


def _with_elements(lists: pa.ListArray, elements: pa.Array) -> pa.ListArray:
    """The same lists of other elements: of all of them, also before and after a slice."""
    return pa.Array.from_buffers(
        pa.list_(elements.type),
        len(lists),
        lists.buffers()[:2],
        lists.null_count,
        lists.offset,
        [elements],
    )


def _with_fields(
    structs: pa.StructArray, parts: list[pa.Array], names: list[str]
) -> pa.StructArray:
    """The same structs of other parts."""
    fields = [pa.field(name, part.type) for name, part in zip(names, parts, strict=True)]
    mask = structs.is_null() if structs.null_count else None
    return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)


def joined(parts: Sequence[Vector]) -> Vector:
    """Columns of one type, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if not isinstance(first.data, np.ndarray):
        return Vector(first.type, pa.concat_arrays([part.data for part in parts]))
    data = np.concatenate([part.data for part in parts])
    if all(part.valid is None for part in parts):
        return Vector(first.type, data)
    return Vector(first.type, data, np.concatenate([part.present() for part in parts]))


def empty(type_: Type) -> Vector:
    return from_values([], type_)


def taken(columns: Columns, rows: Index) -> Columns:
    return tuple(column.take(rows) for column in columns)


def rows_at(columns: Columns, rows: Index, used: frozenset[int]) -> Columns:
    """Some rows of the columns that are used; the others are left as they are."""
    return tuple(column.take(rows) if i in used else column for i, column in enumerate(columns))


def patched(column: Vector, rows: Index, values: Vector) -> Vector:
    """The column with other values in some rows."""
    if not isinstance(column.data, np.ndarray):
        places = np.arange(len(column))
        places[rows] = len(column) + np.arange(len(rows))
        return Vector(column.type, pa.concat_arrays([column.data, values.data]).take(places))
    data, valid = column.data.copy(), column.present().copy()
    data[rows] = values.data
    valid[rows] = values.present()
    return Vector(column.type, data, valid)


def rows_of(columns: Columns, length: int) -> Iterable[tuple[Any, ...]]:
    """The rows of several columns."""
    if not columns:
        return [()] * length
    return zip(*(column.values() for column in columns), strict=True)


def with_plain_zeros(column: Vector) -> Vector:
    """The column with 0.0 for -0.0, also inside arrays and structs."""
    if isinstance(column.data, np.ndarray):
        if column.data.dtype.kind != "f":
            return column
        return Vector(column.type, column.data + column.data.dtype.type(0), column.valid)
    if not _is_nested(column.type):
        return column
    return from_values(list(normal_zeros(tuple(column.values()))), column.type)


def storage_type(type_: Type) -> pa.DataType:
    """The Arrow type of a column inside the engine: times are plain numbers."""
    match type_:
        case ArrayType(element=element):
            return pa.list_(storage_type(element))
        case StructType(fields=fields):
            return pa.struct([pa.field(str(i), storage_type(f.type)) for i, f in enumerate(fields)])
        case DecimalType():
            return to_arrow(type_)
    if type_ in (STRING, BINARY, NULL):
        return to_arrow(type_)
    return pa.from_numpy_dtype(FIXED[type_])


def _is_nested(type_: Type) -> bool:
    return isinstance(type_, ArrayType | StructType)


def _stored(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    match type_:
        case ArrayType(element=element):
            return [_stored(v, element) for v in value]
        case StructType(fields=fields):
            return {
                str(i): _stored(v, f.type)
                for i, (f, v) in enumerate(zip(fields, value, strict=True))
            }
    return value


def _inner(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    match type_:
        case ArrayType(element=element):
            return tuple(_inner(v, element) for v in value)
        case StructType(fields=fields):
            return tuple(_inner(value[str(i)], f.type) for i, f in enumerate(fields))
    return value
