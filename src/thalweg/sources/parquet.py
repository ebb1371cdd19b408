"""Apache Parquet files; columns are taken by name."""

from __future__ import annotations

import decimal as dec
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.connectors import OptionSpec, need_location
from thalweg.errors import did_you_mean
from thalweg.functions.calendar import from_local
from thalweg.functions.cast import fit_decimal, fit_integer
from thalweg.functions.registry import Failure
from thalweg.sources.base import FOLLOW, Accepted, ReadRequest, Reject, files_of, not_null
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
)

OPTIONS: dict[str, OptionSpec] = {**FOLLOW}

Convert = Callable[[Any], Any]

# The pieces in which a file is read row by row.
_ROWS_AT_ONCE = 65_536
# A column of texts that takes fewer bytes for each of them is one of numbers of a dictionary.
_BYTES_OF_A_NUMBER = 3


def check(request: ReadRequest) -> None:
    need_location(request.connector, "file.parquet")


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    for path in files_of(request):
        with ParquetRows(path, request) as file:
            for first, batch in file.batches():
                yield from file.rows(batch, range(first, first + len(batch)))


class ParquetRows:
    """A file that has the declared columns, in types that go together with theirs."""

    def __init__(self, path: Path, request: ReadRequest) -> None:
        self.path, self._request = path, request
        try:
            self._file = pq.ParquetFile(path)
            schema = self._file.schema_arrow
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from None
        self.names: list[str] = []
        self.types: list[pa.DataType] = []
        self.forms: list[pa.DataType] = []
        self.converts: list[Convert] = []
        for column in request.columns:
            name = _column_in(schema, column.name, path, request)
            given = schema.field(name).type
            try:
                form, convert = from_arrow(given, column.type, request.zone)
            except Failure:
                raise request.error(
                    f'column "{column.name}" of {path.name} is {given}, declared {column.type}',
                    hint=(
                        f"declare it DOUBLE, and CAST it to {column.type} in the query"
                        if pa.types.is_floating(given)
                        else None
                    ),
                ) from None
            self.names.append(name)
            self.types.append(given)
            self.forms.append(form)
            self.converts.append(convert)
        self._keep_dictionaries()

    def _keep_dictionaries(self) -> None:
        """Have texts that repeat decoded into numbers of a dictionary: (m) a column of them
        takes 4 ns of a row so, 20 ns as texts."""
        repeated = [
            name
            for name, given in zip(self.names, self.types, strict=True)
            if pa.types.is_string(given) and _repeats(self.metadata, name)
        ]
        if repeated:
            known = self.metadata
            self._file.close()
            self._file = pq.ParquetFile(self.path, metadata=known, read_dictionary=repeated)

    def __enter__(self) -> ParquetRows:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def metadata(self) -> pq.FileMetaData:
        return self._file.metadata

    def batches(
        self,
        before: int = 0,
        at_once: int = _ROWS_AT_ONCE,
        columns: Sequence[int] | None = None,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The declared columns, or some of them, of all rows but those `before`.

        Each piece comes with the number of its first row, counted from 1. Groups of
        rows that lie wholly before are not read.
        """
        metadata = self._file.metadata
        names = self.names if columns is None else [self.names[i] for i in columns]
        group, skip = 0, before
        while group < metadata.num_row_groups and metadata.row_group(group).num_rows <= skip:
            skip -= metadata.row_group(group).num_rows
            group += 1
        first = before - skip + 1
        groups = range(group, metadata.num_row_groups)
        try:
            for batch in self._file.iter_batches(at_once, groups, columns=names, use_threads=False):
                first, whole = first + len(batch), batch.select(names)
                if len(batch) > skip:
                    yield first - len(batch) + skip, whole.slice(skip)
                skip = max(0, skip - len(batch))
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from None

    def rows(self, batch: pa.RecordBatch, numbers: Iterable[int]) -> Iterator[Accepted | Reject]:
        """The rows of a piece one by one; `numbers` are their places in the file."""
        try:
            cells = [cells_of(batch.column(i), form) for i, form in enumerate(self.forms)]
        except (OSError, pa.ArrowException) as error:
            raise self._unreadable(error) from None
        for row, number in zip(zip(*cells, strict=True), numbers, strict=True):
            yield arrow_row(row, f"{self.path.name}:{number}", self.converts, self._request)

    def _unreadable(self, error: Exception) -> Exception:
        reason = str(error).split("\n")[0].rstrip(".")
        return self._request.error(
            f"cannot read {self.path.name} as Parquet", detail=f"{reason[:300]}."
        )


def _column_in(schema: pa.Schema, wanted: str, path: Path, request: ReadRequest) -> str:
    found = [str(name) for name in schema.names if name.lower() == wanted.lower()]
    if len(found) > 1:
        raise request.error(
            f'{path.name} has several columns "{wanted}"',
            detail=f"It has: {', '.join(schema.names)}.",
        )
    if found:
        return found[0]
    raise request.error(
        f'{path.name} has no column "{wanted}"',
        detail=f"It has: {', '.join(schema.names)}.",
        hint=did_you_mean(wanted, schema.names),
    )


def arrow_row(
    row: tuple[Any, ...], place: str, converts: list[Convert], request: ReadRequest
) -> Accepted | Reject:
    """A row of cells as the declared columns."""
    values = []
    for i, (cell, convert) in enumerate(zip(row, converts, strict=True)):
        try:
            value = converted(cell, convert)
        except Failure as failure:
            return Reject.of(place, f"column {request.columns[i].name}: {failure}", row)
        try:
            values.append(not_null(value, i, request.columns, request.required))
        except Failure as failure:
            return Reject.of(place, str(failure), row)
    return Accepted(tuple(values), place)


class NotText(bytes):
    """What a file has in the place of a text that is not UTF-8, so far as it is known."""


def _repeats(metadata: pq.FileMetaData, name: str) -> bool:
    """Whether a column consists of numbers of a dictionary, nearly all of it."""
    leaves = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path == name]
    chunks = [
        metadata.row_group(group).column(leaf)
        for leaf in leaves
        for group in range(metadata.num_row_groups)
    ]
    return bool(chunks) and all(
        chunk.has_dictionary_page
        and chunk.total_uncompressed_size < _BYTES_OF_A_NUMBER * chunk.num_values
        for chunk in chunks
    )


def cells_of(column: pa.Array, form: pa.DataType) -> list[Any]:
    """The values of a column, cast to a form, for the conversion that goes with it."""
    cast = column if column.type == form else column.cast(form)
    try:
        listed: list[Any] = cast.to_pylist()
    except UnicodeDecodeError:
        listed = [_cell(cell) for cell in cast]
    return listed


def _cell(cell: pa.Scalar) -> Any:
    try:
        return cell.as_py()
    except UnicodeDecodeError as error:
        return NotText(error.object)


def converted(cell: Any, convert: Convert) -> Any:
    """The value of a cell, which may be NULL; raises `Failure` if it has none."""
    if cell is None:
        return None
    if isinstance(cell, NotText):
        raise Failure("the text is not UTF-8")
    return convert(cell)


def from_arrow(given: pa.DataType, declared: Type, zone: str) -> tuple[pa.DataType, Convert]:
    """How a file's column becomes the declared type: an Arrow cast, then a conversion.

    Raises `Failure` where the two do not go together.
    """
    if pa.types.is_dictionary(given):
        return from_arrow(given.value_type, declared, zone)
    match declared:
        case DecimalType():
            if pa.types.is_integer(given) or pa.types.is_decimal(given):
                return given, lambda value: _as_decimal(value, declared)
        case ArrayType(element=element):
            if pa.types.is_list(given) or pa.types.is_large_list(given):
                form, convert = from_arrow(given.value_type, element, zone)
                return pa.list_(form), _each(convert)
        case StructType():
            return _from_struct(given, declared, zone)
    if is_integral(declared) and pa.types.is_integer(given):
        bits = INTEGER_BITS[declared]
        return given, lambda value: fit_integer(value, bits)
    if declared in (FLOAT, DOUBLE) and (
        pa.types.is_float16(given)
        or pa.types.is_float32(given)
        or (declared == DOUBLE and pa.types.is_float64(given))
        or (declared == DOUBLE and pa.types.is_integer(given) and given.bit_width <= 32)
    ):
        return pa.float64(), _same
    if declared == TIMESTAMP and pa.types.is_timestamp(given):
        return pa.int64(), _from_timestamp(given, zone)
    if declared == DATE and pa.types.is_date(given):
        return (pa.int32() if pa.types.is_date32(given) else pa.int64()), (
            _same if pa.types.is_date32(given) else lambda millis: millis // 86_400_000
        )
    simple = (
        (STRING, pa.types.is_string(given) or pa.types.is_large_string(given)),
        (STRING, pa.types.is_string_view(given)),
        (BINARY, pa.types.is_binary(given) or pa.types.is_large_binary(given)),
        (BINARY, pa.types.is_fixed_size_binary(given)),
        (BOOLEAN, pa.types.is_boolean(given)),
    )
    if any(declared == type_ and fits for type_, fits in simple):
        return given, _same
    if pa.types.is_null(given):
        return given, _same
    raise Failure(f"{given} is not {declared}")


# How many of a unit, and of microseconds, are the same time.
_IN_MICROSECONDS = {"s": (1, 1_000_000), "ms": (1, 1_000), "us": (1, 1), "ns": (1_000, 1)}


def _from_timestamp(given: pa.DataType, zone: str) -> Convert:
    """Values without a zone are on the wall clock of the session."""
    amount, micros = _IN_MICROSECONDS[given.unit]

    def convert(value: int) -> int:
        fitting = fit_integer(value * micros // amount, 64)
        return fitting if given.tz else fit_integer(from_local(fitting, zone), 64)

    return convert


def _as_decimal(value: Any, declared: DecimalType) -> Any:
    return fit_decimal(dec.Decimal(value), declared)


def _from_struct(
    given: pa.DataType, declared: StructType, zone: str
) -> tuple[pa.DataType, Convert]:
    if not pa.types.is_struct(given):
        raise Failure(f"{given} is not {declared}")
    names, forms, converts = [], [], []
    for part in declared.fields:
        index = given.get_field_index(part.name)
        if index < 0:
            raise Failure(f"{given} has no field {part.name}")
        form, convert = from_arrow(given.field(index).type, part.type, zone)
        names.append(part.name)
        forms.append(pa.field(part.name, form))
        converts.append(convert)

    def build(value: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(
            None if value.get(name) is None else convert(value[name])
            for name, convert in zip(names, converts, strict=True)
        )

    return pa.struct(forms), build


def _each(convert: Convert) -> Convert:
    return lambda values: tuple(None if v is None else convert(v) for v in values)


def _same(value: Any) -> Any:
    return value
