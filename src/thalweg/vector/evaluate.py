"""What an expression is worth on whole columns.

Common operators have kernels over columns; every other function is evaluated
row by row by its definition, so that both agree by construction. A call that
fails on a row is NULL there, and is noted by that same definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from thalweg.evaluate import Compiler, Failures, Surroundings
from thalweg.plan.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    Literal,
    columns_used,
    transform,
)
from thalweg.types import BINARY, BOOLEAN, DOUBLE, FLOAT, STRING
from thalweg.vector.column import (
    FIXED,
    Columns,
    Mask,
    Vector,
    constant,
    from_values,
    rows_of,
)
from thalweg.vector.numbers import cast_kernel, equal, kernel_for

Vectorized = Callable[[Columns, int], Vector]


class VectorCompiler:
    """Turns expressions into functions over columns, each once."""

    def __init__(self, scalar: Compiler, failures: Failures) -> None:
        self._scalar = scalar
        self._around = Surroundings(None, _no_subquery, failures)
        self._compiled: dict[int, tuple[Expression, Vectorized]] = {}

    def __call__(self, expression: Expression) -> Vectorized:
        known = self._compiled.get(id(expression))
        if known is None:
            known = self._compiled[id(expression)] = (expression, self._compile(expression))
        return known[1]

    def is_true(self, expression: Expression) -> Callable[[Columns, int], Mask]:
        """Where a predicate is true: neither false nor NULL."""
        evaluate = self(expression)

        def test(columns: Columns, length: int) -> Mask:
            outcome = evaluate(columns, length)
            if outcome.type != BOOLEAN:
                return np.zeros(length, np.bool_)
            data: Mask = outcome.data
            return data if outcome.valid is None else data & outcome.valid

        return test

    def _compile(self, expression: Expression) -> Vectorized:
        match expression:
            case Column(index=index):
                return lambda columns, length: columns[index]
            case Literal(value=value, type=type_):
                return lambda columns, length: constant(value, type_, length)
            case Call(function="and" | "or"):
                return self._logic(expression)
            case Call(function="is null" | "isnull" | "is not null" | "isnotnull"):
                return self._null_test(expression)
            case Call(function="coalesce" | "ifnull" | "nvl"):
                return self._coalesce(expression)
            case Call(function="case" | "if" | "iff"):
                return self._case(expression)
            case Call(function="in") if all(
                isinstance(choice, Literal) and choice.value is not None
                for choice in expression.arguments[1:]
            ):
                return self._in(expression)
            case Call():
                return self._call(expression)
            case Cast() if cast_kernel(expression.input.type, expression.type) is not None:
                return self._cast(expression)
        return self._row_by_row(expression)

    def _row_by_row(self, expression: Expression) -> Vectorized:
        """The definition, on rows of only the columns it reads."""
        used = sorted(columns_used(expression))
        places = {column: place for place, column in enumerate(used)}
        evaluate = self._scalar(transform(expression, lambda e: _at_place(e, places)))
        around, type_ = self._around, expression.type

        def run(columns: Columns, length: int) -> Vector:
            rows = rows_of(tuple(columns[i] for i in used), length)
            return from_values([evaluate(row, around) for row in rows], type_)

        return run

    def _call(self, call: Call) -> Vectorized:
        types = tuple(argument.type for argument in call.arguments)
        if len(types) == 2 and types[0] == types[1] and types[0] in (STRING, BINARY):
            compare = _TEXT_COMPARISONS.get(call.function)
            if compare is not None:
                return self._compare_texts(call, compare)
        kernel = kernel_for(call.function, types, call.type)
        if kernel is None:
            return self._row_by_row(call)
        arguments = [self(argument) for argument in call.arguments]
        define = self._on_rows(call)

        def run(columns: Columns, length: int) -> Vector:
            given = [argument(columns, length) for argument in arguments]
            valid = _all_present(given)
            with np.errstate(all="ignore"):
                data, certain = kernel(*(vector.data for vector in given))
            return define(given, Vector(call.type, data, valid), certain)

        return run

    def _cast(self, cast: Cast) -> Vectorized:
        kernel = cast_kernel(cast.input.type, cast.type)
        assert kernel is not None, "only casts with a kernel come here"
        inner = self(cast.input)
        define = self._on_rows(cast)

        def run(columns: Columns, length: int) -> Vector:
            given = inner(columns, length)
            with np.errstate(all="ignore"):
                data, certain = kernel(given.data)
            return define([given], Vector(cast.type, data, given.valid), certain)

        return run

    def _on_rows(
        self, expression: Call | Cast
    ) -> Callable[[list[Vector], Vector, Mask | None], Vector]:
        """Let the definition decide the rows of which a kernel is not certain."""
        evaluate = self._scalar.on_values(expression)
        around = self._around

        def decide(given: list[Vector], outcome: Vector, certain: Mask | None) -> Vector:
            if certain is None or certain.all():
                return outcome
            open_rows = np.flatnonzero(~certain & outcome.present())
            if not len(open_rows):
                return outcome
            rows = rows_of(tuple(vector.take(open_rows) for vector in given), len(open_rows))
            decided = from_values([evaluate(list(row), around) for row in rows], outcome.type)
            data = outcome.data.copy()
            data[open_rows] = decided.data
            valid = outcome.present().copy()
            valid[open_rows] = decided.present()
            return Vector(outcome.type, data, valid)

        return decide

    def _compare_texts(self, call: Call, compare: Callable[[Any, Any], Any]) -> Vectorized:
        left, right = (self(argument) for argument in call.arguments)

        def run(columns: Columns, length: int) -> Vector:
            outcome = compare(left(columns, length).data, right(columns, length).data)
            return _from_booleans(outcome)

        return run

    def _logic(self, call: Call) -> Vectorized:
        if any(argument.type != BOOLEAN for argument in call.arguments):
            return self._row_by_row(call)
        left, right = (self(argument) for argument in call.arguments)
        decisive = call.function == "or"

        def run(columns: Columns, length: int) -> Vector:
            a, b = left(columns, length), right(columns, length)
            if decisive:
                data = (a.data & a.present()) | (b.data & b.present())
            else:
                data = (a.data | ~a.present()) & (b.data | ~b.present())
            valid = _all_present([a, b])
            if valid is None:
                return Vector(BOOLEAN, data)
            return Vector(BOOLEAN, data, valid | (data == decisive))

        return run

    def _null_test(self, call: Call) -> Vectorized:
        inner = self(call.arguments[0])
        wants_null = call.function in ("is null", "isnull")

        def run(columns: Columns, length: int) -> Vector:
            present = inner(columns, length).present()
            return Vector(BOOLEAN, ~present if wants_null else present)

        return run

    def _coalesce(self, call: Call) -> Vectorized:
        if call.type not in FIXED or any(a.type != call.type for a in call.arguments):
            return self._row_by_row(call)
        choices = [self(argument) for argument in call.arguments]
        used = columns_used(call)

        def run(columns: Columns, length: int) -> Vector:
            found = choices[0](columns, length)
            for choice in choices[1:]:
                missing = np.flatnonzero(~found.present())
                if not len(missing):
                    break
                found = _patched(
                    found, missing, choice(_rows(columns, missing, used), len(missing))
                )
            return found

        return run

    def _case(self, call: Call) -> Vectorized:
        if call.type not in FIXED:
            return self._row_by_row(call)
        parts = list(call.arguments)
        default = parts.pop() if len(parts) % 2 else None
        if any(part.type != BOOLEAN for part in parts[::2]) or any(
            part.type != call.type for part in (*parts[1::2], *([default] if default else ()))
        ):
            return self._row_by_row(call)
        branches = [
            (self.is_true(condition), self(value))
            for condition, value in zip(parts[::2], parts[1::2], strict=True)
        ]
        otherwise = None if default is None else self(default)
        used = columns_used(call)

        def run(columns: Columns, length: int) -> Vector:
            result = constant(None, call.type, length)
            left = np.arange(length)
            for condition, value in branches:
                chosen = condition(_rows(columns, left, used), len(left))
                rows = left[chosen]
                if len(rows):
                    result = _patched(result, rows, value(_rows(columns, rows, used), len(rows)))
                left = left[~chosen]
            if otherwise is not None and len(left):
                result = _patched(result, left, otherwise(_rows(columns, left, used), len(left)))
            return result

        return run

    def _in(self, call: Call) -> Vectorized:
        type_ = call.arguments[0].type
        literals = [c.value for c in call.arguments[1:] if isinstance(c, Literal)]
        if any(choice.type != type_ for choice in call.arguments):
            return self._row_by_row(call)
        value = self(call.arguments[0])
        choices = from_values(literals, type_)
        if type_ in (STRING, BINARY):

            def run_texts(columns: Columns, length: int) -> Vector:
                given = value(columns, length)
                found = pc.is_in(given.data, value_set=choices.data)
                data = found.to_numpy(zero_copy_only=False)
                return Vector(BOOLEAN, data, given.present() if given.has_nulls else None)

            return run_texts
        if type_ not in FIXED:
            return self._row_by_row(call)
        floats = type_ in (FLOAT, DOUBLE)

        def run(columns: Columns, length: int) -> Vector:
            given = value(columns, length)
            data = np.zeros(length, np.bool_)
            for choice in choices.data:
                data |= equal(given.data, choice, floats)
            return Vector(BOOLEAN, data, given.valid)

        return run


def _rows(columns: Columns, rows: Any, used: frozenset[int]) -> Columns:
    """Some rows of the columns that are used; the others are left as they are."""
    return tuple(column.take(rows) if i in used else column for i, column in enumerate(columns))


def _patched(vector: Vector, rows: Any, values: Vector) -> Vector:
    data, valid = vector.data.copy(), vector.present().copy()
    data[rows] = values.data
    valid[rows] = values.present()
    return Vector(vector.type, data, valid)


def _all_present(vectors: list[Vector]) -> Mask | None:
    masks = [vector.valid for vector in vectors if vector.valid is not None]
    if not masks:
        return None
    present = masks[0]
    for mask in masks[1:]:
        present = present & mask
    return present


def _from_booleans(outcome: Any) -> Vector:
    present = None
    if outcome.null_count:
        present = pc.is_valid(outcome).to_numpy(zero_copy_only=False)
        outcome = outcome.fill_null(False)
    return Vector(BOOLEAN, outcome.to_numpy(zero_copy_only=False), present)


def _at_place(expression: Expression, places: dict[int, int]) -> Expression:
    if isinstance(expression, Column):
        return Column(type=expression.type, index=places[expression.index], name=expression.name)
    return expression


def _no_subquery(plan: Any, row: Any) -> list[Any]:
    raise AssertionError("a subquery is not evaluated on columns")


_TEXT_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
