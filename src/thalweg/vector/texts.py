"""Functions of text and decimals by Arrow's kernels.

Only where these agree with the definition on every value: constant patterns and
positions, and for some functions columns of ASCII text alone. A kernel gives
None where it does not apply to what it was given, and the definition takes over.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from thalweg.plan.expressions import Call, Cast, Expression, Literal
from thalweg.types import (
    BINARY,
    BOOLEAN,
    STRING,
    DecimalType,
    Type,
    decimal_holding,
    is_integral,
    to_arrow,
)

TextKernel = Callable[..., pa.Array | None]

# No row of a column this large can grow beyond the longest text that functions give.
_LARGE_BYTES = 2**27


def text_kernel(call: Call) -> tuple[TextKernel, tuple[Expression, ...]] | None:
    """The kernel of a call, and the arguments it takes; the others are constants in it."""
    types = tuple(argument.type for argument in call.arguments)
    if len(types) == 2 and types[0] == types[1] and _is_plain(types[0]):
        compare = _COMPARISONS.get(call.function)
        if compare is not None:
            return compare, call.arguments
    if call.function in ("concat", "||") and set(types) == {STRING}:
        return _joined, call.arguments
    make = _OF_TEXT.get(call.function)
    if make is None or types[0] != STRING:
        return None
    rest = [a.value for a in call.arguments[1:] if isinstance(a, Literal) and a.value is not None]
    if len(rest) < len(types) - 1:
        return None
    kernel = make(*rest)
    return None if kernel is None else (kernel, call.arguments[:1])


def conversion_kernel(cast: Cast) -> TextKernel | None:
    """The kernel of a conversion to or from text, or to a decimal with no fewer digits."""
    source, target = cast.input.type, cast.type
    if target == STRING and (is_integral(source) or source == BOOLEAN):
        return lambda numbers: numbers.cast(pa.string())
    if isinstance(target, DecimalType) and (is_integral(source) or isinstance(source, DecimalType)):
        given = decimal_holding(source)
        if target.scale >= given.scale:
            return lambda numbers: _as_decimal(numbers, given, target)
    if source == STRING and is_integral(target):
        return lambda texts: _read(texts, r"^-?[0-9]{1,18}$", target)
    return None


def _is_plain(type_: Type) -> bool:
    return type_ in (STRING, BINARY) or isinstance(type_, DecimalType)


def _as_decimal(numbers: pa.Array, given: DecimalType, target: DecimalType) -> pa.Array | None:
    try:
        return numbers.cast(to_arrow(given)).cast(to_arrow(target))
    except pa.ArrowInvalid:  # a value does not fit
        return None


def _read(texts: pa.Array, form: str, target: Type) -> pa.Array | None:
    if pc.all(pc.match_substring_regex(texts, form)).as_py() is False:
        return None
    try:
        return texts.cast(to_arrow(target))
    except pa.ArrowInvalid:
        return None


def _joined(*texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "")


def is_ascii(texts: pa.Array) -> bool:
    """Whether all characters are single bytes."""
    _, _, data = texts.buffers()
    if data is None:
        return True
    content = np.frombuffer(data, np.uint8)
    return not bool(content.size) or int(content.max()) < 128


def _on_ascii(kernel: Callable[[pa.Array], pa.Array]) -> TextKernel:
    return lambda texts: kernel(texts) if is_ascii(texts) else None


def _like(pattern: str, escape: str = "\\") -> TextKernel:
    arrows = _arrow_pattern(pattern, escape)
    return lambda texts: pc.match_like(texts, arrows)


def _ilike(pattern: str, escape: str = "\\") -> TextKernel | None:
    if not pattern.isascii() or escape.lower() != escape:
        return None
    arrows = _arrow_pattern(pattern.lower(), escape)
    return _on_ascii(lambda texts: pc.match_like(pc.ascii_lower(texts), arrows))


def _arrow_pattern(pattern: str, escape: str) -> str:
    """A pattern whose escape is a backslash, as Arrow has it."""
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append("\\" + next(characters))
        else:
            parts.append("\\\\" if character == "\\" else character)
    return "".join(parts)


def _rlike(pattern: str) -> TextKernel:
    return lambda texts: pc.match_substring_regex(texts, pattern)


def _substring(position: int, length: int = 2**31 - 1) -> TextKernel | None:
    if position < 0:
        return _slice(position, None) if length == 2**31 - 1 else None
    start = max(position - 1, 0)
    return _slice(start, start + max(length, 0))


def _slice(start: int, stop: int | None) -> TextKernel:
    return lambda texts: pc.utf8_slice_codeunits(texts, start, stop)


def _right(length: int) -> TextKernel:
    return _slice(-length, None) if length > 0 else _slice(0, 0)


def _trimmed(function: Callable[..., pa.Array]) -> Callable[..., TextKernel | None]:
    """Of one argument only: with two, the first is what to trim."""

    def make(*characters: str) -> TextKernel | None:
        return None if characters else (lambda texts: function(texts, " "))

    return make


def _trimmed_of(function: Callable[..., pa.Array]) -> Callable[..., TextKernel | None]:
    def make(characters: str = " ") -> TextKernel | None:
        return (lambda texts: function(texts, characters)) if characters.isascii() else None

    return make


def _replace(search: str, new: str = "") -> TextKernel | None:
    if not search:
        return None

    def kernel(texts: pa.Array) -> pa.Array | None:
        if len(new) > len(search) and texts.nbytes * (1 + len(new)) > _LARGE_BYTES:
            return None
        return pc.replace_substring(texts, search, new)

    return kernel


def _instr(part: str) -> TextKernel:
    return _on_ascii(lambda texts: pc.add(pc.find_substring(texts, part), np.int32(1)))


def _without(kernel: Callable[[pa.Array], pa.Array]) -> Callable[[], TextKernel]:
    return lambda: kernel


_COMPARISONS: dict[str, TextKernel] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

# Given the constants after the first argument.
_OF_TEXT: dict[str, Callable[..., TextKernel | None]] = {
    "like": _like,
    "ilike": _ilike,
    **dict.fromkeys(("rlike", "regexp", "regexp_like"), _rlike),
    "startswith": lambda start: lambda texts: pc.starts_with(texts, start),
    "endswith": lambda end: lambda texts: pc.ends_with(texts, end),
    "contains": lambda part: lambda texts: pc.match_substring(texts, part),
    **dict.fromkeys(("length", "char_length", "character_length", "len"), _without(pc.utf8_length)),
    "octet_length": _without(pc.binary_length),
    **dict.fromkeys(("upper", "ucase"), _without(_on_ascii(pc.ascii_upper))),
    **dict.fromkeys(("lower", "lcase"), _without(_on_ascii(pc.ascii_lower))),
    "reverse": _without(_on_ascii(pc.ascii_reverse)),
    "trim": _trimmed(pc.ascii_trim),
    "ltrim": _trimmed(pc.ascii_ltrim),
    "rtrim": _trimmed(pc.ascii_rtrim),
    **dict.fromkeys(("btrim", "trim of"), _trimmed_of(pc.ascii_trim)),
    "ltrim of": _trimmed_of(pc.ascii_ltrim),
    "rtrim of": _trimmed_of(pc.ascii_rtrim),
    **dict.fromkeys(("substring", "substr"), _substring),
    "left": lambda length: _slice(0, max(length, 0)),
    "right": _right,
    "replace": _replace,
    "instr": _instr,
}
