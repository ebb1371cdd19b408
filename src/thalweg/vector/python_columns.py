"""Python functions that take whole columns.

Such a function is defined by what it gives for columns of a single row. A call on many
rows that raises, or gives something that does not fit, is made again on both halves of
them, until the rows that are to blame stand alone: those are NULL, each with a failure
of its own, and the others have their values.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from thalweg.functions.registry import Failure
from thalweg.python_values import from_python
from thalweg.types import DOUBLE, FLOAT, STRING, TIMESTAMP, Type, is_integral, to_arrow
from thalweg.vector.column import Columns, Vector, constant, from_shown, from_values, joined

# Called with what was raised, and the values of the row that it was raised for.
Fail = Callable[[BaseException, list[Any]], None]


class WrongLength(Failure):
    """A column has more or fewer values than there are rows."""

    def __init__(self, values: int, rows: int) -> None:
        super().__init__(f"gave {_several(values, 'value')} for {_several(rows, 'row')}")


def call_on_columns(
    function: Callable[..., Any], given: Columns, length: int, returns: Type, fail: Fail
) -> Vector:
    """What a function gives for some rows; it must have arguments."""
    if not length:
        return from_values([], returns)
    try:
        return _column(function(*(column.to_arrow() for column in given)), length, returns)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if length == 1:
            fail(error, [column.values()[0] for column in given])
            return constant(None, returns, 1)
        if isinstance(error, WrongLength):
            fail(error, [])
    middle = length // 2
    halves = ((slice(0, middle), middle), (slice(middle, length), length - middle))
    return joined(
        [
            call_on_columns(
                function, tuple(column.part(rows) for column in given), size, returns, fail
            )
            for rows, size in halves
        ]
    )


def as_value(result: Any) -> Any:
    """A value of Arrow or NumPy as one of Python."""
    if isinstance(result, pa.Scalar):
        return result.as_py()
    return result.item() if isinstance(result, np.generic) else result


def _column(result: Any, length: int, type_: Type) -> Vector:
    if isinstance(result, pa.ChunkedArray):
        result = pa.concat_arrays(result.chunks) if result.num_chunks else pa.nulls(0, result.type)
    if not isinstance(result, pa.Array):
        if isinstance(result, str | bytes | pa.Scalar) or not hasattr(result, "__len__"):
            raise Failure(f"gave {type(result).__name__} {result!r} instead of a column")
        if len(result) != length:
            raise WrongLength(len(result), length)
        array = _as_array(result)
        if array is None:
            return from_values([from_python(as_value(v), type_) for v in result], type_)
        result = array
    if len(result) != length:
        raise WrongLength(len(result), length)
    shown = to_arrow(type_)
    if result.type != shown and _casts(result.type, type_):
        with suppress(pa.ArrowInvalid):  # some values do not fit: which, is known one by one
            result = result.cast(shown)
    if result.type == shown:
        return from_shown(result, type_)
    return from_values([from_python(value, type_) for value in result.to_pylist()], type_)


def _as_array(column: Any) -> pa.Array | None:
    """A column as one of Arrow, if no value can change by what is beside it."""
    if getattr(column, "dtype", np.dtype(object)) == np.dtype(object):
        kinds = {type(value) for value in column} - {type(None)}
        if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
            return None
    with suppress(pa.ArrowInvalid, OverflowError):
        return pa.array(column)
    return None


def _casts(given: pa.DataType, type_: Type) -> bool:
    """Whether a cast of Arrow's that succeeds makes the same values as `from_python`."""
    if pa.types.is_dictionary(given):
        given = given.value_type
    if pa.types.is_null(given):
        return True
    if pa.types.is_integer(given):
        return is_integral(type_) or type_ in (FLOAT, DOUBLE)
    if pa.types.is_floating(given):
        return type_ in (FLOAT, DOUBLE)
    if pa.types.is_timestamp(given):
        return type_ == TIMESTAMP
    return bool(pa.types.is_large_string(given) or pa.types.is_string(given)) and type_ == STRING


def _several(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
