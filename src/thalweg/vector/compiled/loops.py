"""The loops around the text of expressions: which rows pass, and what each row is worth.

A chain of predicates works through blocks of rows that fit the processor's
nearest cache. Each predicate looks at the rows that passed the ones before it
and writes down those that pass it too, without a branch that could be foretold
wrongly; so the cost of a predicate is that of the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thalweg.plan.expressions import Call, Cast, Column, Expression, walk
from thalweg.types import BOOLEAN, DecimalType, Type
from thalweg.vector.column import FIXED
from thalweg.vector.compiled.formula import Formula, NotWritten, kind_of
from thalweg.vector.compiled.store import Code
from thalweg.vector.compiled.translate import translate

_BLOCK_ROWS = 2048


@dataclass(frozen=True)
class Loop:
    """Code, the columns it reads, and its constants."""

    code: Code
    columns: tuple[int, ...]
    integers: npt.NDArray[np.int64]
    doubles: npt.NDArray[np.float64]


def chain_loop(predicates: Sequence[Expression]) -> tuple[Loop | None, list[Expression]]:
    """The loop that finds the rows on which predicates are true, and those that it tests.

    Its results are the numbers of rows that passed and of those that are not sure;
    the array `rows` has the former at its beginning, and the latter from its end.
    """
    written = [p for p in predicates if p.type == BOOLEAN and _is_written(p)]
    if not _is_worth(written):
        return None, written
    formula = Formula()
    loops: list[str] = []
    for predicate in written:
        formula.begin()
        loops += _selection(formula, formula.truth(translate(predicate, formula)))
    body = [
        "passed = 0",
        "unsure = 0",
        f"some = np.empty({_BLOCK_ROWS}, np.int64)",
        f"for first in range(0, len(rows), {_BLOCK_ROWS}):",
        f"    count = min({_BLOCK_ROWS}, len(rows) - first)",
        "    for j in range(count):",
        "        some[j] = first + j",
        *(f"    {line}" for line in loops),
        "    for j in range(count):",
        "        rows[passed + j] = some[j]",
        "    passed += count",
        "return passed, unsure",
    ]
    return _loop(formula, {"rows": "int64"}, body), written


def _selection(formula: Formula, truth: str) -> list[str]:
    lines = [*_row_lines(formula), "some[kept] = i", f"kept += {truth}"]
    if formula.is_fallible:
        leave = ["if not sure:", "    unsure += 1", "    rows[len(rows) - unsure] = i"]
        lines = [*_row_lines(formula), *leave, "some[kept] = i", f"kept += {truth} & sure"]
    return [
        "kept = 0",
        "for j in range(count):",
        "    i = some[j]",
        *(f"    {line}" for line in lines),
        "count = kept",
    ]


def value_loop(expression: Expression) -> Loop | None:
    """The loop that computes an expression, if it has a text: `values`, which of them are
    `there`, and the rows that are `open`.

    Its results are the numbers of NULLs and of open rows.
    """
    if not _is_worth([expression]) or not _is_written(expression):
        return None
    formula = Formula()
    term = translate(expression, formula)
    type_ = expression.type
    lines = _row_lines(formula)
    value = f"np.float32({term.value})" if storage_name(type_) == "float32" else term.value
    lines.append(f"values[i] = {value}")
    if term.null is not None:
        lines += [f"there[i] = not {term.null}", f"nulls += {term.null}"]
    if formula.is_fallible:
        lines += ["if not sure:", "    open[unsure] = i", "    unsure += 1"]
    body = [
        "nulls = 0",
        "unsure = 0",
        "for i in range(len(values)):",
        *(f"    {line}" for line in lines),
        "return nulls, unsure",
    ]
    return _loop(formula, {"values": storage_name(type_), "there": "bool", "open": "int64"}, body)


def _is_written(expression: Expression) -> bool:
    try:
        translate(expression, Formula())
    except NotWritten:
        return False
    return True


def _is_worth(expressions: list[Expression]) -> bool:
    """Whether there is more to compute than one step, which NumPy does as well."""
    parts = [part for expression in expressions for part in walk(expression)]
    steps = sum(isinstance(part, Call | Cast) for part in parts)
    return steps > 1 and any(isinstance(part, Column) for part in parts)


def _row_lines(formula: Formula) -> list[str]:
    return ["sure = True", *formula.lines] if formula.is_fallible else formula.lines


def storage_name(type_: Type) -> str:
    """The type of the array of a column."""
    kind_of(type_)
    return "int64" if isinstance(type_, DecimalType) else FIXED[type_].name


def _loop(formula: Formula, results: dict[str, str], body: list[str]) -> Loop:
    places = range(len(formula.columns))
    head = [
        *(f"k{i} = integers[{i}]" for i in range(len(formula.integers))),
        *(f"d{i} = doubles[{i}]" for i in range(len(formula.doubles))),
        *(f"h{i} = len(v{i}) > 0" for i in places),
    ]
    columns = [name for i in places for name in (f"c{i}", f"v{i}")]
    given = [storage_name(type_) for type_ in formula.columns.values()]
    parameters = ", ".join([*results, "integers", "doubles", *columns])
    text = "\n".join([f"def run({parameters}):", *(f"    {line}" for line in (*head, *body)), ""])
    return Loop(
        Code(text, tuple(results.values()), tuple(given)),
        tuple(formula.columns),
        np.array(formula.integers, np.int64),
        np.array(formula.doubles, np.float64),
    )
