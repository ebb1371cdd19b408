"""What a bound expression is worth on one row, at one instant.

Expressions become nested Python functions. A call that fails is NULL: the
failure is noted, and evaluation goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from thalweg.functions import SCALARS, Failure, Nulls, Signature
from thalweg.functions.cast import caster
from thalweg.plan.expressions import (
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
from thalweg.plan.text import expression_text
from thalweg.python_values import from_python, to_python
from thalweg.values import sort_key
from thalweg.vector.column import from_values
from thalweg.vector.python_columns import Fail, call_on_columns
from thalweg.vectorized import is_vectorized

if TYPE_CHECKING:
    from thalweg.plan.nodes import Plan

Values = tuple[Any, ...]


# An expression, the reason, the arguments.
Note = tuple[str, str, str]


@dataclass
class Failures:
    """Calls that gave no value, each once."""

    noted: dict[Note, None] = field(default_factory=dict)

    def note(self, expression: str, reason: str, arguments: object) -> None:
        self.noted[expression, reason, repr(arguments)[:200]] = None

    def __len__(self) -> int:
        return len(self.noted)

    @contextmanager
    def ignored(self) -> Iterator[None]:
        """Calls that are made only to learn from them have not failed for anybody."""
        before = dict(self.noted)
        try:
            yield
        finally:
            self.noted.clear()
            self.noted.update(before)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an expression may look at beside its row.

    `rows_of` gives the rows of a subquery, for a row of the enclosing query.
    """

    outer: Values | None
    rows_of: Callable[[Plan, Values], list[Values]]
    failures: Failures


Evaluate = Callable[[Values, Surroundings], Any]
LoadPython = Callable[[str], Any]


