"""The types of CQL: Spark SQL's, each a frozen value.

How a value of each type looks inside Thalweg's Python code (reference, golden
tests, literals):

    BOOLEAN bool · integers int · FLOAT, DOUBLE float · DECIMAL decimal.Decimal
    STRING str · BINARY bytes · DATE int, days since 1970-01-01
    TIMESTAMP int, microseconds since 1970-01-01 00:00 UTC
    INTERVAL DAY, DAY TO SECOND int, microseconds · INTERVAL YEAR TO MONTH int, months
    ARRAY tuple · STRUCT tuple · NULL None

Dates and timestamps are plain numbers because Python's own stop at the years 1
and 9999 and know nothing of leap-free arithmetic; the type says what they mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from thalweg.errors import QueryError, Span, shortened

MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class Type:
    """A type without parameters, such as BIGINT."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType(Type):
    name: str = "DECIMAL"
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType(Type):
    name: str = "ARRAY"
    element: Type = Type("VOID")

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Field:
    """A named column, or a named part of a struct."""

    name: str
    type: Type

    def __str__(self) -> str:
        return f"{self.name} {self.type}"


@dataclass(frozen=True, slots=True)
class StructType(Type):
    name: str = "STRUCT"
    fields: tuple[Field, ...] = ()

    def __str__(self) -> str:
        return "STRUCT<" + ", ".join(f"{f.name}: {f.type}" for f in self.fields) + ">"


NULL = Type("VOID")
BOOLEAN = Type("BOOLEAN")
TINYINT = Type("TINYINT")
SMALLINT = Type("SMALLINT")
INT = Type("INT")
BIGINT = Type("BIGINT")
FLOAT = Type("FLOAT")
DOUBLE = Type("DOUBLE")
STRING = Type("STRING")
BINARY = Type("BINARY")
DATE = Type("DATE")
TIMESTAMP = Type("TIMESTAMP")
DAYS = Type("INTERVAL DAY")  # whole days: a date plus one stays a date
DAY_TIME = Type("INTERVAL DAY TO SECOND")
YEAR_MONTH = Type("INTERVAL YEAR TO MONTH")

INTEGRAL = (TINYINT, SMALLINT, INT, BIGINT)
FRACTIONAL = (FLOAT, DOUBLE)
INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}

Schema = tuple[Field, ...]


def is_integral(type_: Type) -> bool:
    return type_ in INTEGRAL


def is_numeric(type_: Type) -> bool:
    return type_ in INTEGRAL or type_ in FRACTIONAL or isinstance(type_, DecimalType)


def is_interval(type_: Type) -> bool:
    return type_ in (DAYS, DAY_TIME, YEAR_MONTH)


def is_atomic(type_: Type) -> bool:
    return not isinstance(type_, ArrayType | StructType) and type_ != NULL


def decimal(precision: int, scale: int) -> DecimalType:
    return DecimalType(precision=precision, scale=scale)


def array(element: Type) -> ArrayType:
    return ArrayType(element=element)


def struct(*fields: Field) -> StructType:
    return StructType(fields=fields)


# Digits that hold every value of an integer type.
_INTEGRAL_DECIMALS = {
    TINYINT: decimal(3, 0),
    SMALLINT: decimal(5, 0),
    INT: decimal(10, 0),
    BIGINT: decimal(20, 0),
}


def decimal_holding(type_: Type) -> DecimalType:
    """The smallest decimal type that holds every value of an integer or decimal type."""
    if isinstance(type_, DecimalType):
        return type_
    return _INTEGRAL_DECIMALS[type_]


_SIMPLE = {
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.TINYINT: TINYINT,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.INT: INT,
    exp.DType.BIGINT: BIGINT,
    exp.DType.FLOAT: FLOAT,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.TEXT: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.CHAR: STRING,
    exp.DType.BINARY: BINARY,
    exp.DType.DATE: DATE,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
}

