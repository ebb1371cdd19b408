"""Comparisons, logic and choices among values that have all been computed.

NaN equals itself and is larger than every number, as in `thalweg.values`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from thalweg.plan.expressions import Call
from thalweg.types import BOOLEAN, NULL, DecimalType
from thalweg.vector.compiled.formula import Formula, NotWritten, Term, kind_of

Writer = Callable[[Formula, Call, list[Term]], Term]

# A longer list is searched by halves, in an array.
_LONGEST_LISTING = 12


def less(a: Term, b: Term) -> str:
    _same_kind(a, b)
    if kind_of(a.type) == "bool":
        return f"((not {a.value}) & {b.value})"
    if kind_of(a.type) == "np.int64" or not b.perhaps_nan:
        return f"({a.value} < {b.value})"
    if not a.perhaps_nan:
        return f"(({a.value} < {b.value}) | ({b.value} != {b.value}))"
    larger = f"(({b.value} != {b.value}) & ({a.value} == {a.value}))"
    return f"(({a.value} < {b.value}) | {larger})"


def equal(a: Term, b: Term) -> str:
    _same_kind(a, b)
    same = f"({a.value} == {b.value})"
    if kind_of(a.type) == "np.float64" and a.perhaps_nan and b.perhaps_nan:
        return f"({same} | (({a.value} != {a.value}) & ({b.value} != {b.value})))"
    return same


def _same_kind(a: Term, b: Term) -> None:
    """Whoever is compared has one type; of decimals the scale has to be the same."""
    kinds = {kind_of(a.type), kind_of(b.type)}
    scales = {t.type.scale for t in (a, b) if isinstance(t.type, DecimalType)}
    if len(kinds) > 1 or len(scales) > 1:
        raise NotWritten


def _compare(text: Callable[[Term, Term], str]) -> Writer:
    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        a, b = arguments
        if NULL in (a.type, b.type):
            return formula.constant(None, BOOLEAN)
        return formula.strict(BOOLEAN, text(a, b), a, b)

    return write


def _null_safe_equal(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    a, b = arguments
    missing = [term.null or "False" for term in arguments]
    if NULL in (a.type, b.type):
        return Term(BOOLEAN, formula.name(" & ".join(missing)))
    alike = formula.name(equal(a, b))
    both, none = " & ".join(missing), f"(not ({' | '.join(missing)}))"
    return Term(BOOLEAN, formula.name(f"({both}) | ({none} & {alike})"))


def _and(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    sides = [t.value if t.null is None else f"({t.value} | {t.null})" for t in _truths(arguments)]
    value = formula.name(" & ".join(sides))
    null = formula.any_null(*arguments)
    return Term(BOOLEAN, value, null and formula.name(f"{null} & {value}", "n"))


def _or(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    sides = [
        t.value if t.null is None else f"({t.value} & (not {t.null}))" for t in _truths(arguments)
    ]
    value = formula.name(" | ".join(sides))
    null = formula.any_null(*arguments)
    return Term(BOOLEAN, value, null and formula.name(f"{null} & (not {value})", "n"))


def _truths(arguments: list[Term]) -> list[Term]:
    if any(argument.type not in (BOOLEAN, NULL) for argument in arguments):
        raise NotWritten
    return arguments


def _not(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return formula.strict(BOOLEAN, f"not {_truths(arguments)[0].value}", *arguments)


def _is_null(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return Term(BOOLEAN, arguments[0].null or "False")


def _is_not_null(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return Term(BOOLEAN, formula.name(f"not {arguments[0].null or 'False'}"))


def _in(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    value, *choices = arguments
    if any(choice.type != value.type for choice in choices) or len(choices) > _LONGEST_LISTING:
        raise NotWritten
    tests = [
        equal(value, c) if c.null is None else f"({equal(value, c)} & (not {c.null}))"
        for c in choices
    ]
    found = formula.name(" | ".join(tests))
    null = formula.any_null(*choices)
    if null is not None:
        null = formula.name(f"{null} & (not {found})", "n")
    return Term(BOOLEAN, found, formula.any_null(value, replace(value, null=null)))


def _nullif(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    value, unwanted = arguments
    if value.type != unwanted.type:
        raise NotWritten
    there = f" & (not {unwanted.null})" if unwanted.null else ""
    gone = formula.name(f"{equal(value, unwanted)}{there}", "n")
    return replace(value, null=formula.any_null(value, Term(BOOLEAN, "", gone)))


def _extreme(text: Callable[[Term, Term], str]) -> Writer:
    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        best = formula.variable(call.type)
        for value in arguments:
            if value.type != call.type:
                raise NotWritten
            there = f"(not {value.null or 'False'})"
            with formula.branch(f"{there} & ({best.null} | {text(best, value)})"):
                formula.assign(best, value)
        return best

    return write


def _isnan(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    (term,) = arguments
    there = f" & (not {term.null})" if term.null else ""
    return Term(BOOLEAN, formula.name(f"({term.value} != {term.value}){there}"))


def _nanvl(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    value, otherwise = arguments
    if NULL in (value.type, otherwise.type):
        raise NotWritten
    chosen = formula.variable(call.type)
    formula.assign(chosen, value)
    with formula.branch(f"(not {value.null or 'False'}) & ({value.value} != {value.value})"):
        formula.assign(chosen, otherwise)
    return chosen


def _nullifzero(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    (term,) = arguments
    zero = formula.name(f"{term.value} == 0", "n")
    return replace(term, null=formula.any_null(term, Term(BOOLEAN, "", zero)))


def _zeroifnull(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    (term,) = arguments
    chosen = formula.variable(call.type)
    with formula.branch(f"not {term.null or 'False'}"):
        formula.assign(chosen, term)
    return replace(chosen, null=None)


COMPARISONS: dict[str, Writer] = {
    "=": _compare(equal),
    "<>": _compare(lambda a, b: f"(not {equal(a, b)})"),
    "<": _compare(less),
    "<=": _compare(lambda a, b: f"(not {less(b, a)})"),
    ">": _compare(lambda a, b: less(b, a)),
    ">=": _compare(lambda a, b: f"(not {less(a, b)})"),
    "<=>": _null_safe_equal,
    "equal_null": _null_safe_equal,
    "and": _and,
    "or": _or,
    "not": _not,
    "is null": _is_null,
    "isnull": _is_null,
    "is not null": _is_not_null,
    "isnotnull": _is_not_null,
    "in": _in,
    "nullif": _nullif,
    "greatest": _extreme(less),
    "least": _extreme(lambda best, value: less(value, best)),
    "isnan": _isnan,
    "nanvl": _nanvl,
    "nullifzero": _nullifzero,
    "zeroifnull": _zeroifnull,
}
