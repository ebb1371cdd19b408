"""Numbers: rounding, powers, angles, digits, and arithmetic that gives up quietly.

Functions on DOUBLE follow Java: outside its domain a function is NaN and beyond
the range it is Infinity, where Python would raise.
"""

from __future__ import annotations

import decimal as dec
import math
from collections.abc import Callable, Sequence
from typing import Any

from thalweg.errors import QueryError
from thalweg.functions.cast import WIDE, fit_decimal, fit_integer, to_float32
from thalweg.functions.constants import constant_integer
from thalweg.functions.operators import arithmetic, bits_of, number_or_interval
from thalweg.functions.registry import (
    SCALARS,
    Compute,
    Failure,
    Kind,
    Signature,
    scalar,
    scalar_by_type,
    takes,
    wrong_count,
)
from thalweg.plan.expressions import Expression
from thalweg.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_BITS,
    MAX_PRECISION,
    NULL,
    STRING,
    TINYINT,
    YEAR_MONTH,
    DecimalType,
    decimal,
    decimal_holding,
    is_integral,
    is_interval,
)

# Size and sign


@scalar_by_type("abs", resolve=number_or_interval)
def _abs(signature: Signature) -> Compute:
    if signature.result in (FLOAT, DOUBLE):
        return abs
    if isinstance(signature.result, DecimalType):
        return dec.Decimal.copy_abs
    bits = bits_of(signature.result)
    return lambda value: fit_integer(abs(value), bits)


@scalar("sign", "signum", resolve=takes((DOUBLE, DAYS, DAY_TIME, YEAR_MONTH), gives=DOUBLE))
def _sign(value: float) -> float:
    return math.copysign(1.0, value) if value < 0 or value > 0 else float(value)


# Rounding

# What Spark takes a number for when it wants "some decimal".
_DECIMAL_FOR = {
    FLOAT: decimal(14, 7),
    DOUBLE: decimal(30, 15),
    STRING: decimal(MAX_PRECISION, 18),
    NULL: decimal(MAX_PRECISION, 18),
}


def _rounded_decimal(type_: DecimalType, scale: int) -> DecimalType:
    """Rounding may carry into one more digit: 9.9 becomes 10."""
    integral = type_.precision - type_.scale + 1
    if scale < 0:
        return decimal(min(max(integral, 1 - scale), MAX_PRECISION), 0)
    kept = min(type_.scale, scale)
    return decimal(min(integral + kept, MAX_PRECISION), kept)


def _resolve_ceil(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) not in (1, 2):
        raise wrong_count(name, 1, 2, len(arguments))
    [given] = takes(Kind.NUMERIC, gives=DOUBLE)(name, arguments[:1]).arguments
    if len(arguments) == 1:
        if isinstance(given, DecimalType):
            return Signature((given,), _rounded_decimal(given, 0))
        return Signature((BIGINT if is_integral(given) else DOUBLE,), BIGINT)
    scale = constant_integer(name, "scale", arguments[1])
    if scale is None:
        raise QueryError(f"the scale of {name} cannot be NULL", arguments[1].span)
    source = _DECIMAL_FOR.get(arguments[0].type) or decimal_holding(given)
    return Signature((source, INT), _rounded_decimal(source, scale))


def _towards(signature: Signature, mode: str, whole: Callable[[float], int]) -> Compute:
    result = signature.result
    if isinstance(result, DecimalType):
        return lambda value, scale=0: fit_decimal(_quantized(value, scale, mode), result)
    return lambda value: 0 if value != value else fit_integer(whole(value), 64)


def _quantized(value: dec.Decimal, scale: int, mode: str) -> dec.Decimal:
    """Rounded to `scale` digits after the point, or before it if negative."""
    exponent = min(max(-scale, -MAX_PRECISION), 2 * MAX_PRECISION)
    if exponent <= 0:
        return value.quantize(dec.Decimal(1).scaleb(exponent), mode, WIDE)
    # Not quantize to 1E+n at once: it would leave digits as an exponent.
    return WIDE.scaleb(WIDE.scaleb(value, -exponent).quantize(dec.Decimal(1), mode, WIDE), exponent)


@scalar_by_type("ceil", "ceiling", resolve=_resolve_ceil)
def _ceil(signature: Signature) -> Compute:
    return _towards(signature, dec.ROUND_CEILING, math.ceil)


@scalar_by_type("floor", resolve=_resolve_ceil)
def _floor(signature: Signature) -> Compute:
    return _towards(signature, dec.ROUND_FLOOR, math.floor)


def _resolve_round(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.NUMERIC, INT, gives=DOUBLE, optional=1)(name, arguments)
    scale = constant_integer(name, "scale", arguments[1]) if len(arguments) == 2 else 0
    given = signature.arguments[0]
    result = _rounded_decimal(given, scale or 0) if isinstance(given, DecimalType) else given
    return Signature(signature.arguments, result)


