"""Arguments that are known when a query is bound: read early, refused early."""

from __future__ import annotations

from thalweg.coercion import converts_implicitly
from thalweg.errors import QueryError
from thalweg.functions.cast import caster
from thalweg.functions.registry import Failure, literal_value
from thalweg.plan.expressions import Expression, Literal
from thalweg.types import INT, STRING


def constant_integer(name: str, what: str, argument: Expression) -> int | None:
    """The value of an argument that must be a constant; None if it is NULL."""
    value = literal_value(name, what, argument)
    if value is None:
        return None
    wrong = QueryError(f"the {what} of {name} must be an integer", argument.span)
    if not converts_implicitly(argument.type, INT):
        raise wrong
    try:
        return int(caster(argument.type, INT, "UTC")(value))
    except Failure:
        raise wrong from None


def constant_text(argument: Expression) -> str | None:
    """The text of an argument that happens to be a constant."""
    match argument:
        case Literal(value=str() as text) if argument.type == STRING:
            return text
    return None
