"""Arrays and structs: making them, taking them apart, and sets of elements.

Elements are equal as `thalweg.values` has it: NULL equals NULL and NaN equals
NaN. Of equal elements the first one stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from thalweg.coercion import common_type_without_strings, tightest_common_type
from thalweg.errors import QueryError
from thalweg.functions.registry import (
    Failure,
    Kind,
    Nulls,
    Resolve,
    Signature,
    same_as_first,
    scalar,
    takes,
    takes_common,
    wrong_count,
    wrong_type,
)
from thalweg.functions.strings import LONGEST_ARRAY, refuse_longer
from thalweg.plan.expressions import Column, Expression, FieldOf, Literal
from thalweg.types import (
    BIGINT,
    BOOLEAN,
    DAY_TIME,
    DAYS,
    FLOAT,
    INT,
    NULL,
    STRING,
    ArrayType,
    Field,
    Type,
    array,
    is_integral,
    struct,
)
from thalweg.values import sort_key

Elements = tuple[Any, ...]


def _element(types: tuple[Type, ...]) -> Type:
    assert isinstance(types[0], ArrayType), "the signature says so"
    return types[0].element


def _some_array(name: str, argument: Expression) -> ArrayType:
    if not isinstance(argument.type, ArrayType):
        raise wrong_type(name, 0, Kind.ARRAY.value, argument)
    return argument.type


# Making


@scalar(
    "array",
    resolve=takes_common(gives=lambda types: array(types[0] if types else NULL), at_least=0),
    nulls=Nulls.SEEN,
)
def _array(*elements: Any) -> Elements:
    return elements


def _resolve_named_struct(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) % 2:
        raise QueryError(f"{name} takes names and values in turn, not {len(arguments)} arguments")
    fields = []
    for label, value in zip(arguments[::2], arguments[1::2], strict=True):
        if not isinstance(label, Literal) or label.type != STRING:
            raise QueryError(f"the names of {name} must be constant texts", label.span)
        fields.append(Field(label.value, value.type))
    return Signature(tuple(argument.type for argument in arguments), struct(*fields))


@scalar("named_struct", resolve=_resolve_named_struct, nulls=Nulls.SEEN)
def _named_struct(*names_and_values: Any) -> Elements:
    return names_and_values[1::2]


@scalar(
    "array_repeat",
    resolve=takes(Kind.ANY, Kind.AT_MOST_INT, gives=lambda types: array(types[0])),
    nulls=Nulls.SEEN,
)
def _array_repeat(element: Any, times: int | None) -> Elements | None:
    if times is None:
        return None
    refuse_longer(times, LONGEST_ARRAY)
    return (element,) * times


def _resolve_zip(name: str, arguments: Sequence[Expression]) -> Signature:
    types = takes(Kind.ARRAY, gives=BOOLEAN, optional=1, repeats=True)(name, arguments).arguments
    fields = []
    for i, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        label = argument.name if isinstance(argument, Column | FieldOf) else str(i)
        fields.append(Field(label, _element((type_,))))
    return Signature(types, array(struct(*fields)))


@scalar("arrays_zip", resolve=_resolve_zip)
def _arrays_zip(*arrays: Elements) -> Elements:
    """Structs of the elements at each position; NULL where an array is shorter."""
    longest = max(map(len, arrays), default=0)
    return tuple(tuple(a[i] if i < len(a) else None for a in arrays) for i in range(longest))


# Taking apart


def _resolve_access(*index: Type | Kind) -> Resolve:
    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        signature = takes(Kind.ARRAY, *index, gives=_element)(name, arguments)
        _some_array(name, arguments[0])
        return signature

    return resolve


@scalar("[]", resolve=_resolve_access(Kind.INTEGRAL))
def _subscript(elements: Elements, index: int) -> Any:
    """Counted from 0."""
    if not 0 <= index < len(elements):
        raise Failure(f"there is no element {index} among {len(elements)}")
    return elements[index]


@scalar("get", resolve=_resolve_access(INT))
def _get(elements: Elements, index: int) -> Any:
    return elements[index] if 0 <= index < len(elements) else None


def _resolve_element_at(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = _resolve_access(Kind.AT_MOST_INT)(name, arguments)
    if arguments[1].type == NULL:
        raise wrong_type(name, 1, Kind.AT_MOST_INT.value, arguments[1])
    return signature


@scalar("element_at", resolve=_resolve_element_at)
def _element_at(elements: Elements, position: int) -> Any:
    """Counted from 1, or from -1 at the end."""
    if not 1 <= abs(position) <= len(elements):
        raise Failure(f"there is no element {position} among {len(elements)}, counted from 1")
    return elements[position - 1 if position > 0 else position]


@scalar("try_element_at", resolve=_resolve_element_at)
def _try_element_at(elements: Elements, position: int) -> Any:
    return None if abs(position) > len(elements) else _element_at(elements, position)


@scalar("slice", resolve=takes(Kind.ARRAY, INT, INT, gives=same_as_first))
def _slice(elements: Elements, start: int, length: int) -> Elements:
    if start == 0:
        raise Failure("elements count from 1, or from -1 at the end")
    if length < 0:
        raise Failure("the length of a slice cannot be negative")
    first = start - 1 if start > 0 else len(elements) + start
    return elements[first : first + length] if first >= 0 else ()


def _resolve_flatten(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.ARRAY, gives=_element)(name, arguments)
    if not isinstance(signature.result, ArrayType):
        raise wrong_type(name, 0, "an array of arrays", arguments[0])
    return signature


@scalar("flatten", resolve=_resolve_flatten)
def _flatten(arrays: tuple[Elements | None, ...]) -> Elements | None:
    flat: list[Any] = []
    for elements in arrays:
        if elements is None:
            return None
        flat += elements
    return tuple(flat)


@scalar("size", "cardinality", "array_size", resolve=takes(Kind.ARRAY, gives=INT))
def _size(elements: Elements) -> int:
    return len(elements)


@scalar(
    "array_join", resolve=takes(array(STRING), STRING, Kind.STRING_ONLY, gives=STRING, optional=1)
)
def _array_join(texts: tuple[str | None, ...], separator: str, missing: str | None = None) -> str:
    shown = (missing if text is None else text for text in texts)
    return separator.join(text for text in shown if text is not None)


# Searching


def _element_type(
    left: Type,
    right: Type,
    meet: Callable[[Type, Type], Type | None] = tightest_common_type,
) -> Type | None:
    """The type that elements meet in: Spark's older rules, which it kept for arrays."""
    if FLOAT in (left, right) and (is_integral(left) or is_integral(right)):
        return FLOAT
    return None if {left, right} == {DAYS, DAY_TIME} else meet(left, right)