class Compiler:
    """Turns expressions into functions, each once."""

    def __init__(self, load_python: LoadPython) -> None:
        self.load_python = load_python
        # Keyed by identity: plans live as long as their compiler, and hashing a
        # deep expression costs more than evaluating it.
        self._compiled: dict[int, tuple[Expression, Evaluate]] = {}

    def __call__(self, expression: Expression) -> Evaluate:
        known = self._compiled.get(id(expression))
        if known is None:
            known = (expression, self._compile(expression))
            self._compiled[id(expression)] = known
        return known[1]

    def _compile(self, expression: Expression) -> Evaluate:
        match expression:
            case Column(index=index):
                return lambda row, around: row[index]
            case OuterColumn(index=index):
                return lambda row, around: _outer(around)[index]
            case Literal(value=value):
                return lambda row, around: value
            case Call():
                return self._call(expression)
            case Cast():
                return self._cast(expression)
            case FieldOf(input=inner, index=index):
                struct = self(inner)
                return lambda row, around: _part(struct(row, around), index)
            case PythonCall():
                return self._python(expression)
            case Exists(plan=plan):
                return lambda row, around: bool(around.rows_of(plan, row))
            case InSubquery():
                return self._in(expression)
            case ScalarSubquery():
                return self._scalar(expression)
        raise AssertionError(f"{type(expression).__name__} is not evaluated row by row")

    def _call(self, call: Call) -> Evaluate:
        function = SCALARS[call.function]
        signature = Signature(tuple(a.type for a in call.arguments), call.type)
        compute = function.make(signature)
        arguments = [self(argument) for argument in call.arguments]

        def strict(row: Values, around: Surroundings) -> Any:
            values = [argument(row, around) for argument in arguments]
            if None in values:
                return None
            return _guarded(call, compute, values, around)

        def seen(row: Values, around: Surroundings) -> Any:
            return _guarded(call, compute, [a(row, around) for a in arguments], around)

        def lazy(row: Values, around: Surroundings) -> Any:
            return compute(*(partial(argument, row, around) for argument in arguments))

        return {Nulls.STRICT: strict, Nulls.SEEN: seen, Nulls.LAZY: lazy}[function.nulls]

    def on_values(self, expression: Call | Cast) -> Callable[[list[Any], Surroundings], Any]:
        """A strict call or a cast on values of its arguments, none of them NULL."""
        if isinstance(expression, Cast):
            return self._conversion(expression)
        signature = Signature(tuple(a.type for a in expression.arguments), expression.type)
        compute = SCALARS[expression.function].make(signature)
        return lambda values, around: _guarded(expression, compute, values, around)

    def _cast(self, cast: Cast) -> Evaluate:
        inner, convert = self(cast.input), self._conversion(cast)

        def evaluate(row: Values, around: Surroundings) -> Any:
            value = inner(row, around)
            return None if value is None else convert([value], around)

        return evaluate

    def _conversion(self, cast: Cast) -> Callable[[list[Any], Surroundings], Any]:
        convert = caster(cast.input.type, cast.type, cast.zone, cast.quiet)

        def evaluate(values: list[Any], around: Surroundings) -> Any:
            try:
                return convert(values[0])
            except Failure as failure:
                around.failures.note(expression_text(cast), str(failure), tuple(values))
                return None

        return evaluate

    def _python(self, call: PythonCall) -> Evaluate:
        function = self.load_python(call.path)
        arguments = [self(argument) for argument in call.arguments]
        types = [argument.type for argument in call.arguments]

        def on_columns(row: Values, around: Surroundings) -> Any:
            values = [argument(row, around) for argument in arguments]
            given = tuple(from_values([v], type_) for v, type_ in zip(values, types, strict=True))
            fail = failing(call, around.failures)
            return call_on_columns(function, given, 1, call.type, fail).values()[0]

        def evaluate(row: Values, around: Surroundings) -> Any:
            values = [argument(row, around) for argument in arguments]
            try:
                result = function(*map(to_python, values, types))
                return from_python(result, call.type)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failing(call, around.failures)(error, values)
                return None

        return on_columns if is_vectorized(function) else evaluate

    def _in(self, expression: InSubquery) -> Evaluate:
        sides = [self(value) for value in expression.values]

        def evaluate(row: Values, around: Surroundings) -> Any:
            """True if some row equals; NULL if one might, were its NULLs known."""
            wanted = [side(row, around) for side in sides]
            perhaps = False
            for candidate in around.rows_of(expression.plan, row):
                outcome = _rows_equal(wanted, candidate)
                if outcome:
                    return True
                perhaps = perhaps or outcome is None
            return None if perhaps else False

        return evaluate

    def _scalar(self, expression: ScalarSubquery) -> Evaluate:
        def evaluate(row: Values, around: Surroundings) -> Any:
            rows = around.rows_of(expression.plan, row)
            if len(rows) > 1:
                around.failures.note("(…)", "a subquery used as a value gave several rows", ())
                return None
            return rows[0][0] if rows else None

        return evaluate


def failing(call: PythonCall, failures: Failures) -> Fail:
    """What notes the failures of a user's function."""

    def fail(error: BaseException, values: list[Any]) -> None:
        failures.note(expression_text(call), describe_exception(error), values)

    return fail


def describe_exception(error: BaseException) -> str:
    """What a user's code raised; its text is the user's code too, and may raise."""
    if isinstance(error, Failure):
        return str(error)
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def _outer(around: Surroundings) -> Values:
    assert around.outer is not None, "a correlated subquery is evaluated for a row"
    return around.outer


def _part(struct: Any, index: int) -> Any:
    return None if struct is None else struct[index]


def _guarded(
    call: Call, compute: Callable[..., Any], values: list[Any], around: Surroundings
) -> Any:
    try:
        return compute(*values)
    except Failure as failure:
        around.failures.note(expression_text(call), str(failure), tuple(values))
    except ArithmeticError as error:
        around.failures.note(expression_text(call), str(error) or "overflow", tuple(values))
    return None


def _rows_equal(left: list[Any], right: Values) -> bool | None:
    """Whether two rows are equal, in SQL's three values."""
    unknown = False
    for a, b in zip(left, right, strict=True):
        if a is None or b is None:
            unknown = True
        elif sort_key(a) != sort_key(b):
            return False
    return None if unknown else True
