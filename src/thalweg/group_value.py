"""The value of an aggregate on the argument rows of a group: a built-in or a user's."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.evaluate import Failures, LoadPython, describe_exception
from thalweg.functions import AGGREGATES, Failure, Signature
from thalweg.functions.aggregates import evaluate_aggregate
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.text import expression_text
from thalweg.python_values import from_python, to_python
from thalweg.values import row_key
from thalweg.vector.column import Columns, Index, from_values, rows_of, taken
from thalweg.vector.python_columns import as_value
from thalweg.vectorized import is_vectorized

Values = tuple[Any, ...]


def group_value(
    call: AggregateCall, arguments: list[Values], load_python: LoadPython, failures: Failures
) -> Any:
    """An aggregate on the argument rows of a group."""
    try:
        if call.path is not None:
            return _user_aggregate(call, load_python(call.path), arguments)
        function = AGGREGATES[call.function]
        signature = Signature(tuple(a.type for a in call.arguments), call.type)
        return evaluate_aggregate(function, function.make(signature), arguments, call.distinct)
    except Failure as failure:
        failures.note(expression_text(call), str(failure), ())
        return None


def bag_value(
    call: AggregateCall,
    arguments: Columns,
    counts: Index,
    load_python: LoadPython,
    failures: Failures,
) -> Any:
    """An aggregate on argument rows that are all different, each there so many times."""
    if call.path is not None and not call.distinct:
        make = load_python(call.path)
        if is_vectorized(make):
            every = np.repeat(np.arange(len(counts)), counts)
            try:
                return _on_columns(call, make, taken(arguments, every), len(every))
            except Failure as failure:
                failures.note(expression_text(call), str(failure), ())
                return None
    rows = zip(rows_of(arguments, len(counts)), counts.tolist(), strict=True)
    listed = [row for row, count in rows for _ in range(count)]
    return group_value(call, listed, load_python, failures)


def begun_state(
    load_python: LoadPython, call: AggregateCall, arguments: Columns, length: int
) -> bytes:
    """What a user's aggregate that merges has come to on some rows, or how it failed."""
    assert call.path is not None, "an aggregate that merges is a user's"
    try:
        state = _added(load_python(call.path), arguments, length)
        return pickle.dumps(state, 5)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return pickle.dumps(_Failed(describe_exception(error)), 5)


def merged_value(
    call: AggregateCall,
    states: Columns,
    counts: Index,
    load_python: LoadPython,
    failures: Failures,
) -> Any:
    """An aggregate from what it has come to on parts of a group's rows, each so many times."""
    assert call.path is not None, "an aggregate that merges is a user's"
    make = load_python(call.path)
    every = np.repeat(np.arange(len(counts)), counts)
    try:
        merged = None
        for part in states[0].take(every).values():
            state = pickle.loads(part)
            if isinstance(state, _Failed):
                raise Failure(state.reason)
            if merged is None:
                merged = state
            else:
                merged.merge(state)
        return _result(call, make() if merged is None else merged)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        failures.note(expression_text(call), describe_exception(error), ())
        return None


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: str


def _added(make: Any, arguments: Columns, length: int) -> Any:
    state = make()
    if length:
        state.add(*(column.to_arrow() for column in arguments))
    return state


def _result(call: AggregateCall, state: Any) -> Any:
    return from_python(as_value(state.result()), call.type)


def _user_aggregate(call: AggregateCall, make: Any, arguments: list[Values]) -> Any:
    if call.distinct:
        arguments = list({row_key(values): values for values in arguments}.values())
    types = [argument.type for argument in call.arguments]
    ordered = sorted(arguments, key=row_key)
    if is_vectorized(make):
        columns = tuple(
            from_values([row[i] for row in ordered], type_) for i, type_ in enumerate(types)
        )
        return _on_columns(call, make, columns, len(ordered))
    try:
        state = make()
        for values in ordered:
            state.add(*map(to_python, values, types))
        return from_python(state.result(), call.type)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Failure(describe_exception(error)) from None


def _on_columns(call: AggregateCall, make: Any, arguments: Columns, length: int) -> Any:
    """An aggregate that takes all rows at once, in whatever order."""
    try:
        return _result(call, _added(make, arguments, length))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Failure(describe_exception(error)) from None
