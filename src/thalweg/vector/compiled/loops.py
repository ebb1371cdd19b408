"""The loops around the text of expressions: which rows pass, and what each row is worth.

A predicate looks at the rows that passed the ones before it and writes down those that
pass it too, without a branch that could be foretold wrongly; so its cost is that of
the rows that reach it. Each has a loop of its own: in which order they run is data.
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


@dataclass(frozen=True)
class Loop:
    """Code, the columns it reads, and its constants."""

    code: Code
    columns: tuple[int, ...]
    integers: npt.NDArray[np.int64]
    doubles: npt.NDArray[np.float64]


def selection_loops(predicates: Sequence[Expression]) -> list[Loop | None]:
    """For each predicate the loop that finds rows on which it is true, if it has a text and
    they are worth it together.

    A loop is given rows, and leaves those that pass at the beginning of the same array; those
    that are not sure are in `open`. Its results are the numbers of both.
    """
    written = [p.type == BOOLEAN and _is_written(p) for p in predicates]
    if not _is_worth([p for p, is_written in zip(predicates, written, strict=True) if is_written]):
        return [None] * len(predicates)
    return [_selection(p) if w else None for p, w in zip(predicates, written, strict=True)]


def _selection(predicate: Expression) -> Loop:
    formula = Formula()
    truth = formula.truth(translate(predicate, formula))
    lines = [*_row_lines(formula), "rows[kept] = i", f"kept += {truth}"]
    if formula.is_fallible:
        leave = ["if not sure:", "    open[unsure] = i", "    unsure += 1"]
        lines = [*_row_lines(formula), *leave, "rows[kept] = i", f"kept += {truth} & sure"]
    body = [
        "kept = 0",
        "unsure = 0",
        "for j in range(len(rows)):",
        "    i = rows[j]",
        *(f"    {line}" for line in lines),
        "return kept, unsure",
    ]
    return _loop(formula, {"rows": "int64", "open": "int64"}, body)


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
        formula.numbers(),
        np.array(formula.doubles, np.float64),
    )