def _resolve_element_search(
    gives: Type | Callable[[tuple[Type, ...]], Type],
    meet: Callable[[Type, Type], Type | None] = tightest_common_type,
) -> Resolve:
    """Resolve (array, element), the two of one type."""

    def resolve(name: str, arguments: Sequence[Expression]) -> Signature:
        if len(arguments) != 2:
            raise wrong_count(name, 2, 2, len(arguments))
        element = _some_array(name, arguments[0]).element
        met = _element_type(element, arguments[1].type, meet)
        if met is None:
            raise wrong_type(name, 1, f"an element of {arguments[0].type}", arguments[1])
        types = (array(met), met)
        return Signature(types, gives if isinstance(gives, Type) else gives(types))

    return resolve


def _resolve_contains(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = _resolve_element_search(BOOLEAN, common_type_without_strings)(name, arguments)
    if arguments[1].type == NULL:
        raise QueryError(f"{name} cannot search for NULL", arguments[1].span)
    return signature


@scalar("array_contains", resolve=_resolve_contains)
def _array_contains(elements: Elements, wanted: Any) -> bool | None:
    key = sort_key(wanted)
    if any(element is not None and sort_key(element) == key for element in elements):
        return True
    return None if None in elements else False


@scalar("array_position", resolve=_resolve_element_search(BIGINT))
def _array_position(elements: Elements, wanted: Any) -> int:
    key = sort_key(wanted)
    return next((i for i, e in enumerate(elements, 1) if sort_key(e) == key), 0)


@scalar("array_remove", resolve=_resolve_element_search(same_as_first))
def _array_remove(elements: Elements, unwanted: Any) -> Elements:
    key = sort_key(unwanted)
    return tuple(element for element in elements if sort_key(element) != key)


@scalar("array_compact", resolve=takes(Kind.ARRAY, gives=same_as_first))
def _array_compact(elements: Elements) -> Elements:
    return tuple(element for element in elements if element is not None)


# Adding


@scalar("array_append", resolve=_resolve_element_search(same_as_first), nulls=Nulls.SEEN)
def _array_append(elements: Elements | None, element: Any) -> Elements | None:
    return None if elements is None else (*elements, element)


@scalar("array_prepend", resolve=_resolve_element_search(same_as_first), nulls=Nulls.SEEN)
def _array_prepend(elements: Elements | None, element: Any) -> Elements | None:
    return None if elements is None else (element, *elements)


def _resolve_insert(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) != 3:
        raise wrong_count(name, 3, 3, len(arguments))
    pair = _resolve_element_search(same_as_first)(name, (arguments[0], arguments[2]))
    if arguments[1].type == NULL or Kind.AT_MOST_INT.adapt(arguments[1].type) is None:
        raise wrong_type(name, 1, Kind.AT_MOST_INT.value, arguments[1])
    return Signature((pair.arguments[0], INT, pair.arguments[1]), pair.result)


@scalar("array_insert", resolve=_resolve_insert, nulls=Nulls.SEEN)
def _array_insert(elements: Elements | None, position: int | None, new: Any) -> Elements | None:
    """Before a position; -1 is after the last. What lies between is filled with NULL."""
    if elements is None or position is None:
        return None
    if position == 0:
        raise Failure("elements count from 1, or from -1 at the end")
    size = len(elements)
    refuse_longer(abs(position), LONGEST_ARRAY)
    if position > 0:
        gap = (None,) * (position - 1 - size)
        return (*elements[: position - 1], *gap, new, *elements[position - 1 :])
    at = size + position + 1
    if at >= 0:
        return (*elements[:at], new, *elements[at:])
    return (new, *(None,) * -at, *elements)


# Sets of elements


def _keyed(elements: Elements) -> dict[Any, Any]:
    """Each distinct element under its key, in the order of their first places."""
    keyed: dict[Any, Any] = {}
    for element in elements:
        keyed.setdefault(sort_key(element), element)
    return keyed


def _two_arrays(gives: Type | Callable[[tuple[Type, ...]], Type]) -> Resolve:
    return takes_common(gives=gives, at_most=2, meet=_meeting_arrays)


def _meeting_arrays(left: Type, right: Type) -> Type | None:
    if left == NULL:  # where the search for a common type begins
        return right if isinstance(right, ArrayType) else None
    if not isinstance(left, ArrayType) or not isinstance(right, ArrayType):
        return None
    element = _element_type(left.element, right.element)
    return array(element) if element is not None else None


@scalar("array_distinct", resolve=takes(Kind.ARRAY, gives=same_as_first))
def _array_distinct(elements: Elements) -> Elements:
    return tuple(_keyed(elements).values())


@scalar("array_union", resolve=_two_arrays(same_as_first))
def _array_union(a: Elements, b: Elements) -> Elements:
    return _array_distinct(a + b)


@scalar("array_intersect", resolve=_two_arrays(same_as_first))
def _array_intersect(a: Elements, b: Elements) -> Elements:
    others = _keyed(b)
    return tuple(element for key, element in _keyed(a).items() if key in others)


@scalar("array_except", resolve=_two_arrays(same_as_first))
def _array_except(a: Elements, b: Elements) -> Elements:
    others = _keyed(b)
    return tuple(element for key, element in _keyed(a).items() if key not in others)


@scalar("arrays_overlap", resolve=_two_arrays(BOOLEAN))
def _arrays_overlap(a: Elements, b: Elements) -> bool | None:
    if _keyed(_array_compact(a)).keys() & _keyed(b).keys():
        return True
    return None if a and b and None in (*a, *b) else False


# Order


@scalar("array_min", resolve=takes(Kind.ARRAY, gives=_element))
def _array_min(elements: Elements) -> Any:
    return min(_array_compact(elements), key=sort_key, default=None)


@scalar("array_max", resolve=takes(Kind.ARRAY, gives=_element))
def _array_max(elements: Elements) -> Any:
    return max(_array_compact(elements), key=sort_key, default=None)


def _resolve_array_sort(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.ARRAY, gives=same_as_first)(name, arguments)
    _some_array(name, arguments[0])
    return signature


@scalar("array_sort", resolve=_resolve_array_sort)
def _array_sort(elements: Elements) -> Elements:
    """Ascending, NULL last."""
    return tuple(sorted(elements, key=lambda element: (element is None, sort_key(element))))


def _resolve_sort_array(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.ARRAY, BOOLEAN, gives=same_as_first, optional=1)(name, arguments)
    if len(arguments) == 2 and arguments[1].type not in (BOOLEAN, NULL):
        raise wrong_type(name, 1, str(BOOLEAN), arguments[1])
    return signature


@scalar("sort_array", resolve=_resolve_sort_array)
def _sort_array(elements: Elements, ascending: bool = True) -> Elements:
    """NULL comes first, or last when descending."""
    return tuple(sorted(elements, key=sort_key, reverse=not ascending))
