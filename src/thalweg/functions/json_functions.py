"""JSON in texts: taking parts out, reading into a struct, and writing one.

`from_json` forgives as Spark does: what cannot be read is NULL, field by field,
and does not count as a failure.
"""

from __future__ import annotations

import base64
import decimal as dec
import math
import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from sqlglot import exp

from thalweg.cql.script import parse_query
from thalweg.errors import QueryError, SourceText
from thalweg.functions.calendar import MICROS_PER_SECOND
from thalweg.functions.cast import caster, fit_decimal, fit_integer, to_float32, to_text
from thalweg.functions.date_patterns import write_timestamp
from thalweg.functions.json_values import (
    Pairs,
    compact_text,
    expect,
    from_base64,
    number,
    parse_leading_json,
    quoted,
)
from thalweg.functions.registry import (
    Compute,
    Failure,
    Kind,
    Signature,
    literal_value,
    scalar,
    scalar_by_type,
    takes,
    wrong_count,
    wrong_type,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    StructType,
    Type,
    array,
    is_integral,
    is_interval,
    type_from_syntax,
)

_ONE_TEXT = Kind.STRING_ONLY


# Paths


class Step(Enum):
    ANY_ELEMENT = "[*]"
    ANY_MEMBER = ".*"


Path = tuple[str | int | Step, ...]

_STEP = re.compile(
    r"(?P<any_member>\.\*|\['\*'\])|\.(?P<name>[^.\[]+)|\['(?P<quoted>[^'?]+)'\]"
    r"|\[(?P<any>\*)\]|\[(?P<index>\d{1,9})\]"
)


@lru_cache(maxsize=512)
def _path(text: str) -> Path | None:
    """The steps of `$.a.b[0]['c'][*]`, or None if it is not a path."""
    if not text.startswith("$"):
        return None
    steps: list[str | int | Step] = []
    position = 1
    while position < len(text):
        found = _STEP.match(text, position)
        if found is None:
            return None
        position = found.end()
        if found["any_member"]:
            steps.append(Step.ANY_MEMBER)
        elif found["any"]:
            steps.append(Step.ANY_ELEMENT)
        elif found["index"]:
            steps.append(int(found["index"]))
        else:
            steps.append(found["name"] or found["quoted"])
    return tuple(steps)


class Style(Enum):
    """How a match is written: texts bare at the top, quoted in arrays, arrays merged."""

    RAW = 1
    QUOTED = 2
    FLATTEN = 3


Found = tuple[list[str], int]
NOTHING: Found = ([], 0)


def _select(value: Any, path: Path, style: Style) -> Found:
    """The texts of what the path finds, and how many matches they hold.

    Hive's rules, which Spark keeps: one match of [*] stands alone, several make an
    array, and [*][*] flattens.
    """
    if not path:
        return _written(value, style)
    step, rest = path[0], path[1:]
    if isinstance(step, str) and isinstance(value, Pairs):
        for name, member in value:
            if name == step and member is not None:
                found = _select(member, rest, style)
                if found[1]:
                    return found
        return NOTHING
    if isinstance(value, Pairs) or not isinstance(value, list):
        return NOTHING
    if isinstance(step, int):
        several = bool(rest) and rest[0] is Step.ANY_ELEMENT
        inner = Style.QUOTED if several else style
        return _select(value[step], rest, inner) if step < len(value) else NOTHING
    if step is Step.ANY_ELEMENT:
        return _select_elements(value, rest, style)
    return NOTHING


def _select_elements(values: list[Any], rest: Path, style: Style) -> Found:
    if rest and rest[0] is Step.ANY_ELEMENT:
        texts, matches = _select_each(values, rest[1:], Style.FLATTEN)
        return [_listed(texts)], matches
    if style is Style.QUOTED:
        texts, matches = _select_each(values, rest, Style.QUOTED)
        return [_listed(texts)], matches
    inner = Style.FLATTEN if style is Style.FLATTEN else Style.QUOTED
    texts, matches = _select_each(values, rest, inner)
    if not matches:
        return NOTHING
    return [",".join(texts) if matches == 1 else _listed(texts)], 1


def _select_each(values: list[Any], path: Path, style: Style) -> Found:
    texts: list[str] = []
    matches = 0
    for value in values:
        found, matched = _select(value, path, style)
        texts += found
        matches += bool(matched)
    return texts, matches


