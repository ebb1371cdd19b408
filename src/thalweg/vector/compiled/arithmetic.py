"""Arithmetic and bits.

Integers are computed in 64 bits and then have to fit their type; a row on which
they might not is left to the definition. FLOAT is computed as DOUBLE and rounded.
"""

from __future__ import annotations

from collections.abc import Callable

from thalweg.functions.operators import bits_of
from thalweg.plan.expressions import Call
from thalweg.types import BOOLEAN, DATE, DOUBLE, FLOAT, NULL, DecimalType, Type
from thalweg.vector.compiled.formula import Formula, NotWritten, Term, is_whole, kind_of

Writer = Callable[[Formula, Call, list[Term]], Term]
# A value and the text of the condition under which it is certain.
Outcome = tuple[Term, str | None]

# Products of doubles below this mean that the products of the integers fit 64 bits.
_CERTAIN_PRODUCT = "9.2233720368547e18"


def within(value: str, type_: Type) -> str:
    """Whether an integer fits a narrower type."""
    if isinstance(type_, DecimalType):
        most = 10**type_.precision - 1
        return f"((-{most} <= {value}) & ({value} <= {most}))"
    half = 1 << (width(type_) - 1)
    if half == 1 << 63:
        return "True"
    return f"((-{half} <= {value}) & ({value} <= {half - 1}))"


def width(type_: Type) -> int:
    return 32 if type_ == DATE else bits_of(type_)


