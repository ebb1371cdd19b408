"""Expressions as text: for `explain`, and for the names of unnamed columns."""

from __future__ import annotations

from typing import Any

from thalweg.functions import SCALARS
from thalweg.functions.cast import to_text
from thalweg.functions.conversions import TYPE_FUNCTIONS
from thalweg.functions.instants import DEFAULT_PATTERN
from thalweg.plan.expressions import (
    AggregateCall,
    Call,
    Cast,
    Column,
    Exists,
    Expression,
    FieldOf,
    InSubquery,
    Literal,
    OuterColumn,
    PythonCall,
    ScalarSubquery,
)
from thalweg.types import BINARY, DATE, STRING, TIMESTAMP, Type, is_numeric

_INFIX = {
    "+", "-", "*", "/", "%", "div", "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or",
    "&", "|", "^", "<<", ">>", ">>>",
}  # fmt: skip
_PLUS = {
    "date + months", "date + days", "timestamp + interval", "timestamp + months",
}  # fmt: skip
_MINUS = {"timestamp - timestamp", "date - date"}
_SCALED = {"interval * number": "*", "interval / number": "/"}
_POSTFIX = {"is null": "IS NULL", "is not null": "IS NOT NULL"}
_UPPER = {"and", "or", "div"}


def literal_text(value: Any, type_: Type) -> str:
    if value is None:
        return "NULL"
    if type_ == STRING:
        return "'" + str(value).replace("'", "''") + "'"
    if type_ == BINARY:
        return f"X'{value.hex().upper()}'"
    if type_ in (DATE, TIMESTAMP):
        return f"{type_} '{to_text(value, type_, 'UTC')}'"
    return to_text(value, type_, "UTC")


def expression_text(expression: Expression) -> str:
    """As a person would write it, without the outermost parentheses."""
    text = _text(expression, quoted=True)
    return text[1:-1] if _encloses(text) else text


def column_name(expression: Expression) -> str:
    """The name Spark gives to a column that the query does not name."""
    match expression:
        case FieldOf(name=name) | Cast(input=Column(name=name)):
            return name
    return _text(expression, quoted=False)


def _encloses(text: str) -> bool:
    if not text.startswith("("):
        return False
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return position == len(text) - 1
    return False


def _text(expression: Expression, quoted: bool) -> str:
    match expression:
        case Column(name=name):
            return name
        case OuterColumn(name=name):
            return f"outer.{name}" if quoted else name
        case Literal(value=value, type=type_, written=written):
            if written is not None and (not quoted or is_numeric(type_)):
                return written
            if quoted or value is None or type_ in (DATE, TIMESTAMP, BINARY):
                return literal_text(value, type_)
            return to_text(value, type_, "UTC")
        case Call():
            return _call_text(expression, quoted)
        case Cast(input=inner, type=type_, quiet=quiet, implicit=implicit):
            if implicit:
                return _text(inner, quoted)
            word = "TRY_CAST" if quiet else "CAST"
            return f"{word}({_text(inner, quoted)} AS {type_})"
        case FieldOf(input=inner, name=name):
            return f"{_text(inner, quoted)}.{name}"
        case PythonCall(name=name, arguments=arguments):
            return f"{name}({', '.join(_text(a, quoted) for a in arguments)})"
        case AggregateCall():
            return _aggregate_text(expression, quoted)
        case Exists():
            return "EXISTS (…)" if quoted else "exists()"
        case InSubquery(values=values):
            left = ", ".join(_text(v, quoted) for v in values)
            return f"({left} IN (…))"
        case ScalarSubquery():
            return "(…)" if quoted else "scalarsubquery()"
    raise AssertionError(f"no text for {type(expression).__name__}")


def _aggregate_text(call: AggregateCall, quoted: bool) -> str:
    name, parts = call.function, [_text(a, quoted) for a in call.arguments]
    inner = ", ".join(parts) if quoted else _with_defaults(name, parts)
    if not quoted:
        name = _SAME_AS.get(name, name)
    text = f"{name}({'DISTINCT ' if call.distinct else ''}{inner})"
    if call.where is not None:
        text += f" FILTER (WHERE {_text(call.where, quoted)})"
    return text


def _call_text(call: Call, quoted: bool) -> str:
    name = call.function
    if name in _PLUS:
        return _moved_text(call, quoted)
    parts = [_text(a, quoted) for a in call.arguments]
    if not quoted:
        named = _spark_name(call, parts)
        if named is not None:
            return named
    if name in _INFIX:
        symbol = name.upper() if name in _UPPER else name
        return f"({parts[0]} {symbol} {parts[1]})"
    if name in _MINUS:
        return f"({parts[0]} - {parts[1]})"
    if name in _SCALED:
        return f"({parts[0]} {_SCALED[name]} {parts[1]})"
    if name in _POSTFIX:
        return f"({parts[0]} {_POSTFIX[name]})"
    if name == "not":
        return f"(NOT {parts[0]})"
    if name == "negative":
        return f"(- {parts[0]})"
    if name == "positive":
        return f"(+ {parts[0]})"
    if name in ("like", "ilike", "rlike"):
        escape = f" ESCAPE {parts[2]}" if len(parts) == 3 else ""
        return f"{parts[0]} {name.upper()} {parts[1]}{escape}"
    if name in _TRIMMED:
        return f"TRIM({_TRIMMED[name]} {parts[1]} FROM {parts[0]})"
    if name == "in":
        return f"({parts[0]} IN ({', '.join(parts[1:])}))"
    if name == "case":
        return _case_text(parts)
    if name == "[]":
        return f"{parts[0]}[{parts[1]}]"
    visible = parts
    if call.arguments and _is_zone(call):
        visible = parts[:-1]
    return f"{name}({', '.join(visible)})"


