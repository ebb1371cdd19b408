"""CAST between numbers, times and truth values."""

from __future__ import annotations

from thalweg.functions.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from thalweg.plan.expressions import Cast
from thalweg.types import (
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    NULL,
    TIMESTAMP,
    DecimalType,
    Type,
    decimal,
    decimal_holding,
    is_integral,
)
from thalweg.vector.compiled.arithmetic import rounded, width, within
from thalweg.vector.compiled.formula import Formula, NotWritten, Term, kind_of
from thalweg.vector.compiled.zones import is_utc

# The integers of which every one is a double.
_EXACT = 2**53


def converted(formula: Formula, term: Term, cast: Cast) -> Term:
    """The term in the type of the cast."""
    source, target = term.type, cast.type
    kind_of(target)
    if source == NULL:
        return formula.constant(None, target)
    if source == target:
        return term
    text, certain = _conversion(term.value, source, cast)
    result = Term(target, formula.name(text), term.null, source in (DOUBLE, FLOAT))
    if certain is not None:
        formula.demand(certain.replace("RESULT", result.value), term.null)
    return result


def _conversion(x: str, source: Type, cast: Cast) -> tuple[str, str | None]:
    """The text of the value, and of the condition under which it is certain."""
    target = cast.type
    whole = is_integral(source) or source == BOOLEAN
    if target == BOOLEAN and (is_integral(source) or kind_of(source) == "np.float64"):
        return f"{x} != 0", None
    if is_integral(target):
        return _to_integer(x, source, target)
    if target in (DOUBLE, FLOAT):
        if whole or source in (DOUBLE, FLOAT):
            return rounded(f"np.float64({x})", target), None
        exact = f"((-{_EXACT} <= {x}) & ({x} <= {_EXACT}))"
        if source == TIMESTAMP:
            return rounded(f"{x} / {MICROS_PER_SECOND}.0", target), exact
        if isinstance(source, DecimalType):
            return rounded(f"{x} / 1e{source.scale}", target), exact
    if isinstance(target, DecimalType) and (whole or isinstance(source, DecimalType)):
        return _to_decimal(x, source, target)
    if (source, target) == (TIMESTAMP, DATE) and is_utc(cast.zone):
        return f"{x} // {MICROS_PER_DAY}", None
    if (source, target) == (DATE, TIMESTAMP) and is_utc(cast.zone):
        most = 2**63 // MICROS_PER_DAY - 1
        return f"{x} * {MICROS_PER_DAY}", f"((-{most} <= {x}) & ({x} <= {most}))"
    if (source, target) == (DAYS, DAY_TIME):
        return x, None
    raise NotWritten


def _to_integer(x: str, source: Type, target: Type) -> tuple[str, str | None]:
    if source == BOOLEAN:
        return f"np.int64({x})", None
    if source in (DOUBLE, FLOAT):
        bound = 2.0 ** (width(target) - 1)
        fits = f"(({x} > {-bound!r}) & ({x} < {bound - 1!r}))"
        return f"np.int64({x}) if {fits} else 0", fits
    if source == TIMESTAMP:
        return f"{x} // {MICROS_PER_SECOND}", within("RESULT", target)
    if isinstance(source, DecimalType):
        cut = f"abs({x}) // {10**source.scale}"
        return f"({cut}) * (1 if {x} >= 0 else -1)", within("RESULT", target)
    if not is_integral(source):
        raise NotWritten
    if width(source) <= width(target):
        return x, None
    return x, within(x, target)


def _to_decimal(x: str, source: Type, target: DecimalType) -> tuple[str, str | None]:
    """More digits after the point, never fewer: those are rounded."""
    given = decimal(1, 0) if source == BOOLEAN else decimal_holding(source)
    more = target.scale - given.scale
    if more < 0:
        raise NotWritten
    most = 10 ** max(target.precision - more, 0) - 1
    fits = f"((-{most} <= {x}) & ({x} <= {most}))"
    text = f"{x} * {10**more}" if more else f"np.int64({x})"
    return text, None if given.precision + more <= target.precision else fits