def _written(value: Any, style: Style) -> Found:
    if isinstance(value, str) and style is Style.RAW:
        return [value], 1
    if isinstance(value, list) and not isinstance(value, Pairs) and style is Style.FLATTEN:
        return _select_each(value, (), style)
    return [compact_text(value)], 1


def _listed(texts: list[str]) -> str:
    return "[" + ",".join(texts) + "]"


def _document(text: str, *, allow_nan: bool = False) -> Any:
    """The parsed text, or None where it is not JSON (as it is for the JSON null)."""
    try:
        return parse_leading_json(text, allow_nan=allow_nan)
    except Failure:
        return None


@scalar("get_json_object", resolve=takes(_ONE_TEXT, _ONE_TEXT, gives=STRING))
def _get_json_object(text: str, path: str) -> str | None:
    steps, document = _path(path), _document(text)
    if steps is None or document is None:
        return None
    try:
        texts, matches = _select(document, steps, Style.RAW)
    except RecursionError:
        raise Failure("the JSON is nested too deeply") from None
    return " ".join(texts) if matches else None


@scalar("json_array_length", resolve=takes(_ONE_TEXT, gives=INT))
def _json_array_length(text: str) -> int | None:
    document = _document(text)
    is_array = isinstance(document, list) and not isinstance(document, Pairs)
    return len(document) if is_array else None


@scalar("json_object_keys", resolve=takes(_ONE_TEXT, gives=array(STRING)))
def _json_object_keys(text: str) -> tuple[str, ...] | None:
    document = _document(text)
    return tuple(name for name, _ in document) if isinstance(document, Pairs) else None


# Reading


def _schema(name: str, argument: Expression) -> Type:
    """The type that a text such as `a INT, b STRING` or `ARRAY<INT>` describes."""
    text = literal_value(name, "schema", argument)
    if not isinstance(text, str):
        raise wrong_type(name, 1, "a schema such as 'a INT, b STRING'", argument)
    for written in (text, f"STRUCT<{text}>"):
        try:
            query = parse_query(SourceText("schema", f"SELECT CAST(NULL AS {written})"))
        except QueryError:
            continue
        # The type must be all there is: a schema is no place to write a query.
        cast = query.find(exp.Cast)
        if cast is not None and query.sql() == exp.select(cast.copy()).sql():
            return type_from_syntax(cast.args["to"], argument.span)
    raise QueryError(
        f"{text!r} is not a schema", argument.span, hint="write for instance 'a INT, b STRING'"
    )


