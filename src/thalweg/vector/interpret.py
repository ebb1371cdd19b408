"""What an expression is worth on whole columns.

Common operators have kernels over columns; every other function is evaluated
row by row by its definition, so that both agree by construction. A call that
fails on a row is NULL there, and is noted by that same definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.evaluate import Compiler, Failures, Surroundings, failing
from thalweg.plan.expressions import (
    Call,
    Cast,
    Column,
    Expression,
    FieldOf,
    Literal,
    PythonCall,
    columns_used,
    transform,
)
from thalweg.types import BOOLEAN, DOUBLE, FLOAT, ArrayType, StructType, Type
from thalweg.vector.column import (
    Columns,
    Mask,
    Vector,
    constant,
    from_stored,
    from_values,
    patched,
    rows_at,
    rows_of,
    to_stored,
)
from thalweg.vector.distinct import distinct_rows
from thalweg.vector.numbers import cast_kernel, equal, kernel_for
from thalweg.vector.python_columns import call_on_columns
from thalweg.vector.texts import TextKernel, conversion_kernel, text_kernel
from thalweg.vectorized import is_vectorized

Values = tuple[Any, ...]
Vectorized = Callable[[Columns, int], Vector]


class Interpreter:
    """Turns expressions into functions over columns.

    `part` says how the parts of an expression are evaluated, if not likewise.
    """

    def __init__(
        self,
        scalar: Compiler,
        failures: Failures,
        part: Callable[[Expression], Vectorized] | None = None,
    ) -> None:
        self._scalar = scalar
        self._around = Surroundings(None, _no_subquery, failures)
        self._part = part or self

    def is_true(self, predicate: Expression) -> Callable[[Columns, int], Mask]:
        """Where a predicate is true: neither false nor NULL."""
        evaluate = self._part(predicate)

        def test(columns: Columns, length: int) -> Mask:
            outcome = evaluate(columns, length)
            if outcome.type != BOOLEAN:
                return np.zeros(length, np.bool_)
            data: Mask = outcome.data
            return data if outcome.valid is None else data & outcome.valid

        return test

    def __call__(self, expression: Expression) -> Vectorized:
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
            case Cast():
                return self._cast(expression)
            case FieldOf():
                return self._field(expression)
            case PythonCall():
                return self._python(expression)
        return self._row_by_row(expression)

    def _row_by_row(self, expression: Expression) -> Vectorized:
        """The definition, on rows of only the columns it reads."""
        used = sorted(columns_used(expression))
        places = {column: place for place, column in enumerate(used)}
        evaluate = self._scalar(transform(expression, lambda e: _at_place(e, places)))
        around, type_ = self._around, expression.type

        def run(columns: Columns, length: int) -> Vector:
            return self._distinctly(
                lambda row: evaluate(row, around), type_, tuple(columns[i] for i in used), length
            )

        return run

    def _distinctly(
        self, evaluate: Callable[[Values], Any], type_: Type, columns: Columns, length: int
    ) -> Vector:
        """A function of rows, on every different row once."""
        kinds = distinct_rows(columns, length)
        if kinds is None:
            return from_values([evaluate(row) for row in rows_of(columns, length)], type_)
        first, kind = kinds
        rows = rows_of(tuple(column.take(first) for column in columns), len(first))
        return from_values([evaluate(row) for row in rows], type_).take(kind)

    def _by_arrow(
        self, expression: Call | Cast, kernel: TextKernel, arguments: tuple[Expression, ...]
    ) -> Vectorized:
        """A kernel of Arrow, or the definition where that does not apply."""
        define = self._row_by_row(expression)
        if all(isinstance(argument, Literal) for argument in arguments):
            return define
        given = [_scalar_or(self._part, argument) for argument in arguments]

        def run(columns: Columns, length: int) -> Vector:
            outcome = kernel(*(argument(columns, length) for argument in given))
            if outcome is None:
                return define(columns, length)
            return from_stored(outcome, expression.type)

        return run

    def _call(self, call: Call) -> Vectorized:
        types = tuple(argument.type for argument in call.arguments)
        of_text = text_kernel(call)
        if of_text is not None:
            return self._by_arrow(call, *of_text)
        kernel = kernel_for(call.function, types, call.type)
        if kernel is None:
            return self._row_by_row(call)
        arguments = [self._part(argument) for argument in call.arguments]
        define = self._on_rows(call)

        def run(columns: Columns, length: int) -> Vector:
            given = [argument(columns, length) for argument in arguments]
            valid = _all_present(given)
            with np.errstate(all="ignore"):
                data, certain = kernel(*(vector.data for vector in given))
            return define(given, Vector(call.type, data, valid), certain)

        return run

    def _cast(self, cast: Cast) -> Vectorized:
        of_text = conversion_kernel(cast)
        if of_text is not None:
            return self._by_arrow(cast, of_text, (cast.input,))
        kernel = cast_kernel(cast.input.type, cast.type)
        if kernel is None:
            return self._row_by_row(cast)
        inner = self._part(cast.input)
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
            decided = self._distinctly(
                lambda row: evaluate(list(row), around),
                outcome.type,
                tuple(vector.take(open_rows) for vector in given),
                len(open_rows),
            )
            return patched(outcome, open_rows, decided)

        return decide

    def _field(self, part: FieldOf) -> Vectorized:
        struct = self._part(part.input)
        return lambda columns, length: from_stored(
            struct(columns, length).data.flatten()[part.index], part.type
        )

    def _python(self, call: PythonCall) -> Vectorized:
        function = self._scalar.load_python(call.path)
        if not is_vectorized(function):
            return self._row_by_row(call)
        arguments = [self._part(argument) for argument in call.arguments]
        fail = failing(call, self._around.failures)

        def run(columns: Columns, length: int) -> Vector:
            given = tuple(argument(columns, length) for argument in arguments)
            return call_on_columns(function, given, length, call.type, fail)

        return run

    def _logic(self, call: Call) -> Vectorized:
        if any(argument.type != BOOLEAN for argument in call.arguments):
            return self._row_by_row(call)
        left, right = (self._part(argument) for argument in call.arguments)
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
        inner = self._part(call.arguments[0])
        wants_null = call.function in ("is null", "isnull")

        def run(columns: Columns, length: int) -> Vector:
            present = inner(columns, length).present()
            return Vector(BOOLEAN, ~present if wants_null else present)

        return run

    def _coalesce(self, call: Call) -> Vectorized:
        if any(argument.type != call.type for argument in call.arguments):
            return self._row_by_row(call)
        choices = [self._part(argument) for argument in call.arguments]
        used = columns_used(call)

        def run(columns: Columns, length: int) -> Vector:
            found = choices[0](columns, length)
            for choice in choices[1:]:
                missing = np.flatnonzero(~found.present())
                if not len(missing):
                    break
                found = patched(
                    found, missing, choice(rows_at(columns, missing, used), len(missing))
                )
            return found

        return run

    def _case(self, call: Call) -> Vectorized:
        parts = list(call.arguments)
        default = parts.pop() if len(parts) % 2 else None
        if any(part.type != BOOLEAN for part in parts[::2]) or any(
            part.type != call.type for part in (*parts[1::2], *([default] if default else ()))
        ):
            return self._row_by_row(call)
        branches = [
            (self.is_true(condition), self._part(value))
            for condition, value in zip(parts[::2], parts[1::2], strict=True)
        ]
        otherwise = None if default is None else self._part(default)
        used = columns_used(call)

        def run(columns: Columns, length: int) -> Vector:
            result = constant(None, call.type, length)
            left = np.arange(length)
            for condition, value in branches:
                chosen = condition(rows_at(columns, left, used), len(left))
                rows = left[chosen]
                if len(rows):
                    result = patched(result, rows, value(rows_at(columns, rows, used), len(rows)))
                left = left[~chosen]
            if otherwise is not None and len(left):
                result = patched(result, left, otherwise(rows_at(columns, left, used), len(left)))
            return result

        return run

    def _in(self, call: Call) -> Vectorized:
        type_ = call.arguments[0].type
        literals = [c.value for c in call.arguments[1:] if isinstance(c, Literal)]
        if any(choice.type != type_ for choice in call.arguments):
            return self._row_by_row(call)
        if isinstance(type_, ArrayType | StructType):
            return self._row_by_row(call)
        value = self._part(call.arguments[0])
        choices = from_values(literals, type_)
        if type_ in (FLOAT, DOUBLE):
            return lambda columns, length: _among(value(columns, length), choices)

        def run(columns: Columns, length: int) -> Vector:
            given = value(columns, length)
            found = pc.is_in(to_stored(given), value_set=to_stored(choices))
            data = found.to_numpy(zero_copy_only=False)
            return Vector(BOOLEAN, data, given.present() if given.has_nulls else None)

        return run


def _among(given: Vector, choices: Vector) -> Vector:
    data = np.zeros(len(given), np.bool_)
    for choice in choices.data:
        data |= equal(given.data, choice, True)
    return Vector(BOOLEAN, data, given.valid)


def _scalar_or(
    part: Callable[[Expression], Vectorized], argument: Expression
) -> Callable[[Columns, int], pa.Array | pa.Scalar]:
    """An argument of an Arrow kernel: a constant need not be repeated."""
    if isinstance(argument, Literal):
        (value,) = to_stored(from_values([argument.value], argument.type))
        return lambda columns, length: value
    evaluate = part(argument)
    return lambda columns, length: to_stored(evaluate(columns, length))


def _all_present(vectors: list[Vector]) -> Mask | None:
    masks = [vector.valid for vector in vectors if vector.valid is not None]
    if not masks:
        return None
    present = masks[0]
    for mask in masks[1:]:
        present = present & mask
    return present


def _at_place(expression: Expression, places: dict[int, int]) -> Expression:
    if isinstance(expression, Column):
        return Column(type=expression.type, index=places[expression.index], name=expression.name)
    return expression


def _no_subquery(plan: Any, row: Any) -> list[Any]:
    raise AssertionError("a subquery is not evaluated on columns")