def total(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    result = formula.strict(type_, f"{a.value} + {b.value}", a, b)
    x = result.value
    return result, _fitting(type_, x, f"(({a.value} ^ {x}) & ({b.value} ^ {x})) >= 0")


def difference(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    result = formula.strict(type_, f"{a.value} - {b.value}", a, b)
    x = result.value
    return result, _fitting(type_, x, f"(({a.value} ^ {b.value}) & ({a.value} ^ {x})) >= 0")


def product(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    result = formula.strict(type_, f"{a.value} * {b.value}", a, b)
    size = f"abs(np.float64({a.value}) * np.float64({b.value}))"
    return result, _fitting(type_, result.value, f"{size} < {_CERTAIN_PRODUCT}")


def _fitting(type_: Type, value: str, certain: str) -> str:
    """Narrow values cannot overflow 64 bits, as their arguments have the same type."""
    if isinstance(type_, DecimalType) or width(type_) < 64:
        return within(value, type_)
    return f"({certain})"


def _remainder(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    """With the sign of the dividend; -1 is avoided, on which machines overflow."""
    divisor = formula.name(f"1 if ({b.value} == 0) | ({b.value} == -1) else {b.value}")
    rest = formula.name(f"{a.value} % {divisor}")
    signs = f"({rest} != 0) & (({a.value} < 0) != ({divisor} < 0))"
    result = formula.strict(type_, f"{rest} - {divisor} if {signs} else {rest}", a, b)
    return result, f"({b.value} != 0)"


def _positive_remainder(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    rest, certain = _remainder(formula, type_, a, b)
    moved = Term(type_, formula.name(f"{rest.value} + {b.value}"))
    again, _ = _remainder(formula, type_, moved, b)
    text = f"{again.value} if {rest.value} < 0 else {rest.value}"
    result = formula.strict(type_, text, a, b)
    return result, f"{certain} & ({b.value} > -{1 << 62})"


def _whole_quotient(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    """Cut towards zero."""
    divisor = formula.name(f"1 if ({b.value} == 0) | ({b.value} == -1) else {b.value}")
    down = formula.name(f"{a.value} // {divisor}")
    inexact = f"(({a.value} < 0) != ({divisor} < 0)) & ({down} * {divisor} != {a.value})"
    result = formula.strict(type_, f"{down} + 1 if {inexact} else {down}", a, b)
    return result, f"(({b.value} != 0) & ({b.value} != -1))"


def _float(symbol: str) -> Callable[[Formula, Type, Term, Term], Outcome]:
    def write(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
        text = f"{a.value} {symbol} {b.value}"
        return formula.strict(type_, rounded(text, type_), a, b), None

    return write


def _float_quotient(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    divisor = formula.name(f"1.0 if {b.value} == 0 else {b.value}")
    result = formula.strict(type_, rounded(f"{a.value} / {divisor}", type_), a, b)
    return result, f"({b.value} != 0)"


def _float_remainder(formula: Formula, type_: Type, a: Term, b: Term) -> Outcome:
    text = f"np.fmod({a.value}, {b.value})"
    return formula.strict(type_, rounded(text, type_), a, b), f"({b.value} != 0)"


def rounded(text: str, type_: Type) -> str:
    """A double, or the nearest FLOAT as a double."""
    return f"np.float64(np.float32({text}))" if type_ == FLOAT else text


_Write = Callable[[Formula, Type, Term, Term], Outcome]
_INTEGERS: dict[str, _Write] = {
    "+": total,
    "-": difference,
    "*": product,
    "%": _remainder,
    "pmod": _positive_remainder,
    "div": _whole_quotient,
}
_FLOATS: dict[str, _Write] = {
    "+": _float("+"),
    "-": _float("-"),
    "*": _float("*"),
    "/": _float_quotient,
    "%": _float_remainder,
}


def _arithmetic(symbol: str, quietly: bool = False) -> Writer:
    """With `quietly`, NULL where it would fail; of products that is not known exactly."""

    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        a, b = arguments
        if NULL in (a.type, b.type):
            raise NotWritten
        compute = _chosen(symbol, a.type, b.type, call.type)
        result, certain = compute(formula, call.type, a, b)
        if certain is None:
            return result
        if quietly and symbol != "*":
            return _or_null(formula, result, certain)
        formula.demand(certain, result.null)
        return result

    return write


def _chosen(symbol: str, a: Type, b: Type, result: Type) -> _Write:
    if isinstance(result, DecimalType):
        adds = symbol in ("+", "-") and _scale(a) == _scale(b) == result.scale
        multiplies = symbol == "*" and _scale(a) + _scale(b) == result.scale
        if not adds and not multiplies:
            raise NotWritten
        return _INTEGERS[symbol]
    if result in (DOUBLE, FLOAT):
        table = _FLOATS
    else:
        if any(isinstance(side, DecimalType) for side in (a, b)):
            raise NotWritten
        table = _INTEGERS
    if symbol not in table or {kind_of(a), kind_of(b)} != {kind_of(result)}:
        raise NotWritten
    return table[symbol]


def _scale(type_: Type) -> int:
    return type_.scale if isinstance(type_, DecimalType) else 0


def _or_null(formula: Formula, result: Term, certain: str) -> Term:
    failed = formula.name(f"not {certain}", "n")
    null = formula.any_null(result, Term(BOOLEAN, "", failed))
    return Term(result.type, result.value, null)


def _negative(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    (term,) = arguments
    result = formula.strict(call.type, f"-{term.value}", term)
    if is_whole(call.type):
        formula.demand(f"({term.value} != {_smallest(call.type)})", term.null)
    return result


def _abs(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    (term,) = arguments
    result = formula.strict(call.type, f"abs({term.value})", term)
    if is_whole(call.type):
        formula.demand(f"({term.value} != {_smallest(call.type)})", term.null)
    return result


def _smallest(type_: Type) -> str:
    """Decimals reach as far down as up: any number does that they cannot be."""
    bits = 64 if isinstance(type_, DecimalType) else width(type_)
    return f"(-{(1 << (bits - 1)) - 1} - 1)"


def _same(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return arguments[0]


def _sqrt(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return formula.strict(call.type, f"np.sqrt({arguments[0].value})", *arguments)


def _towards(function: str) -> Writer:
    """To a whole number; NaN becomes 0."""

    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        (term,) = arguments
        if isinstance(call.type, DecimalType) or len(call.arguments) > 1:
            raise NotWritten
        if is_whole(term.type):
            return term
        fits = formula.name(f"({term.value} > -9.2e18) & ({term.value} < 9.2e18)", "t")
        whole = f"np.int64(np.{function}({term.value})) if {fits} else 0"
        formula.demand(f"({fits} | ({term.value} != {term.value}))", term.null)
        return formula.strict(call.type, whole, term)

    return write


def _bits(symbol: str) -> Writer:
    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        a, b = arguments
        if {a.type, b.type} != {call.type}:
            raise NotWritten
        return formula.strict(call.type, f"{a.value} {symbol} {b.value}", a, b)

    return write


def _inverted(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    return formula.strict(call.type, f"-1 - {arguments[0].value}", *arguments)


ARITHMETIC: dict[str, Writer] = {
    **{symbol: _arithmetic(symbol) for symbol in ("+", "-", "*", "/", "%", "pmod", "div")},
    "mod": _arithmetic("%"),
    "try_add": _arithmetic("+", quietly=True),
    "try_subtract": _arithmetic("-", quietly=True),
    "try_multiply": _arithmetic("*", quietly=True),
    "try_divide": _arithmetic("/", quietly=True),
    "try_mod": _arithmetic("%", quietly=True),
    "negative": _negative,
    "positive": _same,
    "abs": _abs,
    "sqrt": _sqrt,
    "floor": _towards("floor"),
    "ceil": _towards("ceil"),
    "ceiling": _towards("ceil"),
    "&": _bits("&"),
    "|": _bits("|"),
    "^": _bits("^"),
    "~": _inverted,
}
