"""Whole files of records, written from columns.

The same files as the sinks that are given one record at a time: the same bytes of
text, the same Parquet table. Text is made column by column: what a column of one
type needs (quotes, a calendar, a zone) is decided once per column or once per
distinct day and second, not once per value.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from json.encoder import encode_basestring
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thalweg.answers import record_names
from thalweg.catalog import Query
from thalweg.functions.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, to_local, zone_rules
from thalweg.functions.cast import date_text, to_text
from thalweg.operators.answer import Records
from thalweg.sinks.base import SinkRequest
from thalweg.sinks.csv import cell_text, quoted
from thalweg.sinks.jsonl import LINE_ENDS, json_text, offset_text, one_line
from thalweg.sinks.parquet import record_schema
from thalweg.sinks.whole_file import whole_file
from thalweg.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    DecimalType,
    is_integral,
)
from thalweg.vector.column import Numbers, Vector

# Rows whose texts are in memory at once.
_ROWS_AT_ONCE = 50_000
_ROWS_PER_GROUP = 1_000_000

Texts = list[str]


def write_records(path: Path, format: str, query: Query, records: Iterable[Records]) -> None:
    """Write a file of records, each lot later than the one before; it is whole and on disk,
    or not there."""
    with whole_file(path, durable=True) as partial:
        WRITERS[format](SinkRequest(query, partial), (some.in_order() for some in records))


def _write_parquet(request: SinkRequest, records: Iterable[Records]) -> None:
    """A file that says it has texts for signs, though they are handed over as two numbers."""
    assert request.path is not None, "a file sink has a path"
    said = record_schema(request.columns)
    schema = said.set(1, pa.field(said.names[1], _SIGNS.type))
    tables = (records_table(some, schema) for some in records if len(some))
    first = next(tables, schema.empty_table())
    # (m) Whole numbers as differences instead of values or numbers of values: 50 % less
    # room and 30 % less time for a file of sums by group; for signs, no hashing and no
    # extremes: 20 % less time.
    whole = [field.name for field in schema if _is_whole(field.type)]
    repeating = [name for name in schema.names if name not in whole and _repeats(first[name])]
    with pq.ParquetWriter(
        request.path,
        schema,
        use_dictionary=repeating,
        column_encoding=dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
        write_statistics=[name for name in schema.names if name != said.names[1]],
        store_schema=False,
    ) as file:
        for table in chain((first,), tables):
            if len(table):
                file.write_table(table, row_group_size=_ROWS_PER_GROUP)
        file.add_key_value_metadata({"ARROW:schema": b64encode(said.serialize())})


def records_table(records: Records, schema: pa.Schema) -> pa.Table:
    """Records that are in order, in the columns of a schema, which has signs as text or as
    numbers of texts."""
    numbers = pa.array((records.weight < 0).view(np.int8))
    signs = pa.DictionaryArray.from_arrays(numbers, _SIGNS.dictionary)
    arrays = [pa.array(records.time), signs.cast(schema.types[1])]
    arrays += [column.to_arrow() for column in records.columns]
    return pa.Table.from_arrays(arrays, schema=schema)


_SIGNS = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), ["+", "-"])
_SAMPLE = 1000


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary pays: if there are few values, and each comes many times.

    (m) One of values that are all different doubles the time. Among n of N different
    values about n²/2N pairs are equal.
    """
    if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
        return True
    rows = pa.array(np.linspace(0, max(0, len(column) - 1), min(_SAMPLE, len(column)), dtype=int))
    equal = len(rows) - pc.count_distinct(column.take(rows)).as_py()
    return bool(2 * equal >= len(rows) or 4 * len(rows) ** 2 <= equal * len(column))


def _is_whole(type_: pa.DataType) -> bool:
    """Whether Parquet stores the values as whole numbers."""
    is_time = pa.types.is_temporal(type_) and not pa.types.is_interval(type_)
    return bool(pa.types.is_integer(type_) or is_time)


def _write_csv(request: SinkRequest, records: Iterable[Records]) -> None:
    header = ",".join(quoted(name) for name in record_names(request.columns)) + "\n"
    _write_lines(request, records, header, _csv_texts, ",".join)


def _write_jsonl(request: SinkRequest, records: Iterable[Records]) -> None:
    names = [one_line(name).replace("%", "%%") for name in record_names(request.columns)]
    line = "{" + ", ".join(f"{name}: %s" for name in names) + "}"
    _write_lines(request, records, "", _json_texts, line.__mod__)


WRITERS: dict[str, Callable[[SinkRequest, Iterable[Records]], None]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "parquet": _write_parquet,
}


def _write_lines(
    request: SinkRequest,
    records: Iterable[Records],
    header: str,
    texts_of: Callable[[Vector, str], Texts],
    line: Callable[[tuple[str, ...]], str],
) -> None:
    assert request.path is not None, "a file sink has a path"
    signs = ("-", "+") if texts_of is _csv_texts else ('"-"', '"+"')
    with request.path.open("w", encoding="utf-8", newline="") as file:
        file.write(header)
        for part in chain.from_iterable(map(_parts, records)):
            cells = [
                list(map(str, part.time.tolist())),
                [signs[came] for came in (part.weight > 0).tolist()],
                *(texts_of(column, request.zone) for column in part.columns),
            ]
            lines = map(line, zip(*cells, strict=True))
            file.write("\n".join(lines) + "\n")


