"""The identity of a computation: equal signatures compute the same answer.

Names and places in the script do not count; what is read, in which units, and
every constant does. Order counts, except for:

- the parts of a chain of AND, or of OR, however it was bracketed;
- filters that stand on each other, and the predicates of a join graph;
- the two operands of =, <=>, <>, +, *, &, | and ^, each call for itself: a + b is
  b + a, but (a + b) + c is not a + (b + c), which may overflow elsewhere;
- a > b and a >= b, which are b < a and b <= a.

The members of a join and the sides of a set operation stay in their order: it
is the order of columns, and of rows that tie. Queries whose subplans have equal
signatures can share operators and state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from enum import Enum
from typing import Any

from thalweg.plan.expressions import Call, Column, Expression, conjuncts
from thalweg.plan.nodes import Filter, JoinGraph, KeyClass, Plan, Project, SortKey
from thalweg.types import Type
from thalweg.values import sort_key

_COMMUTATIVE = {"and", "or", "=", "<=>", "<>", "+", "*", "&", "|", "^"}
_MIRRORED = {">": "<", ">=": "<="}

# Fields that people see and computations do not.
_FOR_PEOPLE = {"names", "key_names", "call_names", "fields"}


def signature(plan: Plan) -> str:
    """Sixteen hexadecimal digits."""
    return hashlib.sha256(repr(_of_plan(plan)).encode()).hexdigest()[:16]


def _of_plan(plan: Plan) -> tuple[Any, ...]:
    if isinstance(plan, Filter):
        return _of_filters(plan)
    if isinstance(plan, Project) and _only_renames(plan):
        return _of_plan(plan.input)
    parts = [
        (f.name, _of(getattr(plan, f.name)))
        for f in fields(plan)
        if f.compare and f.name not in _FOR_PEOPLE
    ]
    if isinstance(plan, JoinGraph):
        parts = [
            (name, tuple(sorted(value, key=repr)) if name == "predicates" else value)
            for name, value in parts
        ]
    return (type(plan).__name__, *parts)


def _of_filters(plan: Plan) -> tuple[Any, ...]:
    """Filters on filters: all predicates, in whatever order they stand."""
    predicates: list[Any] = []
    while isinstance(plan, Filter):
        predicates += [_of(part) for part in conjuncts(plan.predicate)]
        plan = plan.input
    return ("Filter", tuple(sorted(predicates, key=repr)), _of_plan(plan))


def _only_renames(plan: Project) -> bool:
    return len(plan.outputs) == len(plan.input.schema) and all(
        isinstance(output, Column) and output.index == i for i, output in enumerate(plan.outputs)
    )


def _of(value: Any) -> Any:
    match value:
        case Plan():
            return _of_plan(value)
        case Call():
            return _of_call(value)
        case Expression():
            return (
                type(value).__name__,
                *(
                    _of(getattr(value, f.name))
                    for f in fields(value)
                    if f.compare and f.name not in _FOR_PEOPLE
                ),
            )
        case KeyClass():
            return tuple(sorted(value.columns))
        case SortKey():
            return (value.column, value.descending, value.nulls_first)
        case Type():
            return str(value)
        case Enum():
            return value.name
        case tuple():
            return tuple(_of(part) for part in value)
    return (type(value).__name__, repr(sort_key(value)))


def _of_call(call: Call) -> tuple[Any, ...]:
    name = call.function
    parts = _flattened(call) if name in ("and", "or") else call.arguments
    arguments = [_of(part) for part in parts]
    if name in _MIRRORED:
        name, arguments = _MIRRORED[name], arguments[::-1]
    if name in _COMMUTATIVE:
        arguments.sort(key=repr)
    return ("Call", name, str(call.type), tuple(arguments))


def _flattened(call: Call) -> Iterator[Expression]:
    for argument in call.arguments:
        if isinstance(argument, Call) and argument.function == call.function:
            yield from _flattened(argument)
        else:
            yield argument
