"""Columns of a file as columns of the engine, without a look at each value.

A conversion gives the column and, where some values do not fit the declared type,
which rows those are: they are few, and are judged one by one. Where a whole column
cannot be converted at once (decimals that may need rounding, a clock with a zone at
the ends of time), its values are converted one by one, and only they.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.functions.calendar import MICROS_PER_SECOND, from_local, zone_rules
from thalweg.functions.registry import Failure
from thalweg.sources.parquet import Convert, cells_of, converted
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    is_integral,
    to_arrow,
)
from thalweg.vector.column import (
    FIXED,
    CodedVector,
    Mask,
    Vector,
    constant,
    from_shown,
    from_values,
)

Numbers = npt.NDArray[Any]
# A column, and the rows whose values do not fit; None if all do.
Converted = tuple[Vector, Mask | None]
ConvertColumn = Callable[[pa.Array], Converted]

_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_NANOS_PER_MICRO = 1_000
# Times nearer to the ends of 64 bits than any zone is from UTC are left to the slow way.
_TWO_DAYS = 2 * 86_400 * MICROS_PER_SECOND


def column_converter(
    given: pa.DataType, declared: Type, zone: str, form: pa.DataType, convert: Convert
) -> ConvertColumn:
    """How a file's column of type `given` becomes a declared one.

    `form` and `convert` are how a single value does (`sources.parquet.from_arrow`);
    every conversion here gives the same values.
    """

    def one_by_one(array: pa.Array) -> Converted:
        return _one_by_one(array, declared, form, convert)

    if pa.types.is_dictionary(given):
        plain = column_converter(given.value_type, declared, zone, form, convert)
        return lambda array: plain(array.cast(given.value_type))
    if pa.types.is_null(given):
        return lambda array: (constant(None, declared, len(array)), None)
    if is_integral(declared):
        return _integers(given, declared)
    if declared in (FLOAT, DOUBLE, BOOLEAN) or (declared == DATE and pa.types.is_date32(given)):
        return _numbers(given, declared)
    if declared == TIMESTAMP:
        return _timestamps(given, zone, one_by_one)
    if _is_shown_as(given, declared):
        return _checked(declared, one_by_one)
    return one_by_one


def always_fits(given: pa.DataType, declared: Type, zone: str) -> bool:
    """Whether all values of a file's type are values of the declared one."""
    if pa.types.is_dictionary(given):
        return always_fits(given.value_type, declared, zone)
    if pa.types.is_null(given):
        return True
    if is_integral(declared):
        return _holds(given, declared)
    if declared == TIMESTAMP:
        return given.unit in ("us", "ns") and not _is_local(given, zone)
    return declared in (FLOAT, DOUBLE, BOOLEAN, BINARY) or (
        declared == DATE and pa.types.is_date32(given)
    )


def _holds(given: pa.DataType, declared: Type) -> bool:
    bits = INTEGER_BITS[declared]
    signed = pa.types.is_signed_integer(given)
    return bool(given.bit_width <= bits if signed else given.bit_width < bits)


def _is_local(given: pa.DataType, zone: str) -> bool:
    """Whether times are on the wall clock of a zone that is not UTC."""
    return not given.tz and zone_rules(zone) is not dt.UTC


def _one_by_one(array: pa.Array, declared: Type, form: pa.DataType, convert: Convert) -> Converted:
    values: list[Any] = []
    wrong: list[int] = []
    for row, cell in enumerate(cells_of(array, form)):
        try:
            values.append(converted(cell, convert))
        except Failure:
            values.append(None)
            wrong.append(row)
    return from_values(values, declared), _mask(wrong, len(values))


def _mask(rows: list[int], length: int) -> Mask | None:
    if not rows:
        return None
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return mask


def _numbers(given: pa.DataType, declared: Type) -> ConvertColumn:
    """Numbers whose type holds all values of the file's."""
    dtype = FIXED[declared]
    days = pa.types.is_date32(given)

    def convert(array: pa.Array) -> Converted:
        data, valid = _array(array.view(pa.int32()) if days else array)
        return Vector(declared, data.astype(dtype, copy=False), valid), None

    return convert