def _rounding(signature: Signature, mode: str) -> Compute:
    result = signature.result
    if isinstance(result, DecimalType):
        return lambda value, scale=0: fit_decimal(_quantized(value, scale, mode), result)
    if result in INTEGER_BITS:
        bits = INTEGER_BITS[result]

        def whole(value: int, scale: int = 0) -> int:
            if scale >= 0:
                return value
            return fit_integer(int(_quantized(dec.Decimal(value), scale, mode)), bits)

        return whole

    def fraction(value: float, scale: int = 0) -> float:
        if not math.isfinite(value):
            return value
        # Digits as printed, not as stored: 1.005 rounds to 1.01.
        digits = dec.Decimal(repr(value))
        exponent = digits.as_tuple().exponent
        assert isinstance(exponent, int), "the value is finite"
        if scale >= -exponent:
            return value
        if -scale > digits.adjusted() + 1:
            return 0.0
        rounded = float(digits.quantize(dec.Decimal(1).scaleb(-scale), mode, _EVERY_DOUBLE))
        return to_float32(rounded) if result == FLOAT else rounded

    return fraction


_EVERY_DOUBLE = dec.Context(prec=800)


@scalar_by_type("round", resolve=_resolve_round)
def _round(signature: Signature) -> Compute:
    return _rounding(signature, dec.ROUND_HALF_UP)


@scalar_by_type("bround", resolve=_resolve_round)
def _bround(signature: Signature) -> Compute:
    return _rounding(signature, dec.ROUND_HALF_EVEN)


# Functions of one DOUBLE