TYPE_NAMES = (
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING",
    "BINARY", "DATE", "TIMESTAMP", "ARRAY", "STRUCT",
)  # fmt: skip
_PARAMETERS = {"DECIMAL": "(p,s)", "ARRAY": "<…>", "STRUCT": "<…>"}
KNOWN_TYPES = ", ".join(name + _PARAMETERS.get(name, "") for name in TYPE_NAMES)


def type_from_syntax(node: exp.Expr, span: Span | None) -> Type:
    """The type that a parsed type expression names."""
    kind = node.this if isinstance(node, exp.DataType) else None
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == exp.DType.DECIMAL:
        texts = [parameter.this.name for parameter in node.expressions]
        if len(texts) > 2 or not all(text.isdecimal() for text in texts):
            raise QueryError(
                "DECIMAL takes a precision and a scale", span, hint="write DECIMAL(10,2)"
            )
        # Three digits are out of range already; thousands Python would refuse to read.
        parameters = [int(text) if len(text) <= 3 else MAX_PRECISION + 1 for text in texts]
        precision, scale = (*parameters, *(10, 0)[len(parameters) :])
        if not 1 <= precision <= MAX_PRECISION or not 0 <= scale <= precision:
            raise QueryError(
                f"DECIMAL({','.join(map(shortened, texts))}) is out of range",
                span,
                detail="The precision is 1 to 38 digits and the scale at most the precision.",
            )
        return decimal(precision, scale)
    if kind == exp.DType.ARRAY and len(node.expressions) == 1:
        return array(type_from_syntax(node.expressions[0], span))
    if kind == exp.DType.STRUCT and node.expressions:
        return _struct_from_syntax(node, span)
    interval = kind if isinstance(kind, exp.Interval) else node
    if isinstance(interval, exp.Interval) or kind == exp.DType.INTERVAL:
        unit = interval.args.get("unit")
        text = unit.sql().upper() if isinstance(unit, exp.Expr) else ""
        if text.startswith(("YEAR", "MONTH")):
            return YEAR_MONTH
        return DAYS if text == "DAY" else DAY_TIME
    name = node.sql(dialect="spark").upper()
    hint = None
    if kind == exp.DType.TIMESTAMPNTZ:
        hint = "use TIMESTAMP: values without a zone are read in the session's time zone"
    elif kind == exp.DType.MAP:
        hint = "use ARRAY<STRUCT<key: …, value: …>>, or keep JSON text in a STRING"
    raise QueryError(
        f"type {name} is not supported", span, detail=f"Types are: {KNOWN_TYPES}.", hint=hint
    )


def _struct_from_syntax(node: exp.Expr, span: Span | None) -> Type:
    fields = []
    for part in node.expressions:
        if not isinstance(part, exp.ColumnDef) or part.args.get("kind") is None:
            raise QueryError(
                "a field of STRUCT needs a name and a type", span, hint="write STRUCT<a: INT>"
            )
        fields.append(Field(part.name, type_from_syntax(part.args["kind"], span)))
    found = struct(*fields)
    refuse_repeated_fields(found, span)
    return found


def refuse_repeated_fields(type_: Type, span: Span | None = None) -> None:
    """A field that stands in a struct twice could not be told apart; case does not count."""
    match type_:
        case ArrayType(element=element):
            refuse_repeated_fields(element, span)
        case StructType(fields=fields):
            seen: set[str] = set()
            for part in fields:
                if part.name.lower() in seen:
                    raise QueryError(f'field "{part.name}" is in the struct twice', span)
                seen.add(part.name.lower())
                refuse_repeated_fields(part.type, span)


def to_arrow(type_: Type) -> pa.DataType:
    """The Arrow type in which columns of `type_` travel."""
    match type_:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case ArrayType(element=element):
            return pa.list_(to_arrow(element))
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, to_arrow(f.type)) for f in fields])
    return _ARROW[type_]


_ARROW = {
    NULL: pa.null(),
    BOOLEAN: pa.bool_(),
    TINYINT: pa.int8(),
    SMALLINT: pa.int16(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    FLOAT: pa.float32(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us", "UTC"),
    DAYS: pa.duration("us"),
    DAY_TIME: pa.duration("us"),
    YEAR_MONTH: pa.int32(),
}