def _integers(given: pa.DataType, declared: Type) -> ConvertColumn:
    dtype = FIXED[declared]
    limits = np.iinfo(dtype)
    signed = pa.types.is_signed_integer(given)
    fits = _holds(given, declared)

    def convert(array: pa.Array) -> Converted:
        data, valid = _array(array)
        wrong = None if fits else outside(data, limits.min if signed else 0, limits.max)
        return Vector(declared, data.astype(dtype, copy=False), valid), wrong

    return convert


def _timestamps(given: pa.DataType, zone: str, one_by_one: ConvertColumn) -> ConvertColumn:
    """Counts of another unit since 1970, perhaps on the wall clock of the session."""
    micros = _MICROSECONDS.get(given.unit)
    local = _is_local(given, zone)
    ends = np.iinfo(np.int64)

    def convert(array: pa.Array) -> Converted:
        data, valid = _array(array.view(pa.int64()))
        wrong = None
        if micros is None:
            data = data // _NANOS_PER_MICRO
        elif micros > 1:
            wrong = outside(data, -(2**63 // micros), (2**63 - 1) // micros)
            data = data * micros
        if local:
            if (
                wrong is not None
                or outside(data, ends.min + _TWO_DAYS, ends.max - _TWO_DAYS) is not None
            ):
                return one_by_one(array)
            data = _from_local(data, zone)
            if valid is not None:
                data = np.where(valid, data, 0)
        return Vector(TIMESTAMP, data, valid), wrong

    return convert


def _from_local(local: Numbers, zone: str) -> Numbers:
    """Instants of a wall clock. Clocks are set at whole seconds, so one answer serves each."""
    seconds, which = np.unique(local // MICROS_PER_SECOND, return_inverse=True)
    starts = (seconds * MICROS_PER_SECOND).tolist()
    shifts = np.array([from_local(start, zone) - start for start in starts], np.int64)
    moved: Numbers = local + shifts[which]
    return moved


def _checked(declared: Type, one_by_one: ConvertColumn) -> ConvertColumn:
    """Arrow arrays as they are, if they hold what their type says: UTF-8, so many digits."""

    def convert(array: pa.Array) -> Converted:
        try:
            if pa.types.is_dictionary(array.type):
                array.dictionary.validate(full=True)
                return CodedVector(array), None
            cast = array.cast(to_arrow(declared)) if array.type != to_arrow(declared) else array
            cast.validate(full=True)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return one_by_one(array)
        return from_shown(cast, declared), None

    return convert


def _is_shown_as(given: pa.DataType, declared: Type) -> bool:
    """Whether Arrow itself can convert every value, exactly, to the declared type."""
    match declared:
        case DecimalType(precision=precision, scale=scale):
            held = pa.types.is_decimal(given) and given.scale == scale
            return bool(held and given.precision <= precision)
        case ArrayType(element=element):
            return pa.types.is_list(given) and _is_inside(given.value_type, element)
        case StructType(fields=fields):
            return bool(given.num_fields == len(fields)) and all(
                given.field(i).name == f.name and _is_inside(given.field(i).type, f.type)
                for i, f in enumerate(fields)
            )
    if declared == STRING:
        return not pa.types.is_string_view(given)
    return declared == BINARY


def _is_inside(given: pa.DataType, declared: Type) -> bool:
    if isinstance(declared, ArrayType | StructType):
        return _is_shown_as(given, declared)
    return bool(given == to_arrow(declared))


def _array(array: pa.Array) -> tuple[Numbers, Mask | None]:
    """The numbers of an Arrow array, 0 for NULL, and which are there."""
    if array.null_count == 0:
        return array.to_numpy(zero_copy_only=False), None
    valid: Mask = pc.is_valid(array).to_numpy(zero_copy_only=False)
    zero = pa.scalar(False if pa.types.is_boolean(array.type) else 0).cast(array.type)
    return array.fill_null(zero).to_numpy(zero_copy_only=False), valid


def outside(data: Numbers, low: int, high: int) -> Mask | None:
    """Which numbers are not between two limits, None if all are."""
    if not len(data) or (int(data.min()) >= low and int(data.max()) <= high):
        return None
    mask: Mask = (data < low) | (data > high)
    return mask
