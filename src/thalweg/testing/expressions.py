"""One expression on one row: the quickest way to see what a function does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from thalweg.catalog import Catalog
from thalweg.cql.script import parse_query
from thalweg.errors import SourceText
from thalweg.evaluate import Compiler, Failures, Surroundings
from thalweg.plan.bind_expressions import ExpressionBinder
from thalweg.plan.scope import Scope
from thalweg.python_values import from_python, to_python
from thalweg.settings import Settings
from thalweg.types import Field, Type


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value in Python's own types, its CQL type, and why calls failed, if any did."""

    value: Any
    type: Type
    failures: tuple[str, ...]


def evaluate_expression(
    text: str,
    row: Mapping[str, tuple[Type, Any]] | None = None,
    timezone: str = "UTC",
) -> Outcome:
    """Evaluate an expression over the columns of one row.

    >>> from thalweg.types import INT
    >>> evaluate_expression("upper('abc') || x", {"x": (INT, 3)}).value
    'ABC3'
    >>> evaluate_expression("1 / 0").failures
    ('division by zero',)
    """
    row = row or {}
    columns = tuple(Field(name, type_) for name, (type_, _) in row.items())
    values = tuple(from_python(value, type_) for type_, value in row.values())
    source = SourceText("expression", f"SELECT {text}")
    select = parse_query(source)
    assert isinstance(select, exp.Select), "the text is an expression"
    binder = ExpressionBinder(
        Scope.of(columns, None), Catalog(), Settings(timezone=timezone), _no_subqueries
    )
    bound = binder.bind(select.expressions[0].unalias())
    failures = Failures()
    value = Compiler(_no_python)(bound)(values, Surroundings(None, _no_rows, failures))
    reasons = tuple(reason for _, reason, _ in failures.noted)
    return Outcome(to_python(value, bound.type), bound.type, reasons)


def _no_subqueries(*_: object) -> Any:
    raise ValueError("evaluate_expression takes no subqueries")


def _no_rows(*_: object) -> Any:
    raise AssertionError("there are no subqueries")


def _no_python(path: str) -> Any:
    raise AssertionError("there are no user functions")
