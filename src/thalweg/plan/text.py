"""Expressions as text: for `explain`, and for the names of unnamed columns."""

from __future__ import annotations

from typing import Any

from thalweg.functions import SCALARS
from thalweg.functions.cast import to_text
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
from thalweg.types import DATE, STRING, TIMESTAMP, Type

_INFIX = {
    "+", "-", "*", "/", "%", "div", "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or",
    "&", "|", "^", "<<", ">>",
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
        return "'" + value.replace("'", "''") + "'"
    if type_ in (DATE, TIMESTAMP):
        return f"{type_} '{to_text(value, type_, 'UTC')}'"
    return to_text(value, type_, "UTC")


def expression_text(expression: Expression) -> str:
    """As a person would write it, without the outermost parentheses."""
    text = _text(expression, quoted=True)
    return text[1:-1] if _encloses(text) else text


def column_name(expression: Expression) -> str:
    """The name Spark gives to a column that the query does not name."""
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
            if written is not None and not quoted:
                return written
            if quoted or value is None or type_ in (DATE, TIMESTAMP):
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
    inner = ", ".join(_text(a, quoted) for a in call.arguments)
    text = f"{call.function}({'DISTINCT ' if call.distinct else ''}{inner})"
    if call.where is not None:
        text += f" FILTER (WHERE {_text(call.where, quoted)})"
    return text


def _call_text(call: Call, quoted: bool) -> str:
    name = call.function
    parts = [_text(a, quoted) for a in call.arguments]
    if name in _INFIX:
        symbol = name.upper() if name in _UPPER else name
        return f"({parts[0]} {symbol} {parts[1]})"
    if name in _PLUS:
        return f"({parts[0]} + {parts[1]})"
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
    if name in ("like", "ilike", "rlike"):
        return f"{parts[0]} {name.upper()} {parts[1]}"
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


def _is_zone(call: Call) -> bool:
    function = SCALARS.get(call.function)
    return function is not None and function.zoned


def _case_text(parts: list[str]) -> str:
    branches = [f"WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2)]
    if len(parts) % 2:
        branches.append(f"ELSE {parts[-1]}")
    return f"CASE {' '.join(branches)} END"
