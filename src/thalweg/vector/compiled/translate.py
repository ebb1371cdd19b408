"""Bound expressions → text.

Calls that look at all their arguments have a writer each, in a table; those that
evaluate only what they need are written here, as branches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from thalweg.functions import SCALARS
from thalweg.plan.expressions import Call, Cast, Column, Expression, Literal
from thalweg.types import BOOLEAN, NULL
from thalweg.vector.column import FIXED
from thalweg.vector.compiled.arithmetic import ARITHMETIC
from thalweg.vector.compiled.comparisons import COMPARISONS
from thalweg.vector.compiled.conversions import converted
from thalweg.vector.compiled.formula import Formula, NotWritten, Term, kind_of
from thalweg.vector.compiled.times import TIMES

# A larger expression takes longer to compile than it can win.
_MOST_PARTS = 120
# So many choices are looked up; fewer are compared one by one.
_MANY = 9

_WRITERS = {**ARITHMETIC, **COMPARISONS, **TIMES}


def translate(expression: Expression, formula: Formula) -> Term:
    """Write lines that compute an expression for row `i`."""
    parts = list(_parts(expression))
    if len(parts) > _MOST_PARTS:
        raise NotWritten
    for part in parts:
        if isinstance(part, Column):
            formula.read(part.index, part.type)
    return _term(expression, formula)


def _parts(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, but for the choices of a large set."""
    yield expression
    below = expression.children[:1] if _is_large_set(expression) else expression.children
    for child in below:
        yield from _parts(child)


def _is_large_set(expression: Expression) -> bool:
    """Whether this is IN of many whole numbers."""
    if not isinstance(expression, Call) or expression.function != "in":
        return False
    value, *choices = expression.arguments
    return (
        len(choices) >= _MANY
        and value.type in FIXED
        and FIXED[value.type].kind == "i"
        and all(isinstance(c, Literal) and c.value is not None for c in choices)
        and all(c.type == value.type for c in choices)
    )


def _among(call: Call, formula: Formula) -> Term:
    value, *choices = call.arguments
    term = _term(value, formula)
    numbers = [choice.value for choice in choices if isinstance(choice, Literal)]
    return Term(BOOLEAN, formula.is_among(term.value, numbers), term.null)


def _term(expression: Expression, formula: Formula) -> Term:
    match expression:
        case Call() if _is_large_set(expression):
            return _among(expression, formula)
        case Column(index=index, type=type_):
            return formula.read(index, type_)
        case Literal(value=value, type=type_):
            return formula.constant(value, type_)
        case Cast(input=source):
            return converted(formula, _term(source, formula), expression)
        case Call(function=function) if function in _BRANCHING:
            kind_of(expression.type)
            return _BRANCHING[function](expression, formula)
        case Call(function=function) if function in _WRITERS:
            kind_of(expression.type)
            return _WRITERS[function](formula, expression, _arguments(expression, formula))
    raise NotWritten


def _arguments(call: Call, formula: Formula) -> list[Term]:
    """The arguments; the zone, which is a text, is for the writer alone."""
    arguments = call.arguments[:-1] if SCALARS[call.function].zoned else call.arguments
    return [_term(argument, formula) for argument in arguments]


def _case(call: Call, formula: Formula) -> Term:
    parts = list(call.arguments)
    default = parts.pop() if len(parts) % 2 else None
    chosen = formula.variable(call.type)
    is_open = formula.name("True", "o")
    for condition, value in zip(parts[::2], parts[1::2], strict=True):
        with formula.branch(is_open):
            is_true = _condition(condition, formula)
            with formula.branch(is_true):
                formula.line(f"{is_open} = False")
                formula.assign(chosen, _of_type(value, call, formula))
    if default is not None:
        with formula.branch(is_open):
            formula.assign(chosen, _of_type(default, call, formula))
    return chosen


def _condition(expression: Expression, formula: Formula) -> str:
    if expression.type not in (BOOLEAN, NULL):
        raise NotWritten
    return formula.truth(_term(expression, formula))


def _of_type(expression: Expression, call: Call, formula: Formula) -> Term:
    if expression.type not in (call.type, NULL):
        raise NotWritten
    return _term(expression, formula)


def _coalesce(call: Call, formula: Formula) -> Term:
    chosen = formula.variable(call.type)
    for value in call.arguments:
        with formula.branch(f"{chosen.null}"):
            formula.assign(chosen, _of_type(value, call, formula))
    return chosen


def _nvl2(call: Call, formula: Formula) -> Term:
    tested, present, missing = call.arguments
    null = _term(tested, formula).null or "False"
    chosen = formula.variable(call.type)
    with formula.branch(f"not {null}"):
        formula.assign(chosen, _of_type(present, call, formula))
    with formula.branch(null):
        formula.assign(chosen, _of_type(missing, call, formula))
    return chosen


_BRANCHING: dict[str, Callable[[Call, Formula], Term]] = {
    "case": _case,
    "if": _case,
    "iff": _case,
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "nvl": _coalesce,
    "nvl2": _nvl2,
}
