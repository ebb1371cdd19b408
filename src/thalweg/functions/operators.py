"""Arithmetic, comparison, logic and bits: what SQL writes with symbols."""

from __future__ import annotations

import decimal as dec
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from thalweg.coercion import common_type, comparable_type, decimal_result
from thalweg.errors import QueryError
from thalweg.functions.calendar import (
    MICROS_PER_DAY,
    add_months,
    from_local,
    to_local,
)
from thalweg.functions.cast import WIDE, fit_decimal, fit_integer, to_float32
from thalweg.functions.registry import (
    Compute,
    Failure,
    Kind,
    Nulls,
    Signature,
    same_as_first,
    scalar,
    scalar_by_type,
    takes,
    takes_common,
    wrong_count,
)
from thalweg.plan.expressions import Expression, Literal
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    NULL,
    STRING,
    TIMESTAMP,
    YEAR_MONTH,
    DecimalType,
    Type,
    decimal,
    decimal_holding,
    is_integral,
    is_interval,
    is_numeric,
)
from thalweg.values import compare, sort_key


def _mismatch(symbol: str, left: Expression, right: Expression) -> QueryError:
    return QueryError(
        f'"{symbol}" does not go with {left.type} and {right.type}',
        left.span | right.span if left.span and right.span else None,
        hint="convert one side with CAST",
    )


def _decimal_of(argument: Expression) -> DecimalType:
    """The decimal type an operand brings; an integer as written brings only its own digits."""
    if (
        isinstance(argument, Literal)
        and is_integral(argument.type)
        and argument.value is not None
        and argument.written is None
    ):
        return decimal(len(str(abs(argument.value))), 0)
    return decimal_holding(argument.type)


def _decimal_sides(
    arguments: Sequence[Expression], sides: tuple[Type, Type]
) -> tuple[DecimalType, DecimalType]:
    left, right = (
        _decimal_of(argument) if is_numeric(argument.type) else decimal_holding(side)
        for argument, side in zip(arguments, sides, strict=True)
    )
    return left, right


def arithmetic(symbol: str) -> Callable[[str, Sequence[Expression]], Signature]:
    """Resolve `left symbol right` over numbers and intervals."""

    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        if len(arguments) != 2:
            raise wrong_count(name, 2, 2, len(arguments))
        left, right = arguments
        types = _numeric_sides(symbol, left.type, right.type)
        if types is None:
            raise _mismatch(symbol, left, right)
        a, b = types
        if is_interval(a):
            return Signature((a, b), a)
        if isinstance(a, DecimalType) or isinstance(b, DecimalType):
            if {a, b} & {FLOAT, DOUBLE}:
                return Signature((DOUBLE, DOUBLE), DOUBLE)
            sides = _decimal_sides(arguments, types)
            return Signature(sides, decimal_result(symbol, *sides))
        if symbol == "/":
            return Signature((DOUBLE, DOUBLE), DOUBLE)
        common = common_type(a, b)
        assert common is not None, "two numbers have a common type"
        return Signature((common, common), common)

    return resolve


def _numeric_sides(symbol: str, left: Type, right: Type) -> tuple[Type, Type] | None:
    if left == NULL and right == NULL:
        return DOUBLE, DOUBLE
    if left == STRING and right == STRING:
        return None
    if left == NULL and isinstance(right, DecimalType) and symbol == "/":
        return DOUBLE, DOUBLE
    if STRING in (left, right):
        met = common_type(left, right)
        if met is None or not is_numeric(met):
            return None
        left, right = (met if side == STRING else side for side in (left, right))
    left, right = (right if left == NULL else left), (left if right == NULL else right)
    if is_numeric(left) and is_numeric(right):
        return left, right
    if is_interval(left) and is_interval(right) and symbol in ("+", "-", "div"):
        met = common_type(left, right)
        return (met, met) if met else None
    return None


def bits_of(type_: Type) -> int:
    """The width of an integer or interval type."""
    return INTEGER_BITS.get(type_) or (32 if type_ == YEAR_MONTH else 64)


def _integers(combine: Callable[[int, int], int], type_: Type) -> Compute:
    bits = bits_of(type_)
    return lambda a, b: fit_integer(combine(a, b), bits)