def _java(function: Callable[[float], float]) -> Callable[[float], float]:
    def compute(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.copysign(math.inf, x)

    return compute


def _inverse(x: float) -> float:
    return 1 / x if x else math.copysign(math.inf, x)


def _atanh(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


def _rint(x: float) -> float:
    return math.copysign(round(x), x) if math.isfinite(x) else x


_OF_ONE_DOUBLE: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "cbrt": math.cbrt,
    "exp": math.exp,
    "expm1": math.expm1,
    "rint": _rint,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "cot": lambda x: _inverse(math.tan(x)),
    "sec": lambda x: _inverse(math.cos(x)),
    "csc": lambda x: _inverse(math.sin(x)),
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "sinh": math.sinh,
    "cosh": lambda x: math.cosh(abs(x)),
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": _atanh,
    "degrees": math.degrees,
    "radians": math.radians,
}

for _name, _function in _OF_ONE_DOUBLE.items():
    scalar(_name, resolve=takes(DOUBLE, gives=DOUBLE))(_java(_function))


# Logarithms are NULL, not NaN, where they do not exist.

_LOGARITHMS: dict[str, tuple[Callable[[float], float], float]] = {
    "ln": (math.log, 0.0),
    "log10": (math.log10, 0.0),
    "log2": (math.log2, 0.0),
    "log1p": (math.log1p, -1.0),
}


def _above(least: float, function: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda x: None if x <= least else function(x)


for _name, (_function, _least) in _LOGARITHMS.items():
    scalar(_name, resolve=takes(DOUBLE, gives=DOUBLE))(_above(_least, _function))


@scalar("log", resolve=takes(DOUBLE, DOUBLE, gives=DOUBLE, optional=1))
def _log(first: float, x: float | None = None) -> float | None:
    """The natural logarithm, or with two arguments the one to the base `first`."""
    if x is None:
        return None if first <= 0 else math.log(first)
    if first <= 0 or x <= 0:
        return None
    top, bottom = math.log(x), math.log(first)
    if bottom == 0:
        return math.nan if top == 0 or top != top else math.copysign(math.inf, top)
    return top / bottom


# Functions of several numbers


@scalar("pow", "power", resolve=takes(DOUBLE, DOUBLE, gives=DOUBLE))
def _pow(base: float, exponent: float) -> float:
    odd = math.isfinite(exponent) and exponent % 2 == 1
    if abs(base) == 1 and not math.isfinite(exponent):
        return math.nan  # Java; C and Python say 1
    if base == 1 and exponent != exponent:
        return math.nan
    try:
        return math.pow(base, exponent)
    except ValueError:
        if base == 0:
            return math.copysign(math.inf, base) if odd else math.inf
        return math.nan
    except OverflowError:
        return -math.inf if base < 0 and odd else math.inf


@scalar("atan2", resolve=takes(DOUBLE, DOUBLE, gives=DOUBLE))
def _atan2(y: float, x: float) -> float:
    return math.atan2(y + 0.0, x + 0.0)


@scalar("hypot", resolve=takes(DOUBLE, DOUBLE, gives=DOUBLE))
def _hypot(a: float, b: float) -> float:
    return math.hypot(a, b)


@scalar("pi", resolve=takes(gives=DOUBLE))
def _pi() -> float:
    return math.pi


@scalar("e", resolve=takes(gives=DOUBLE))
def _e() -> float:
    return math.e


@scalar("factorial", resolve=takes(INT, gives=BIGINT))
def _factorial(n: int) -> int | None:
    return math.factorial(n) if 0 <= n <= 20 else None


def _resolve_width_bucket(name: str, arguments: Sequence[Expression]) -> Signature:
    if arguments and is_interval(arguments[0].type):
        wide = YEAR_MONTH if arguments[0].type == YEAR_MONTH else DAY_TIME
        return takes(wide, wide, wide, BIGINT, gives=BIGINT)(name, arguments)
    return takes(DOUBLE, DOUBLE, DOUBLE, BIGINT, gives=BIGINT)(name, arguments)


@scalar("width_bucket", resolve=_resolve_width_bucket)
def _width_bucket(value: float, first: float, last: float, count: int) -> int | None:
    """Which of `count` equal parts of a range holds the value; 0 before it, count + 1 after."""
    if count <= 0 or count == 2**63 - 1 or value != value or first == last:
        return None
    if not (math.isfinite(first) and math.isfinite(last)):
        return None
    if last < first:
        value, first, last = -value, -first, -last
    if value < first:
        return 0
    if value >= last:
        return count + 1
    return math.floor(count * (value - first) / (last - first)) + 1


# Digits and bits

_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_UNSIGNED = 1 << 64


@scalar("bin", resolve=takes(BIGINT, gives=STRING))
def _bin(value: int) -> str:
    return f"{value % _UNSIGNED:b}"


@scalar("hex", resolve=takes((BIGINT, BINARY, STRING), gives=STRING))
def _hex(value: Any) -> str:
    if isinstance(value, int):
        return f"{value % _UNSIGNED:X}"
    return (value if isinstance(value, bytes) else value.encode()).hex().upper()


@scalar("unhex", resolve=takes(STRING, gives=BINARY))
def _unhex(text: str) -> bytes | None:
    digits = text if len(text) % 2 == 0 else f"0{text}"
    if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        return None
    return bytes.fromhex(digits)


@scalar("conv", resolve=takes(STRING, INT, INT, gives=STRING))
def _conv(text: str, source: int, target: int) -> str | None:
    """An unsigned number of 64 bits from one base to another, signed if `target` is negative."""
    digits = text.strip(" ")
    if not 2 <= source <= 36 or not 2 <= abs(target) <= 36 or not digits:
        return None
    negative = digits.startswith("-")
    value = _leading_number(digits[negative:].upper(), source)
    if negative and target > 0:
        value = _UNSIGNED - 1 if value >> 63 else -value % _UNSIGNED
    if target < 0 and value >> 63:
        value, negative = _UNSIGNED - value, True
    sign = "-" if negative and target < 0 else ""
    return sign + _in_base(value, abs(target))


def _leading_number(digits: str, base: int) -> int:
    """The number that the valid digits at the start make; 0 if there are none."""
    value = 0
    for digit in digits:
        worth = _DIGITS.find(digit)
        if not 0 <= worth < base:
            break
        value = value * base + worth
        if value >= _UNSIGNED:
            raise Failure("the number needs more than 64 bits")
    return value


def _in_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, rest = divmod(value, base)
        digits = _DIGITS[rest] + digits
    return digits or "0"


def _resolve_bit_count(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) == 1 and arguments[0].type == BOOLEAN:
        return Signature((BOOLEAN,), INT)
    return takes(Kind.INTEGRAL, gives=INT)(name, arguments)


@scalar("bit_count", resolve=_resolve_bit_count)
def _bit_count(value: int) -> int:
    """The ones among 64 bits, as narrower types are extended by their sign."""
    return (int(value) % _UNSIGNED).bit_count()


@scalar_by_type("bit_get", "getbit", resolve=takes(Kind.INTEGRAL, INT, gives=TINYINT))
def _bit_get(signature: Signature) -> Compute:
    bits = INTEGER_BITS[signature.arguments[0]]

    def compute(value: int, position: int) -> int:
        if not 0 <= position < bits:
            raise Failure(f"the number has no bit {position}")
        return value >> position & 1

    return compute


# Arithmetic that is NULL instead of failing


def _quietly(symbol: str) -> Callable[[Signature], Compute]:
    def make(signature: Signature) -> Compute:
        compute = SCALARS[symbol].make(signature)

        def attempt(a: Any, b: Any) -> Any:
            try:
                return compute(a, b)
            except (Failure, ArithmeticError):
                return None

        return attempt

    return make


_QUIET = {
    "try_add": "+",
    "try_subtract": "-",
    "try_multiply": "*",
    "try_divide": "/",
    "try_mod": "%",
}

for _name, _symbol in _QUIET.items():
    scalar_by_type(_name, resolve=arithmetic(_symbol))(_quietly(_symbol))