def _moved_text(call: Call, quoted: bool) -> str:
    """A time plus an interval; the binder writes minus as plus the negative."""
    time, interval = call.arguments[:2]
    sign = "+"
    if isinstance(interval, Call) and interval.function == "negative":
        sign, interval = "-", interval.arguments[0]
    text = f"{_text(time, quoted)} {sign} {_text(interval, quoted)}"
    return f"({text})" if quoted else text


# Names that Spark prints in capitals.
_SHOUTED = {
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "cot",
    "csc", "degrees", "e", "exp", "expm1", "hypot", "log", "log10", "log1p", "log2", "pi", "power",
    "radians", "regexp", "regexp_like", "rlike", "sec", "signum", "sin", "sinh", "sqrt", "tan",
    "tanh",
}  # fmt: skip
# What Spark prints of optional arguments that are not given, by their position.
_DEFAULTS: dict[str, dict[int, str]] = {
    "approx_percentile": {3: "10000"},
    "bround": {2: "0"},
    "from_unixtime": {2: DEFAULT_PATTERN},
    "listagg": {2: "NULL"},
    "locate": {3: "1"},
    "lpad": {3: " "},
    "mask": {2: "X", 3: "x", 4: "n", 5: "NULL"},
    "months_between": {3: "true"},
    "overlay": {4: "-1"},
    "percentile": {3: "1"},
    "percentile_approx": {3: "10000"},
    "regexp_extract": {3: "1"},
    "regexp_extract_all": {3: "1"},
    "regexp_instr": {3: "0"},
    "regexp_replace": {4: "1"},
    "round": {2: "0"},
    "rpad": {3: " "},
    "sort_array": {2: "true"},
    "split": {3: "-1"},
    "string_agg": {2: "NULL"},
    "substring": {3: "2147483647"},
    "to_unix_timestamp": {2: DEFAULT_PATTERN},
    "unix_timestamp": {2: DEFAULT_PATTERN},
}
_SAME_AS = {"array_agg": "collect_list"}
_TRIMMED = {"trim of": "BOTH", "ltrim of": "LEADING", "rtrim of": "TRAILING"}
_OLDER_TRIMS = {"trim": "BOTH", "ltrim": "LEADING", "rtrim": "TRAILING"}


def _with_defaults(name: str, parts: list[str]) -> str:
    left_out = _DEFAULTS.get(name, {}).items()
    return ", ".join([*parts, *(text for at, text in left_out if at > len(parts))])


def _spark_name(call: Call, parts: list[str]) -> str | None:
    """What Spark calls a call, where that is not how it is written."""
    name = call.function
    if name == "<>":
        return f"(NOT ({parts[0]} = {parts[1]}))"
    if name == "div":
        return f"({parts[0]} div {parts[1]})"
    if name == "~":
        return f"~{parts[0]}"
    if name == "if":
        return f"(IF({', '.join(parts)}))"
    if name in ("isnull", "isnotnull"):
        return f"({parts[0]} IS {'NOT ' if name == 'isnotnull' else ''}NULL)"
    if name in TYPE_FUNCTIONS:
        return parts[0]
    if name in _OLDER_TRIMS and len(parts) == 2:
        return f"TRIM({_OLDER_TRIMS[name]} {parts[0]} FROM {parts[1]})"
    if name == "like" and len(parts) == 3:
        return f"{parts[0]} LIKE {parts[1]} ESCAPE '{parts[2]}'"
    if name == "ilike":
        return f"ilike({', '.join(parts[:2])})"
    if name == "log" and len(parts) == 1:
        return f"LOG(E(), {parts[0]})"
    if name in ("ceil", "floor") and len(parts) == 1:
        return f"{name.upper()}({parts[0]})"
    if name in _SHOUTED:
        return f"{name.upper()}({', '.join(parts)})"
    if name == "from_json":
        return f"from_json({parts[0]})"
    if name == "named_struct" and call.arguments and call.arguments[0].span is None:
        return _struct_name(call, parts)
    if name in _DEFAULTS:
        given = parts[:-1] if _is_zone(call) else parts
        return f"{name}({_with_defaults(name, given)})"
    return None


def _struct_name(call: Call, parts: list[str]) -> str:
    """`struct(a, 1 AS x)`: the binder has put a name before each value."""
    shown = []
    for i in range(0, len(parts), 2):
        value = call.arguments[i + 1]
        own = value.name if isinstance(value, Column | FieldOf) else f"col{i // 2 + 1}"
        shown.append(parts[i + 1] if parts[i] == own else f"{parts[i + 1]} AS {parts[i]}")
    return f"struct({', '.join(shown)})"


def _is_zone(call: Call) -> bool:
    function = SCALARS.get(call.function)
    return function is not None and function.zoned


def _case_text(parts: list[str]) -> str:
    branches = [f"WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2)]
    if len(parts) % 2:
        branches.append(f"ELSE {parts[-1]}")
    return f"CASE {' '.join(branches)} END"