def _arithmetic_on(
    signature: Signature,
    integers: Callable[[int, int], int],
    floats: Callable[[float, float], float],
    decimals: Callable[[dec.Decimal, dec.Decimal], dec.Decimal],
) -> Compute:
    result = signature.result
    if isinstance(result, DecimalType):
        return lambda a, b: fit_decimal(decimals(a, b), result)
    if result == DOUBLE:
        return floats
    if result == FLOAT:
        return lambda a, b: to_float32(floats(a, b))
    return _integers(integers, result)


@scalar_by_type("+", resolve=arithmetic("+"))
def _add(signature: Signature) -> Compute:
    return _arithmetic_on(signature, operator.add, operator.add, WIDE.add)


@scalar_by_type("-", resolve=arithmetic("-"))
def _subtract(signature: Signature) -> Compute:
    return _arithmetic_on(signature, operator.sub, operator.sub, WIDE.subtract)


@scalar_by_type("*", resolve=arithmetic("*"))
def _multiply(signature: Signature) -> Compute:
    return _arithmetic_on(signature, operator.mul, operator.mul, WIDE.multiply)


@scalar_by_type("/", resolve=arithmetic("/"))
def _divide(signature: Signature) -> Compute:
    return _refusing_zero(_arithmetic_on(signature, operator.floordiv, _float_divide, WIDE.divide))


@scalar_by_type("%", "mod", resolve=arithmetic("%"))
def _remainder(signature: Signature) -> Compute:
    return _refusing_zero(_arithmetic_on(signature, _int_remainder, _fmod, WIDE.remainder))


@scalar_by_type("pmod", resolve=arithmetic("%"))
def _positive_remainder(signature: Signature) -> Compute:
    return _refusing_zero(
        _arithmetic_on(
            signature,
            lambda a, b: _positive(_int_remainder(a, b), b, operator.add, _int_remainder),
            lambda a, b: _positive(_fmod(a, b), b, operator.add, _fmod),
            lambda a, b: _positive(WIDE.remainder(a, b), b, WIDE.add, WIDE.remainder),
        )
    )


def _positive(
    remainder: Any,
    divisor: Any,
    add: Callable[[Any, Any], Any],
    again: Callable[[Any, Any], Any],
) -> Any:
    return again(add(remainder, divisor), divisor) if remainder < 0 else remainder


def _int_remainder(a: int, b: int) -> int:
    """The sign of the dividend, as in Java."""
    rest = abs(a) % abs(b)
    return rest if a >= 0 else -rest


def _fmod(a: float, b: float) -> float:
    if math.isinf(a):
        return math.nan
    return math.fmod(a, b)


def _float_divide(a: float, b: float) -> float:
    return a / b


def _refusing_zero(compute: Compute) -> Compute:
    def checked(a: Any, b: Any) -> Any:
        if b == 0:
            raise Failure("division by zero")
        return compute(a, b)

    return checked


