"""Which type two types meet in, and which conversions happen without being asked.

The rules are those of Spark SQL with ANSI mode on (its default since 4.0);
`tests/spark/test_coercion.py` compares every pair of types with Spark itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DAY_TIME,
    DAYS,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    StructType,
    Type,
    array,
    decimal,
    decimal_holding,
    is_atomic,
    is_integral,
    is_interval,
    is_numeric,
    struct,
)

_PRECEDENCE = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)

# What Spark keeps of the scale when a result would need more than 38 digits.
_MINIMUM_ADJUSTED_SCALE = 6


def common_type(left: Type, right: Type) -> Type | None:
    """The type both sides are converted to before they are compared or mixed."""
    met = tightest_common_type(left, right) or _common_decimal(left, right)
    if met is None and STRING in (left, right):
        return _common_with_string(right if left == STRING else left)
    return met or _common_nested(left, right, common_type)


def comparable_type(left: Type, right: Type) -> Type | None:
    """As `common_type`, for =, < and their kin: names inside do not count, texts inside stay."""
    met = tightest_common_type(left, right) or _common_decimal(left, right)
    if met is None and STRING in (left, right):
        return _common_with_string(right if left == STRING else left)
    return met or (left if _same_shape(left, right) else None)


def _same_shape(left: Type, right: Type) -> bool:
    match left, right:
        case ArrayType(element=a), ArrayType(element=b):
            return _same_shape(a, b)
        case StructType(fields=a_fields), StructType(fields=b_fields):
            return len(a_fields) == len(b_fields) and all(
                _same_shape(a.type, b.type) for a, b in zip(a_fields, b_fields, strict=True)
            )
    return left == right


def common_type_without_strings(left: Type, right: Type) -> Type | None:
    """As `common_type`, but text never becomes a number or a time."""
    met = tightest_common_type(left, right) or _common_decimal(left, right)
    return met or _common_nested(left, right, common_type_without_strings)


def tightest_common_type(left: Type, right: Type) -> Type | None:
    """As `common_type`, but one that holds every value of both sides as it is."""
    if left == right:
        return left
    if NULL in (left, right):
        return right if left == NULL else left
    if isinstance(left, DecimalType) and is_integral(right):
        return left if wider_decimal(left, decimal_holding(right)) == left else None
    if isinstance(right, DecimalType) and is_integral(left):
        return tightest_common_type(right, left)
    if left in _PRECEDENCE and right in _PRECEDENCE:
        high = max(left, right, key=_PRECEDENCE.index)
        return DOUBLE if high == FLOAT else high  # a float cannot hold every integer
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if {left, right} == {DAYS, DAY_TIME}:
        return DAY_TIME
    return _common_nested(left, right, tightest_common_type)


def common_type_of(
    types: Iterable[Type], meet: Callable[[Type, Type], Type | None] = common_type
) -> Type | None:
    """The meeting type of many expressions, as in CASE, COALESCE, UNION or IN."""
    common: Type | None = NULL
    for type_ in types:
        common = meet(common, type_) if common is not None else None
    return common


def _common_decimal(left: Type, right: Type) -> Type | None:
    """Where at least one of two numbers is a decimal."""
    if not (is_numeric(left) and is_numeric(right)):
        return None
    if {left, right} & {FLOAT, DOUBLE}:
        return DOUBLE
    return wider_decimal(decimal_holding(left), decimal_holding(right))


def wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    integral = max(left.precision - left.scale, right.precision - right.scale)
    if integral + scale <= MAX_PRECISION:
        return decimal(integral + scale, scale)
    return decimal(MAX_PRECISION, max(0, min(scale, MAX_PRECISION - integral)))


def _common_with_string(other: Type) -> Type | None:
    if is_integral(other):
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    if is_interval(other) or not is_atomic(other):
        return None
    return other


def _common_nested(
    left: Type, right: Type, meet: Callable[[Type, Type], Type | None]
) -> Type | None:
    """Part by part; structs have the same names in the same order."""
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        element = meet(left.element, right.element)
        return array(element) if element is not None else None
    if isinstance(left, StructType) and isinstance(right, StructType):
        if [f.name.lower() for f in left.fields] != [f.name.lower() for f in right.fields]:
            return None
        fields = []
        for mine, other in zip(left.fields, right.fields, strict=True):
            met = meet(mine.type, other.type)
            if met is None:
                return None
            fields.append(Field(mine.name, met))
        return struct(*fields)
    return None


def bounded_decimal(precision: int, scale: int) -> DecimalType:
    """A decimal result type, cut to 38 digits the way Spark cuts it: integral digits win."""
    if precision <= MAX_PRECISION:
        return decimal(precision, scale)
    integral = precision - scale
    kept = max(MAX_PRECISION - integral, min(scale, _MINIMUM_ADJUSTED_SCALE))
    return decimal(MAX_PRECISION, kept)


def decimal_result(operator: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """The type of `left operator right`."""
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return bounded_decimal(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return bounded_decimal(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_MINIMUM_ADJUSTED_SCALE, s1 + p2 + 1)
            return bounded_decimal(p1 - s1 + s2 + scale, scale)
        case "%":
            scale = max(s1, s2)
            return bounded_decimal(min(p1 - s1, p2 - s2) + scale, scale)
    raise AssertionError(f"no decimal rule for {operator}")


def converts_implicitly(source: Type, target: Type) -> bool:
    """Whether a function that wants `target` takes an argument of type `source`."""
    if source in (target, NULL):
        return True
    if is_numeric(source) and is_numeric(target):
        return True
    if {source, target} in ({DATE, TIMESTAMP}, {DAYS, DAY_TIME}):
        return True
    if source == STRING:
        return is_atomic(target) and not is_interval(target)
    if target == STRING:
        return is_atomic(source)
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return converts_implicitly(source.element, target.element)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return len(source.fields) == len(target.fields) and all(
            converts_implicitly(a.type, b.type)
            for a, b in zip(source.fields, target.fields, strict=True)
        )
    return False


def casts_explicitly(source: Type, target: Type) -> bool:
    """Whether CAST(source AS target) exists."""
    if source in (target, NULL):
        return True
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return casts_explicitly(source.element, target.element)
    if isinstance(source, StructType) and isinstance(target, StructType):
        return len(source.fields) == len(target.fields) and all(
            casts_explicitly(a.type, b.type)
            for a, b in zip(source.fields, target.fields, strict=True)
        )
    if target == STRING:
        return True
    if not is_atomic(source) or not is_atomic(target):
        return False
    if source == STRING:
        return not is_interval(target)
    if is_numeric(source):
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP)
    if source == BOOLEAN:
        return is_numeric(target)
    if source == TIMESTAMP:
        return is_numeric(target) or target == DATE
    return (source, target) in ((DATE, TIMESTAMP), (DAYS, DAY_TIME), (DAY_TIME, DAYS))
