"""How a built-in function is declared, found and typed.

A function is three things: what it accepts, what it gives, and what it computes
on plain Python values. The computation here is the definition; faster ones on
columns are compared with it.

A call that cannot give a value raises `Failure`. The call is then NULL, and
whoever evaluates it counts the failure and keeps a sample: one bad row never
stops a query.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from thalweg.coercion import common_type, common_type_of, converts_implicitly
from thalweg.errors import QueryError, did_you_mean
from thalweg.plan.expressions import Expression, Literal
from thalweg.types import (
    BINARY,
    DOUBLE,
    INT,
    NULL,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    StructType,
    Type,
    array,
    is_integral,
    is_numeric,
)


class Failure(Exception):
    """This call has no value on these arguments; the message says why."""


class Nulls(Enum):
    STRICT = "a NULL argument makes the call NULL; the function never sees one"
    SEEN = "the function is called with None where an argument is NULL"
    LAZY = "the function gets argument thunks and calls those it needs"


@dataclass(frozen=True, slots=True)
class Signature:
    """What a call converts its arguments to, and the type it gives."""

    arguments: tuple[Type, ...]
    result: Type


Resolve = Callable[[str, Sequence[Expression]], Signature]
Compute = Callable[..., Any]


@dataclass(frozen=True)
class ScalarFunction:
    """A built-in. `make` builds the computation where it depends on the types.

    A `zoned` function takes the session's time zone as one more argument at the
    end, which the binder adds, so that an expression means the same wherever it
    runs. Its declaration speaks of the other arguments only.
    """

    name: str
    resolve: Resolve
    make: Callable[[Signature], Compute]
    nulls: Nulls = Nulls.STRICT
    zoned: bool = False


class Kind(Enum):
    """A parameter that takes several types as they are, or converts less than its type would."""

    ANY = "anything"
    NUMERIC = "a number"
    INTEGRAL = "an integer"
    AT_MOST_INT = "INT"
    STRING_ONLY = "STRING"
    ARRAY = "an array"
    STRUCT = "a struct"
    TEXT = "STRING or BINARY"

    def accepts(self, type_: Type) -> bool:
        match self:
            case Kind.ANY:
                return True
            case Kind.NUMERIC:
                return is_numeric(type_)
            case Kind.INTEGRAL:
                return is_integral(type_)
            case Kind.AT_MOST_INT:
                return type_ == INT
            case Kind.STRING_ONLY:
                return type_ == STRING
            case Kind.ARRAY:
                return isinstance(type_, ArrayType)
            case Kind.STRUCT:
                return isinstance(type_, StructType)
            case Kind.TEXT:
                return type_ in (STRING, BINARY)

    def adapt(self, type_: Type) -> Type | None:
        """The type that an argument of `type_` is converted to, or None if it does not fit."""
        if self.accepts(type_):
            return type_
        if type_ == NULL:
            return _NULL_BECOMES.get(self, NULL)
        if type_ == STRING and self is Kind.NUMERIC:
            return DOUBLE
        if self is Kind.AT_MOST_INT and type_ in (TINYINT, SMALLINT):
            return INT
        if self is Kind.TEXT and converts_implicitly(type_, STRING):
            return STRING
        return None


_NULL_BECOMES = {
    Kind.NUMERIC: DOUBLE,
    Kind.INTEGRAL: INT,
    Kind.AT_MOST_INT: INT,
    Kind.STRING_ONLY: STRING,
    Kind.ARRAY: array(NULL),
    Kind.TEXT: STRING,
}

# A tuple takes any of its types as it is, and others as the first they convert to.
Parameter = Type | Kind | tuple[Type, ...]
Result = Type | Callable[[tuple[Type, ...]], Type]

SCALARS: dict[str, ScalarFunction] = {}
F = TypeVar("F", bound=Callable[..., Any])


def takes(
    *parameters: Parameter, gives: Result, optional: int = 0, repeats: bool = False
) -> Resolve:
    """Resolve by position: the last `optional` ones may be missing, the last one may repeat."""

    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        least, most = len(parameters) - optional, len(parameters)
        if len(arguments) < least or (len(arguments) > most and not repeats):
            raise wrong_count(name, least, None if repeats else most, len(arguments))
        wanted = [parameters[min(i, most - 1)] for i in range(len(arguments))]
        types = tuple(
            _adapted(name, i, parameter, argument)
            for i, (parameter, argument) in enumerate(zip(wanted, arguments, strict=True))
        )
        return Signature(types, gives if isinstance(gives, Type) else gives(types))

    return resolve


def takes_common(
    *,
    gives: Result,
    at_least: int = 2,
    at_most: int | None = None,
    meet: Callable[[Type, Type], Type | None] = common_type,
) -> Resolve:
    """Resolve by converting all arguments to the type they meet in."""

    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        if len(arguments) < at_least or (at_most is not None and len(arguments) > at_most):
            raise wrong_count(name, at_least, at_most, len(arguments))
        given = [argument.type for argument in arguments]
        common = common_type_of(given, meet)
        if common is None:
            listing = ", ".join(str(t) for t in given)
            raise QueryError(
                f"{name} needs arguments of one type",
                arguments[-1].span,
                detail=f"It was given {listing}.",
                hint="convert some of them with CAST",
            )
        types = (common,) * len(arguments)
        return Signature(types, gives if isinstance(gives, Type) else gives(types))

    return resolve


def same_as_first(types: tuple[Type, ...]) -> Type:
    return types[0]


def scalar(
    *names: str,
    resolve: Resolve,
    nulls: Nulls = Nulls.STRICT,
    zoned: bool = False,
) -> Callable[[F], F]:
    """Declare the decorated function as the computation of `names`."""

    def declare(compute: F) -> F:
        _register(names, resolve, lambda signature: compute, nulls, zoned)
        return compute

    return declare


def scalar_by_type(
    *names: str,
    resolve: Resolve,
    nulls: Nulls = Nulls.STRICT,
    zoned: bool = False,
) -> Callable[[F], F]:
    """Declare the decorated function as the maker of the computation, given the types."""

    def declare(make: F) -> F:
        _register(names, resolve, make, nulls, zoned)
        return make

    return declare


def _register(
    names: tuple[str, ...],
    resolve: Resolve,
    make: Callable[[Signature], Compute],
    nulls: Nulls,
    zoned: bool,
) -> None:
    for name in names:
        assert name not in SCALARS, f"function {name} is declared twice"
        resolved = _with_zone(resolve) if zoned else resolve
        SCALARS[name] = ScalarFunction(name, resolved, make, nulls, zoned)


def _with_zone(resolve: Resolve) -> Resolve:
    def resolve_zoned(name: str, arguments: Sequence[Expression]) -> Signature:
        signature = resolve(name, arguments[:-1])
        return Signature((*signature.arguments, STRING), signature.result)

    return resolve_zoned


def literal_value(name: str, what: str, argument: Expression) -> Any:
    """The value of an argument that must be known when the query is bound."""
    if not isinstance(argument, Literal):
        raise QueryError(
            f"{name} needs a constant {what}",
            argument.span,
            detail="The value must be known before the query runs.",
        )
    return argument.value


def wrong_count(name: str, least: int, most: int | None, given: int) -> QueryError:
    if most is None:
        wanted = f"at least {least}"
    elif least == most:
        wanted = str(least)
    else:
        wanted = f"{least} to {most}"
    noun = "argument" if wanted == "1" else "arguments"
    return QueryError(f"{name} takes {wanted} {noun}, not {given}")


def wrong_type(name: str, position: int, wanted: str, argument: Expression) -> QueryError:
    return QueryError(
        f"argument {position + 1} of {name} must be {wanted}, not {argument.type}",
        argument.span,
    )


def unknown_function(name: str, known: Sequence[str]) -> QueryError:
    return QueryError(
        f'there is no function "{name}"',
        hint=did_you_mean(name, known)
        or "CREATE FUNCTION registers a Python function; docs/functions.md lists the built-in ones",
    )


def _adapted(name: str, position: int, parameter: Parameter, argument: Expression) -> Type:
    if isinstance(parameter, Kind):
        adapted, wanted = parameter.adapt(argument.type), parameter.value
    else:
        choices = parameter if isinstance(parameter, tuple) else (parameter,)
        adapted, wanted = _first_fit(argument.type, choices), " or ".join(map(str, choices))
    if adapted is None:
        raise wrong_type(name, position, wanted, argument)
    return adapted


def _first_fit(type_: Type, choices: tuple[Type, ...]) -> Type | None:
    if type_ in choices:
        return type_
    return next((choice for choice in choices if converts_implicitly(type_, choice)), None)