def _parts(records: Records) -> Iterator[Records]:
    for first in range(0, len(records), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        columns = tuple(column.part(rows) for column in records.columns)
        yield Records(columns, records.time[rows], records.weight[rows])


def _csv_texts(column: Vector, zone: str) -> Texts:
    """The cells of a column of CSV: NULL is empty."""
    type_ = column.type
    texts = _common_texts(column)
    if texts is not None:
        return _with_nulls(texts, column, "")
    if type_ == STRING:
        cells = _texts(column)
        if pc.any(pc.match_substring_regex(column.data, '^$|[,"\r\n]')).as_py():
            cells = [quoted(cell) for cell in cells]
        return _with_nulls(cells, column, "")
    if type_ == DOUBLE:
        return _with_nulls([_double_text(value) for value in column.data.tolist()], column, "")
    if type_ == TIMESTAMP and _is_inside(column.data):
        return _with_nulls(_timestamp_texts(column.data, zone), column, "")
    return [cell_text(value, type_, zone) for value in column.values()]


def _json_texts(column: Vector, zone: str) -> Texts:
    """The values of a column as JSON."""
    type_ = column.type
    texts = _common_texts(column)
    if texts is not None:
        if type_ == DATE:
            texts = [f'"{text}"' for text in texts]
        return _with_nulls(texts, column, "null")
    if type_ == STRING:
        cells = [encode_basestring(cell) for cell in _texts(column)]
        if not all(map(str.isascii, cells)):
            cells = [cell.translate(LINE_ENDS) for cell in cells]
        return _with_nulls(cells, column, "null")
    if type_ in (FLOAT, DOUBLE) and np.isfinite(column.data).all():
        return _with_nulls(list(map(repr, column.data.tolist())), column, "null")
    if type_ == TIMESTAMP and _is_inside(column.data):
        return _with_nulls(_json_timestamps(column.data, zone), column, "null")
    return [json_text(value, type_, zone) for value in column.values()]


def _with_nulls(texts: Texts, column: Vector, null: str) -> Texts:
    if not column.has_nulls:
        return texts
    there = column.present().tolist()
    return [text if is_there else null for text, is_there in zip(texts, there, strict=True)]


def _common_texts(column: Vector) -> Texts | None:
    """The texts of types that CSV and JSON write alike, whatever for NULL."""
    type_ = column.type
    if is_integral(type_):
        return list(map(str, column.data.tolist()))
    if type_ == BOOLEAN:
        return ["true" if value else "false" for value in column.data.tolist()]
    if type_ == DATE:
        return _distinct_texts(column.data, date_text)
    if isinstance(type_, DecimalType):
        return ["" if value is None else f"{value:f}" for value in column.values()]
    return None


def _texts(column: Vector) -> Texts:
    """The texts of a column of STRING, an empty one for NULL."""
    stored: pa.Array = column.data
    texts: Texts = stored.fill_null("").to_pylist()
    return texts


def _distinct_texts(numbers: Numbers, text: Callable[[int], str]) -> Texts:
    """The text of each number, made once for those that are equal."""
    distinct, which = np.unique(numbers, return_inverse=True)
    texts = np.array([text(number) for number in distinct.tolist()], object)
    listed: Texts = texts[which].tolist()
    return listed


# Java writes these without an exponent, as Python does: the same shortest digits.
_LEAST_PLAIN, _LEAST_WITH_EXPONENT = 1e-3, 1e7


def _double_text(value: float) -> str:
    if _LEAST_PLAIN <= abs(value) < _LEAST_WITH_EXPONENT:
        return repr(value)
    return to_text(value, DOUBLE, "UTC")


# Times nearer to the ends of 64 bits than any zone is from UTC go one by one.
_LAST_INSIDE = 2**63 - 1 - 2 * MICROS_PER_DAY


def _is_inside(micros: Numbers) -> bool:
    return not len(micros) or bool(micros.min() >= -_LAST_INSIDE and micros.max() <= _LAST_INSIDE)


def _timestamp_texts(micros: Numbers, zone: str, between: str = " ") -> Texts:
    """As `timestamp_text`, from the texts of days and of seconds of a day."""
    local = micros + _shifts(micros, zone)
    days, rest = np.divmod(local, MICROS_PER_DAY)
    seconds, fractions = np.divmod(rest, MICROS_PER_SECOND)
    dates = _distinct_texts(days, date_text)
    clocks = _distinct_texts(seconds, _clock_text)
    texts = [f"{date}{between}{clock}" for date, clock in zip(dates, clocks, strict=True)]
    if not fractions.any():
        return texts
    return [
        f"{text}.{fraction:06d}".rstrip("0") if fraction else text
        for text, fraction in zip(texts, fractions.tolist(), strict=True)
    ]


def _clock_text(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _json_timestamps(micros: Numbers, zone: str) -> Texts:
    texts = _timestamp_texts(micros, zone, "T")
    offsets = _distinct_texts(_shifts(micros, zone) // MICROS_PER_SECOND, offset_text)
    return [f'"{text}{offset}"' for text, offset in zip(texts, offsets, strict=True)]


def _shifts(micros: Numbers, zone: str) -> Numbers:
    """How far a wall clock is ahead. Clocks are set at whole seconds: one answer serves each."""
    if zone_rules(zone) is dt.UTC:
        return np.zeros(len(micros), np.int64)
    seconds, which = np.unique(micros // MICROS_PER_SECOND, return_inverse=True)
    starts = [second * MICROS_PER_SECOND for second in seconds.tolist()]
    shifts: Numbers = np.array([to_local(start, zone) - start for start in starts], np.int64)
    return shifts[which]
