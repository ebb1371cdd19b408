"""Apache Parquet: `time` as INT64, `sign` as text, columns in their own types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.answers import Change, record_names
from thalweg.connectors import OptionSpec
from thalweg.sinks.base import SinkRequest
from thalweg.types import (
    DATE,
    DAY_TIME,
    DAYS,
    TIMESTAMP,
    ArrayType,
    Schema,
    StructType,
    Type,
    to_arrow,
)

OPTIONS: dict[str, OptionSpec] = {}

_ROWS_PER_GROUP = 100_000


class Parquet:
    def __init__(self, request: SinkRequest) -> None:
        assert request.path is not None, "a file sink has a path"
        self._columns = request.columns
        self._schema = record_schema(request.columns)
        self._waiting: list[Change] = []
        self._file = pq.ParquetWriter(request.path, self._schema)

    def write(self, change: Change) -> None:
        self._waiting.append(change)
        if len(self._waiting) >= _ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        arrays = [
            pa.array([change.time for change in self._waiting], pa.int64()),
            pa.array([change.sign for change in self._waiting], pa.string()),
        ]
        for i, column in enumerate(self._columns):
            arrays.append(arrow_array([c.values[i] for c in self._waiting], column.type))
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting.clear()

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._file.close()


def record_schema(columns: Schema) -> pa.Schema:
    """What a file of records has for columns."""
    types = [pa.int64(), pa.string(), *(to_arrow(column.type) for column in columns)]
    return pa.schema(list(zip(record_names(columns), types, strict=True)))


def open_sink(request: SinkRequest) -> Parquet:
    return Parquet(request)


def arrow_array(values: list[Any], type_: Type) -> pa.Array:
    """Values in their inner form as an Arrow column."""
    stored = pa.array([_stored(value, type_) for value in values], _storage(type_))
    return stored.cast(to_arrow(type_))


def _storage(type_: Type) -> pa.DataType:
    """The type in which numbers that stand for times can be handed over as they are."""
    match type_:
        case ArrayType(element=element):
            return pa.list_(_storage(element))
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, _storage(f.type)) for f in fields])
    if type_ == DATE:
        return pa.int32()
    if type_ in (TIMESTAMP, DAYS, DAY_TIME):
        return pa.int64()
    return to_arrow(type_)


def _stored(value: Any, type_: Type) -> Any:
    if value is None:
        return None
    match type_:
        case ArrayType(element=element):
            return [_stored(v, element) for v in value]
        case StructType(fields=fields):
            return {f.name: _stored(v, f.type) for f, v in zip(fields, value, strict=True)}
    return value