def _resolve_from_json(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    signature = takes(_ONE_TEXT, STRING, gives=STRING)(name, arguments)
    schema = _schema(name, arguments[1])
    if not isinstance(schema, StructType | ArrayType):
        raise QueryError(
            f"{name} reads structs and arrays, not {schema}",
            arguments[1].span,
            hint="take a single value with get_json_object, and CAST it",
        )
    _refuse_intervals(name, schema, arguments[1])
    return Signature(signature.arguments, schema)


def _refuse_intervals(name: str, type_: Type, argument: Expression) -> None:
    match type_:
        case ArrayType(element=element):
            _refuse_intervals(name, element, argument)
        case StructType(fields=fields):
            for part in fields:
                _refuse_intervals(name, part.type, argument)
        case _ if is_interval(type_):
            raise QueryError(f"{name} does not read {type_}", argument.span)


@scalar_by_type("from_json", resolve=_resolve_from_json, zoned=True)
def _from_json(signature: Signature) -> Compute:
    result = signature.result

    def compute(text: str, schema: str, zone: str) -> Any:
        if not text.strip():
            return None
        document = _document(text, allow_nan=True)
        try:
            return _reader(result, zone)(_as_root(document, result))
        except Failure:
            return None
        except RecursionError:
            raise Failure("the JSON is nested too deeply") from None

    return compute


def _as_root(document: Any, schema: Type) -> Any:
    if isinstance(schema, StructType):
        return document if isinstance(document, Pairs) else Pairs()
    # One object is read as an array of one.
    assert isinstance(schema, ArrayType), "the schema is a struct or an array"
    alone = isinstance(document, Pairs) and isinstance(schema.element, StructType)
    return [document] if alone else document


@lru_cache(maxsize=256)
def _reader(type_: Type, zone: str) -> Callable[[Any], Any]:
    """The conversion of a JSON value that is not null; raises `Failure`."""
    match type_:
        case ArrayType(element=element):
            read = _reader(element, zone)
            return lambda value: _read_array(value, read)
        case StructType(fields=fields):
            readers = [(part.name, _reader(part.type, zone)) for part in fields]
            return lambda value: _read_struct(value, readers)
        case DecimalType():
            parse = caster(STRING, type_, zone)
            return lambda value: (
                parse(value) if isinstance(value, str) else fit_decimal(_decimal(value), type_)
            )
    if is_integral(type_):
        bits = INTEGER_BITS[type_]
        return lambda value: fit_integer(expect(value, int, "an integer"), bits)
    if type_ == FLOAT:
        return lambda value: to_float32(_read_double(value))
    if type_ == TIMESTAMP:
        from_text = caster(STRING, TIMESTAMP, zone)
        return lambda value: (
            fit_integer(value * MICROS_PER_SECOND, 64)
            if isinstance(value, int) and not isinstance(value, bool)
            else from_text(expect(value, str, "a text"))
        )
    if type_ == DATE:
        from_text = caster(STRING, DATE, zone)
        return lambda value: from_text(expect(value, str, "a text"))
    return _READERS[type_]


def _read_array(value: Any, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    if isinstance(value, Pairs):
        raise Failure("an object is not an array")
    elements = expect(value, list, "an array")
    return tuple(None if element is None else read(element) for element in elements)


def _read_struct(value: Any, readers: list[tuple[str, Callable[[Any], Any]]]) -> tuple[Any, ...]:
    """A member that cannot be read is NULL; of equal names the last one counts."""
    members = dict(expect(value, Pairs, "an object"))
    fields: list[Any] = []
    for name, read in readers:
        member = members.get(name)
        try:
            fields.append(None if member is None else read(member))
        except Failure:
            fields.append(None)
    return tuple(fields)


def _decimal(value: Any) -> Any:
    given = number(value)
    if isinstance(given, float):
        raise Failure(f"{given} is not a decimal")
    return dec.Decimal(given)


_NAMED_DOUBLES = {
    "NaN": math.nan,
    "+INF": math.inf, "+Infinity": math.inf, "Infinity": math.inf,
    "-INF": -math.inf, "-Infinity": -math.inf,
}  # fmt: skip


def _read_double(value: Any) -> float:
    if isinstance(value, str) and value in _NAMED_DOUBLES:
        return _NAMED_DOUBLES[value]
    try:
        return float(number(value))
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read_text(value: Any) -> str:
    return value if isinstance(value, str) else compact_text(value)


_READERS: dict[Type, Callable[[Any], Any]] = {
    NULL: lambda value: None,
    BOOLEAN: lambda value: expect(value, bool, "true or false"),
    DOUBLE: _read_double,
    STRING: _read_text,
    BINARY: from_base64,
}


# Writing

_TIMESTAMP_PATTERN = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"


def _resolve_to_json(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.ANY, gives=STRING)(name, arguments)
    if not isinstance(arguments[0].type, ArrayType | StructType) and arguments[0].type != NULL:
        raise wrong_type(name, 0, "a struct or an array", arguments[0])
    return signature


@scalar_by_type("to_json", resolve=_resolve_to_json, zoned=True)
def _to_json(signature: Signature) -> Compute:
    source = signature.arguments[0]
    return lambda value, zone: _json_text(value, source, zone)


def _json_text(value: Any, type_: Type, zone: str) -> str:
    """Members that are NULL are left out."""
    if value is None:
        return "null"
    match type_:
        case ArrayType(element=element):
            return _listed([_json_text(part, element, zone) for part in value])
        case StructType(fields=fields):
            members = (
                f"{quoted(field.name)}:{_json_text(part, field.type, zone)}"
                for field, part in zip(fields, value, strict=True)
                if part is not None
            )
            return "{" + ",".join(members) + "}"
        case DecimalType():
            return str(value)
    if type_ == TIMESTAMP:
        return quoted(write_timestamp(value, _TIMESTAMP_PATTERN, zone))
    if type_ == BINARY:
        return quoted(base64.b64encode(value).decode())
    text = to_text(value, type_, zone)
    bare = type_ == BOOLEAN or is_integral(type_)
    if bare or (type_ in (FLOAT, DOUBLE) and math.isfinite(value)):
        return text
    return quoted(text)
