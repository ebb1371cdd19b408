"""Choosing among values: CASE, IF, COALESCE and their kin.

These evaluate only the branch that they need, so a guard such as
`CASE WHEN b <> 0 THEN a / b END` counts no failures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg.coercion import (
    common_type,
    common_type_of,
    common_type_without_strings,
    comparable_type,
)
from thalweg.errors import QueryError
from thalweg.functions.cast import caster
from thalweg.functions.registry import (
    Compute,
    Kind,
    Nulls,
    Signature,
    same_as_first,
    scalar,
    scalar_by_type,
    takes,
    takes_common,
    wrong_count,
    wrong_type,
)
from thalweg.plan.expressions import Expression
from thalweg.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, NULL, STRING, Type
from thalweg.values import compare, sort_key

Thunk = Callable[[], Any]


def _branches(name: str, arguments: Sequence[Expression], results: list[int]) -> Signature:
    """Conditions are BOOLEAN, the arguments at `results` meet in one type."""
    common = common_type_of(arguments[i].type for i in results)
    if common is None:
        listing = ", ".join(str(arguments[i].type) for i in results)
        raise QueryError(
            f"the branches of {name} have no common type",
            arguments[results[-1]].span,
            detail=f"They are {listing}.",
            hint="convert some of them with CAST",
        )
    types: list[Type] = []
    for i, argument in enumerate(arguments):
        if i in results:
            types.append(common)
        elif argument.type == BOOLEAN or (argument.type == NULL and name == "IF"):
            types.append(BOOLEAN)
        else:
            raise wrong_type(name, i, "BOOLEAN", argument)
    return Signature(tuple(types), common)


def _resolve_case(name: str, arguments: Sequence[Expression]) -> Signature:
    """Arguments are condition, value, condition, value, …, and perhaps a default."""
    results = [i for i in range(len(arguments)) if i % 2 == 1 or i == len(arguments) - 1]
    return _branches("CASE", arguments, results)


@scalar("case", resolve=_resolve_case, nulls=Nulls.LAZY)
def _case(*branches: Thunk) -> Any:
    for i in range(0, len(branches) - 1, 2):
        if branches[i]() is True:
            return branches[i + 1]()
    return branches[-1]() if len(branches) % 2 else None


def _resolve_if(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 3:
        raise wrong_count(name, 3, 3, len(arguments))
    return _branches("IF", arguments, [1, 2])


@scalar("if", "iff", resolve=_resolve_if, nulls=Nulls.LAZY)
def _if(condition: Thunk, then: Thunk, otherwise: Thunk) -> Any:
    return then() if condition() is True else otherwise()


@scalar(
    "coalesce",
    resolve=takes_common(gives=same_as_first, at_least=1),
    nulls=Nulls.LAZY,
)
def _coalesce(*values: Thunk) -> Any:
    for value in values:
        found = value()
        if found is not None:
            return found
    return None


@scalar(
    "ifnull",
    "nvl",
    resolve=takes_common(gives=same_as_first, at_least=2, at_most=2),
    nulls=Nulls.LAZY,
)
def _ifnull(value: Thunk, otherwise: Thunk) -> Any:
    found = value()
    return found if found is not None else otherwise()


def _resolve_nvl2(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 3:
        raise wrong_count(name, 3, 3, len(arguments))
    chosen = _branches(name, arguments[1:], [0, 1])
    return Signature((arguments[0].type, *chosen.arguments), chosen.result)


@scalar("nvl2", resolve=_resolve_nvl2, nulls=Nulls.LAZY)
def _nvl2(value: Thunk, present: Thunk, missing: Thunk) -> Any:
    return present() if value() is not None else missing()


def _resolve_nullif(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    if comparable_type(arguments[0].type, arguments[1].type) is None:
        raise QueryError(f"cannot compare {arguments[0].type} with {arguments[1].type}")
    return Signature((arguments[0].type, arguments[1].type), arguments[0].type)


@scalar_by_type("nullif", resolve=_resolve_nullif, nulls=Nulls.SEEN, zoned=True)
def _nullif(signature: Signature) -> Compute:
    """Compared in the common type, given back in its own."""
    left, right, _ = signature.arguments
    common = comparable_type(left, right)
    assert common is not None, "the signature has been resolved"

    def compute(value: Any, unwanted: Any, zone: str) -> Any:
        if value is None or unwanted is None:
            return value
        mine, other = caster(left, common, zone)(value), caster(right, common, zone)(unwanted)
        return None if sort_key(mine) == sort_key(other) else value

    return compute


def _beside_zero(name: str, arguments: Sequence[Expression]) -> Type:
    """The type in which the one argument meets the number 0."""
    if len(arguments) != 1:
        raise wrong_count(name, 1, 1, len(arguments))
    common = common_type(arguments[0].type, INT)
    if common is None:
        raise wrong_type(name, 0, Kind.NUMERIC.value, arguments[0])
    return common


def _resolve_nullifzero(name: str, arguments: Sequence[Expression]) -> Signature:
    _beside_zero(name, arguments)
    return Signature((arguments[0].type,), arguments[0].type)


@scalar_by_type("nullifzero", resolve=_resolve_nullifzero)
def _nullifzero(signature: Signature) -> Compute:
    source = signature.result
    number = caster(source, BIGINT, "UTC") if source == STRING else None
    return lambda value: None if (number(value) if number else value) == 0 else value


def _resolve_zeroifnull(name: str, arguments: Sequence[Expression]) -> Signature:
    common = _beside_zero(name, arguments)
    return Signature((common,), common)


@scalar_by_type("zeroifnull", resolve=_resolve_zeroifnull, nulls=Nulls.SEEN)
def _zeroifnull(signature: Signature) -> Compute:
    zero = caster(INT, signature.result, "UTC")(0)
    return lambda value: zero if value is None else value


def _extreme(name: str, arguments: Sequence[Expression]) -> Signature:
    return takes_common(gives=same_as_first, meet=common_type_without_strings)(name, arguments)


@scalar("greatest", resolve=_extreme, nulls=Nulls.SEEN)
def _greatest(*values: Any) -> Any:
    return _best(values, 1)


@scalar("least", resolve=_extreme, nulls=Nulls.SEEN)
def _least(*values: Any) -> Any:
    return _best(values, -1)


def _best(values: tuple[Any, ...], sign: int) -> Any:
    best = None
    for value in values:
        if value is not None and (best is None or compare(value, best) * sign > 0):
            best = value
    return best


@scalar("isnan", resolve=takes(DOUBLE, gives=BOOLEAN), nulls=Nulls.SEEN)
def _isnan(value: float | None) -> bool:
    return value is not None and value != value


def _resolve_nanvl(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.NUMERIC, Kind.NUMERIC, gives=DOUBLE)(name, arguments)
    type_ = FLOAT if set(signature.arguments) <= {FLOAT, NULL} else DOUBLE
    return Signature((type_, type_), type_)


@scalar("nanvl", resolve=_resolve_nanvl, nulls=Nulls.SEEN)
def _nanvl(value: float | None, otherwise: float | None) -> float | None:
    return otherwise if value is not None and value != value else value
