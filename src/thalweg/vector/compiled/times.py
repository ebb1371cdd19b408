"""Dates, timestamps and intervals, where the wall clock is UTC."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.functions.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from thalweg.plan.expressions import Call, Literal
from thalweg.types import BIGINT, INT, YEAR_MONTH, is_interval
from thalweg.vector.compiled.arithmetic import Outcome, difference, product, total, within
from thalweg.vector.compiled.formula import Formula, NotWritten, Term
from thalweg.vector.compiled.zones import is_utc

Writer = Callable[[Formula, Call, list[Term]], Term]


def _in_utc(call: Call) -> None:
    zone = call.arguments[-1]
    if not isinstance(zone, Literal) or not is_utc(str(zone.value)):
        raise NotWritten


def _certain(formula: Formula, outcome: Outcome) -> Term:
    result, certain = outcome
    if certain is not None:
        formula.demand(certain, result.null)
    return result


def _timestamp_plus(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    _in_utc(call)
    return _certain(formula, total(formula, call.type, *arguments))


def _timestamp_difference(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    _in_utc(call)
    return _certain(formula, difference(formula, call.type, *arguments))


def _date_plus_days(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    date, interval = arguments
    text = f"{date.value} + {interval.value} // {MICROS_PER_DAY}"
    result = formula.strict(call.type, text, date, interval)
    formula.demand(within(result.value, call.type), result.null)
    return result


def _date_difference(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    end, start = arguments
    days = formula.strict(BIGINT, f"{end.value} - {start.value}", end, start)
    micros = Term(BIGINT, str(MICROS_PER_DAY))
    return _certain(formula, product(formula, call.type, days, micros))


def _moved_date(symbol: str) -> Writer:
    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        a, b = arguments
        result = formula.strict(call.type, f"{a.value} {symbol} {b.value}", a, b)
        formula.demand(within(result.value, call.type), result.null)
        return result

    return write


def _interval_times(formula: Formula, call: Call, arguments: list[Term]) -> Term:
    interval, factor = arguments
    if not is_interval(interval.type) or factor.type not in (INT, BIGINT):
        raise NotWritten
    if call.type == YEAR_MONTH and factor.type == BIGINT:
        raise NotWritten
    return _certain(formula, product(formula, call.type, interval, factor))


def _part_of_day(unit: int, modulus: int | None) -> Writer:
    def write(formula: Formula, call: Call, arguments: list[Term]) -> Term:
        _in_utc(call)
        text = f"{arguments[0].value} % {MICROS_PER_DAY} // {unit}"
        if modulus is not None:
            text = f"({text}) % {modulus}"
        return formula.strict(call.type, text, *arguments)

    return write


TIMES: dict[str, Writer] = {
    "timestamp + interval": _timestamp_plus,
    "timestamp - timestamp": _timestamp_difference,
    "date + days": _date_plus_days,
    "date - date": _date_difference,
    "date_add": _moved_date("+"),
    "date_sub": _moved_date("-"),
    "datediff": _moved_date("-"),
    "date_diff": _moved_date("-"),
    "interval * number": _interval_times,
    "hour": _part_of_day(3600 * MICROS_PER_SECOND, None),
    "minute": _part_of_day(60 * MICROS_PER_SECOND, 60),
    "second": _part_of_day(MICROS_PER_SECOND, 60),
}
