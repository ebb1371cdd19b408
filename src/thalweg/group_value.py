"""The value of an aggregate on the argument rows of a group: a built-in or a user's."""

from __future__ import annotations

from typing import Any

from thalweg.evaluate import Failures, LoadPython, describe_exception
from thalweg.functions import AGGREGATES, Failure, Signature
from thalweg.functions.aggregates import evaluate_aggregate
from thalweg.plan.expressions import AggregateCall
from thalweg.plan.text import expression_text
from thalweg.python_values import from_python, to_python
from thalweg.values import row_key

Values = tuple[Any, ...]


def group_value(
    call: AggregateCall, arguments: list[Values], load_python: LoadPython, failures: Failures
) -> Any:
    """An aggregate on the argument rows of a group."""
    try:
        if call.path is not None:
            return _user_aggregate(call, call.path, arguments, load_python)
        function = AGGREGATES[call.function]
        signature = Signature(tuple(a.type for a in call.arguments), call.type)
        return evaluate_aggregate(function, function.make(signature), arguments, call.distinct)
    except Failure as failure:
        failures.note(expression_text(call), str(failure), ())
        return None


def _user_aggregate(
    call: AggregateCall, path: str, arguments: list[Values], load_python: LoadPython
) -> Any:
    if call.distinct:
        arguments = list({row_key(values): values for values in arguments}.values())
    types = [argument.type for argument in call.arguments]
    try:
        state = load_python(path)()
        for values in sorted(arguments, key=row_key):
            state.add(*map(to_python, values, types))
        return from_python(state.result(), call.type)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Failure(describe_exception(error)) from None