def _resolve_div(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    left, right = arguments
    if left.type == NULL and right.type == NULL:
        return Signature((BIGINT, BIGINT), BIGINT)
    sides = _numeric_sides("div", left.type, right.type)
    if sides is None or {FLOAT, DOUBLE} & {*sides}:
        raise _mismatch(name, left, right)
    if is_interval(sides[0]):
        return Signature(sides, BIGINT)
    if isinstance(sides[0], DecimalType) or isinstance(sides[1], DecimalType):
        return Signature(_decimal_sides(arguments, sides), BIGINT)
    return Signature((BIGINT, BIGINT), BIGINT)


@scalar("div", resolve=_resolve_div)
def _div(a: Any, b: Any) -> int:
    if b == 0:
        raise Failure("division by zero")
    if isinstance(a, dec.Decimal):
        return fit_integer(int(WIDE.divide(a, b)), 64)
    quotient = abs(a) // abs(b)
    return fit_integer(quotient if (a >= 0) == (b >= 0) else -quotient, 64)


def number_or_interval(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) == 1 and is_interval(arguments[0].type):
        return Signature((arguments[0].type,), arguments[0].type)
    return takes(Kind.NUMERIC, gives=same_as_first)(name, arguments)


@scalar_by_type("negative", resolve=number_or_interval)
def _negative(signature: Signature) -> Compute:
    if signature.result in (FLOAT, DOUBLE):
        return operator.neg
    if isinstance(signature.result, DecimalType):
        return WIDE.minus
    bits = bits_of(signature.result)
    return lambda value: fit_integer(-value, bits)


@scalar("positive", resolve=number_or_interval)
def _positive_sign(value: Any) -> Any:
    return value


def comparison(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    left, right = arguments
    common = comparable_type(left.type, right.type)
    if common is None:
        raise QueryError(
            f"cannot compare {left.type} with {right.type}",
            left.span | right.span if left.span and right.span else None,
            hint="convert one side with CAST",
        )
    return Signature((common, common), BOOLEAN)


@scalar("=", resolve=comparison)
def _equal(a: Any, b: Any) -> bool:
    return sort_key(a) == sort_key(b)


@scalar("<>", resolve=comparison)
def _different(a: Any, b: Any) -> bool:
    return sort_key(a) != sort_key(b)


@scalar("<", resolve=comparison)
def _less(a: Any, b: Any) -> bool:
    return compare(a, b) < 0


@scalar("<=", resolve=comparison)
def _at_most(a: Any, b: Any) -> bool:
    return compare(a, b) <= 0


@scalar(">", resolve=comparison)
def _more(a: Any, b: Any) -> bool:
    return compare(a, b) > 0


@scalar(">=", resolve=comparison)
def _at_least(a: Any, b: Any) -> bool:
    return compare(a, b) >= 0


@scalar("<=>", "equal_null", resolve=comparison, nulls=Nulls.SEEN)
def _null_safe_equal(a: Any, b: Any) -> bool:
    return sort_key(a) == sort_key(b)


@scalar("in", resolve=takes_common(gives=BOOLEAN, at_least=2), nulls=Nulls.SEEN)
def _in(value: Any, *choices: Any) -> bool | None:
    if value is None:
        return None
    key = sort_key(value)
    if any(choice is not None and sort_key(choice) == key for choice in choices):
        return True
    return None if None in choices else False


def _logic(name: str, arguments: Sequence[Expression]) -> Signature:
    """A text is taken for a truth value only beside one."""
    signature = takes(BOOLEAN, BOOLEAN, gives=BOOLEAN)(name, arguments)
    given = [argument.type for argument in arguments]
    if STRING in given and BOOLEAN not in given:
        raise _mismatch(name.upper(), arguments[0], arguments[1])
    return signature


@scalar("and", resolve=_logic, nulls=Nulls.SEEN)
def _and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


@scalar("or", resolve=_logic, nulls=Nulls.SEEN)
def _or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


@scalar("not", resolve=takes(BOOLEAN, gives=BOOLEAN))
def _not(a: bool) -> bool:
    return not a


@scalar("is null", "isnull", resolve=takes(Kind.ANY, gives=BOOLEAN), nulls=Nulls.SEEN)
def _is_null(a: Any) -> bool:
    return a is None


@scalar("is not null", "isnotnull", resolve=takes(Kind.ANY, gives=BOOLEAN), nulls=Nulls.SEEN)
def _is_not_null(a: Any) -> bool:
    return a is not None


def _bits(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 2:
        raise wrong_count(name, 2, 2, len(arguments))
    common = common_type(arguments[0].type, arguments[1].type)
    if common == NULL:
        common = INT
    if common is None or not is_integral(common):
        raise _mismatch(name, arguments[0], arguments[1])
    return Signature((common, common), common)


@scalar("&", resolve=_bits)
def _bit_and(a: int, b: int) -> int:
    return a & b


@scalar("|", resolve=_bits)
def _bit_or(a: int, b: int) -> int:
    return a | b


@scalar("^", resolve=_bits)
def _bit_xor(a: int, b: int) -> int:
    return a ^ b


@scalar("~", resolve=takes(Kind.INTEGRAL, gives=same_as_first))
def _bit_not(a: int) -> int:
    return ~a


def _resolve_shift(name: str, arguments: Sequence[Expression]) -> Signature:
    return takes((INT, BIGINT), INT, gives=same_as_first)(name, arguments)


def _wrapped(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@scalar_by_type("<<", "shiftleft", resolve=_resolve_shift)
def _shift_left(signature: Signature) -> Compute:
    bits = INTEGER_BITS[signature.result]
    return lambda a, n: _wrapped(a << (n % bits), bits)


@scalar_by_type(">>", "shiftright", resolve=_resolve_shift)
def _shift_right(signature: Signature) -> Compute:
    bits = INTEGER_BITS[signature.result]
    return lambda a, n: a >> (n % bits)


@scalar_by_type(">>>", "shiftrightunsigned", resolve=_resolve_shift)
def _shift_right_unsigned(signature: Signature) -> Compute:
    bits = INTEGER_BITS[signature.result]
    return lambda a, n: _wrapped((a & ((1 << bits) - 1)) >> (n % bits), bits)


# Times and intervals. The binder turns + and - on them into these.


@scalar("date + months", resolve=takes(DATE, YEAR_MONTH, gives=DATE))
def _date_plus_months(days: int, months: int) -> int:
    return fit_integer(add_months(days, months), 32)


@scalar("date + days", resolve=takes(DATE, DAYS, gives=DATE))
def _date_plus_days(days: int, micros: int) -> int:
    return fit_integer(days + micros // MICROS_PER_DAY, 32)


@scalar("timestamp + interval", resolve=takes(TIMESTAMP, DAY_TIME, gives=TIMESTAMP), zoned=True)
def timestamp_plus(micros: int, interval: int, zone: str) -> int:
    """Whole days move the wall clock; the rest moves the instant."""
    days = abs(interval) // MICROS_PER_DAY * (1 if interval >= 0 else -1)
    moved = from_local(to_local(micros, zone) + days * MICROS_PER_DAY, zone) if days else micros
    return fit_integer(moved + interval - days * MICROS_PER_DAY, 64)


@scalar("timestamp + months", resolve=takes(TIMESTAMP, YEAR_MONTH, gives=TIMESTAMP), zoned=True)
def timestamp_plus_months(micros: int, months: int, zone: str) -> int:
    days, rest = divmod(to_local(micros, zone), MICROS_PER_DAY)
    return fit_integer(from_local(add_months(days, months) * MICROS_PER_DAY + rest, zone), 64)


@scalar("timestamp - timestamp", resolve=takes(TIMESTAMP, TIMESTAMP, gives=DAY_TIME), zoned=True)
def _timestamp_difference(end: int, start: int, zone: str) -> int:
    """Days on the wall clock plus the rest, so that one day later is one day, summer or not."""
    return fit_integer(to_local(end, zone) - to_local(start, zone), 64)


@scalar("date - date", resolve=takes(DATE, DATE, gives=DAYS))
def _date_difference(end: int, start: int) -> int:
    return fit_integer((end - start) * MICROS_PER_DAY, 64)


def _resolve_scaling(name: str, arguments: Sequence[Expression]) -> Signature:
    interval, factor = arguments[0].type, arguments[1].type
    wide = YEAR_MONTH if interval == YEAR_MONTH else DAY_TIME
    number = factor if is_integral(factor) or isinstance(factor, DecimalType) else DOUBLE
    return Signature((wide, number), wide)


@scalar_by_type("interval * number", resolve=_resolve_scaling)
def _interval_times(signature: Signature) -> Compute:
    return _scaled(signature, WIDE.multiply)


@scalar_by_type("interval / number", resolve=_resolve_scaling)
def _interval_divided(signature: Signature) -> Compute:
    return _refusing_zero(_scaled(signature, WIDE.divide))


def _scaled(
    signature: Signature, combine: Callable[[dec.Decimal, dec.Decimal], dec.Decimal]
) -> Compute:
    bits = bits_of(signature.result)

    def compute(interval: int, factor: Any) -> int:
        if isinstance(factor, float) and not math.isfinite(factor):
            raise Failure(f"an interval cannot be scaled by {factor}")
        product = combine(dec.Decimal(interval), dec.Decimal(factor))
        return fit_integer(int(product.to_integral_value(dec.ROUND_HALF_UP)), bits)

    return compute
