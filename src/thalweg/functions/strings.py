"""Text: its length, its parts, its case, and where things are in it.

Characters are Unicode code points, positions count from 1, and most functions
do the same on BINARY with bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thalweg.coercion import common_type_of, converts_implicitly
from thalweg.errors import QueryError
from thalweg.functions.constants import constant_text
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
    wrong_count,
    wrong_type,
)
from thalweg.plan.expressions import Expression, Literal
from thalweg.types import BIGINT, BINARY, BOOLEAN, INT, STRING, ArrayType, Type, array

# Functions that can blow up their arguments refuse longer results: a text of 128 MiB,
# or an array that takes about as much.
LONGEST_TEXT = 2**27
LONGEST_ARRAY = 2**22


def refuse_longer(length: int, longest: int = LONGEST_TEXT) -> None:
    """Fail before a text or an array of this length is built."""
    if length > longest:
        raise Failure(f"the result would have a length of {length:,}; {longest:,} is allowed")


# Length


@scalar(
    "length",
    "char_length",
    "character_length",
    "len",
    resolve=takes(Kind.TEXT, gives=INT),
)
def _length(text: str | bytes) -> int:
    return len(text)


def _bytes_of(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@scalar("octet_length", resolve=takes(Kind.TEXT, gives=INT))
def _octet_length(text: str | bytes) -> int:
    return len(_bytes_of(text))


@scalar("bit_length", resolve=takes(Kind.TEXT, gives=INT))
def _bit_length(text: str | bytes) -> int:
    return 8 * len(_bytes_of(text))


# Case

_ONE_TEXT = takes(STRING, gives=STRING)


@scalar("upper", "ucase", resolve=_ONE_TEXT)
def _upper(text: str) -> str:
    return text.upper()


@scalar("lower", "lcase", resolve=_ONE_TEXT)
def _lower(text: str) -> str:
    return text.lower()


@scalar("initcap", resolve=_ONE_TEXT)
def _initcap(text: str) -> str:
    """Words are what stands between spaces."""
    return " ".join(word[:1].title() + word[1:] for word in text.lower().split(" "))


# Trimming. Spark's older form puts the characters first: trim('x', 'xax').


@scalar("trim", resolve=takes(STRING, STRING, gives=STRING, optional=1))
def _trim(first: str, text: str | None = None) -> str:
    return first.strip(" ") if text is None else text.strip(first)


@scalar("ltrim", resolve=takes(STRING, STRING, gives=STRING, optional=1))
def _ltrim(first: str, text: str | None = None) -> str:
    return first.lstrip(" ") if text is None else text.lstrip(first)


@scalar("rtrim", resolve=takes(STRING, STRING, gives=STRING, optional=1))
def _rtrim(first: str, text: str | None = None) -> str:
    return first.rstrip(" ") if text is None else text.rstrip(first)


@scalar("btrim", resolve=takes(STRING, STRING, gives=STRING, optional=1))
@scalar("trim of", resolve=takes(STRING, STRING, gives=STRING))
def _trim_of(text: str, characters: str = " ") -> str:
    return text.strip(characters)


@scalar("ltrim of", resolve=takes(STRING, STRING, gives=STRING))
def _ltrim_of(text: str, characters: str) -> str:
    return text.lstrip(characters)


@scalar("rtrim of", resolve=takes(STRING, STRING, gives=STRING))
def _rtrim_of(text: str, characters: str) -> str:
    return text.rstrip(characters)


# Parts


@scalar(
    "substring",
    "substr",
    resolve=takes(Kind.TEXT, INT, INT, gives=same_as_first, optional=1),
)
def _substring(text: Any, position: int, length: int = 2**31 - 1) -> Any:
    """From a position, counted from the end if negative; one before the start eats length."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


@scalar("left", resolve=takes(Kind.TEXT, INT, gives=same_as_first))
def _left(text: Any, length: int) -> Any:
    return text[: max(length, 0)]


@scalar("right", resolve=takes(STRING, INT, gives=STRING))
def _right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


@scalar("substring_index", resolve=takes(STRING, STRING, INT, gives=STRING))
def _substring_index(text: str, delimiter: str, count: int) -> str:
    """What stands before the count-th delimiter, or after it from the end; they may overlap."""
    if not delimiter or not count:
        return ""
    if count > 0:
        at = -1
        for _ in range(min(count, len(text) + 1)):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text)
    for _ in range(min(-count, len(text) + 1)):
        at = text.rfind(delimiter, 0, at + len(delimiter) - 1) if at > 0 else -1
        if at < 0:
            return text
    return text[at + len(delimiter) :]


@scalar("split_part", resolve=takes(STRING, STRING, INT, gives=STRING))
def _split_part(text: str, delimiter: str, position: int) -> str:
    if position == 0:
        raise Failure("parts count from 1, or from -1 at the end")
    parts = text.split(delimiter) if delimiter else [text]
    index = position - 1 if position > 0 else len(parts) + position
    return parts[index] if 0 <= index < len(parts) else ""


def _resolve_overlay(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(Kind.TEXT, Kind.TEXT, INT, INT, gives=same_as_first, optional=1)(
        name, arguments
    )
    if signature.arguments[0] != signature.arguments[1]:
        raise wrong_type(name, 1, str(signature.arguments[0]), arguments[1])
    return signature


@scalar("overlay", resolve=_resolve_overlay)
def _overlay(text: Any, new: Any, position: int, length: int = -1) -> Any:
    replaced = length if length >= 0 else len(new)
    return _substring(text, 1, position - 1) + new + _substring(text, position + replaced)


# Joining and repeating


def _resolve_concat(name: str, arguments: Sequence[Expression]) -> Signature:
    types = [argument.type for argument in arguments]
    if any(isinstance(type_, ArrayType) for type_ in types):
        common = common_type_of(types)
        if common is None or not all(isinstance(type_, ArrayType) for type_ in types):
            listing = ", ".join(map(str, types))
            raise QueryError(
                f"{name} joins texts or arrays, not both", detail=f"It was given {listing}."
            )
        return Signature((common,) * len(types), common)
    if types and set(types) == {BINARY}:
        return Signature(tuple(types), BINARY)
    return takes(STRING, gives=STRING, optional=1, repeats=True)(name, arguments)


@scalar_by_type("concat", resolve=_resolve_concat)
def _concat(signature: Signature) -> Compute:
    if isinstance(signature.result, ArrayType):
        return lambda *arrays: tuple(element for array in arrays for element in array)
    if signature.result == BINARY:
        return lambda *parts: b"".join(parts)
    return lambda *parts: "".join(parts)


def _resolve_concat_ws(name: str, arguments: Sequence[Expression]) -> Signature:
    if not arguments:
        raise wrong_count(name, 1, None, 0)
    types: list[Type] = []
    for i, argument in enumerate(arguments):
        many = i > 0 and isinstance(argument.type, ArrayType)
        wanted: Type = array(STRING) if many else STRING
        if not converts_implicitly(argument.type, wanted):
            raise wrong_type(name, i, "STRING or an array of them" if i else "STRING", argument)
        types.append(wanted)
    return Signature(tuple(types), STRING)


@scalar("concat_ws", resolve=_resolve_concat_ws, nulls=Nulls.SEEN)
def _concat_ws(separator: str | None, *parts: Any) -> str | None:
    if separator is None:
        return None
    texts = [t for part in parts for t in (part if isinstance(part, tuple) else (part,))]
    return separator.join(text for text in texts if text is not None)


@scalar("repeat", resolve=takes(STRING, INT, gives=STRING))
def _repeat(text: str, times: int) -> str:
    refuse_longer(len(text) * times)
    return text * times


@scalar("space", resolve=takes(INT, gives=STRING))
def _space(length: int) -> str:
    return _repeat(" ", length)


def _resolve_pad(name: str, arguments: Sequence[Expression]) -> Signature:
    given = takes(Kind.TEXT, INT, Kind.TEXT, gives=STRING, optional=1)(name, arguments).arguments
    texts = {type_ for type_ in given if type_ != INT}
    type_ = BINARY if texts == {BINARY} else STRING
    return Signature(tuple(INT if i == 1 else type_ for i in range(len(given))), type_)


@scalar("lpad", resolve=_resolve_pad)
def _lpad(text: Any, length: int, pad: Any = None) -> Any:
    return _padding(text, length, pad) + text[: max(length, 0)]


@scalar("rpad", resolve=_resolve_pad)
def _rpad(text: Any, length: int, pad: Any = None) -> Any:
    return text[: max(length, 0)] + _padding(text, length, pad)


def _padding(text: Any, length: int, pad: Any) -> Any:
    if pad is None:
        pad = " " if isinstance(text, str) else b"\0"
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[:0]
    refuse_longer(length)
    return (pad * (missing // len(pad) + 1))[:missing]


def _resolve_reverse(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) == 1 and isinstance(arguments[0].type, ArrayType):
        return Signature((arguments[0].type,), arguments[0].type)
    return takes(STRING, gives=STRING)(name, arguments)


@scalar("reverse", resolve=_resolve_reverse)
def _reverse(value: Any) -> Any:
    return value[::-1]


# Replacing


@scalar("replace", resolve=takes(STRING, STRING, STRING, gives=STRING, optional=1))
def _replace(text: str, search: str, new: str = "") -> str:
    if not search:
        return text
    if len(new) > len(search):
        refuse_longer(len(text) + text.count(search) * (len(new) - len(search)))
    return text.replace(search, new)


@scalar("translate", resolve=takes(STRING, STRING, STRING, gives=STRING))
def _translate(text: str, characters: str, new: str) -> str:
    """Character by character; those without a counterpart are dropped."""
    table: dict[int, str] = {}
    for i, character in enumerate(characters):
        table.setdefault(ord(character), new[i : i + 1])
    return text.translate(table)


def _resolve_mask(name: str, arguments: Sequence[Expression]) -> Signature:
    for argument in arguments[1:]:
        character = constant_text(argument)
        if character is not None and len(character) != 1:
            raise QueryError(f"{name} puts in single characters", argument.span)
        if character is None and not (isinstance(argument, Literal) and argument.value is None):
            raise QueryError(f"{name} needs constant characters", argument.span)
    return takes(*(STRING,) * 5, gives=STRING, optional=4)(name, arguments)


@scalar("mask", resolve=_resolve_mask, nulls=Nulls.SEEN)
def _mask(
    text: str | None,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> str | None:
    """Letters and digits covered up; NULL keeps a kind of character as it is."""
    if text is None:
        return None

    def covered(character: str) -> str | None:
        if character.isupper():
            return upper
        if character.islower():
            return lower
        return digit if character.isdecimal() else other

    return "".join(covered(c) or c for c in text)


# Searching


def _two_texts(name: str, arguments: Sequence[Expression]) -> Signature:
    """Bytes in bytes, or else text in text."""
    given = takes(Kind.TEXT, Kind.TEXT, gives=BOOLEAN)(name, arguments).arguments
    type_ = BINARY if set(given) == {BINARY} else STRING
    return Signature((type_, type_), BOOLEAN)


@scalar("startswith", resolve=_two_texts)
def _startswith(text: Any, start: Any) -> bool:
    return bool(text.startswith(start))


@scalar("endswith", resolve=_two_texts)
def _endswith(text: Any, end: Any) -> bool:
    return bool(text.endswith(end))


@scalar("contains", resolve=_two_texts)
def _contains(text: Any, part: Any) -> bool:
    return part in text


@scalar("instr", resolve=takes(STRING, STRING, gives=INT))
def _instr(text: str, part: str) -> int:
    return text.find(part) + 1


@scalar(
    "locate",
    "position",
    "charindex",
    resolve=takes(STRING, STRING, INT, gives=INT, optional=1),
    nulls=Nulls.SEEN,
)
def _locate(part: str | None, text: str | None, start: int | None = 1) -> int | None:
    """0 if it is not there, and also if `start` is NULL, as in Spark."""
    if start is None:
        return 0
    if part is None or text is None:
        return None
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


@scalar("find_in_set", resolve=takes(STRING, STRING, gives=INT))
def _find_in_set(wanted: str, listing: str) -> int:
    """The position in a list separated by commas."""
    parts = listing.split(",")
    return parts.index(wanted) + 1 if wanted in parts else 0


def _resolve_elt(name: str, arguments: Sequence[Expression]) -> Signature:
    if len(arguments) < 2:
        raise wrong_count(name, 2, None, len(arguments))
    type_ = BINARY if {a.type for a in arguments[1:]} == {BINARY} else STRING
    return takes(INT, type_, gives=type_, repeats=True)(name, arguments)


@scalar("elt", resolve=_resolve_elt, nulls=Nulls.SEEN)
def _elt(index: int | None, *values: Any) -> Any:
    if index is None:
        return None
    if not 1 <= index <= len(values):
        raise Failure(f"there is no value {index} among {len(values)}")
    return values[index - 1]


# Likeness


@scalar("levenshtein", resolve=takes(STRING, STRING, INT, gives=INT, optional=1))
def _levenshtein(a: str, b: str, most: int | None = None) -> int:
    """Insertions, deletions and replacements from one to the other; -1 if more than `most`."""
    costs = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, costs[0] = costs[0], i
        for j, y in enumerate(b, 1):
            least = min(diagonal + (x != y), costs[j] + 1, costs[j - 1] + 1)
            diagonal, costs[j] = costs[j], least
    return costs[-1] if most is None or costs[-1] <= most else -1


# The code of each letter from A to Z; 0 separates equal codes and 7 does not.
_SOUNDS = "01230127022455012623017202"


@scalar("soundex", resolve=_ONE_TEXT)
def _soundex(text: str) -> str:
    letters = [ord(c) - 65 if c.isascii() and c.isalpha() else -1 for c in text.upper()]
    if not letters or letters[0] < 0 or len(letters) != len(text):
        return text
    code, last = text[0].upper(), _SOUNDS[letters[0]]
    for letter in letters[1:]:
        sound = _SOUNDS[letter] if letter >= 0 else "0"
        if sound == "7":
            continue
        if sound not in ("0", last):
            code += sound
        last = sound
    return code[:4].ljust(4, "0")


@scalar("luhn_check", resolve=takes(STRING, gives=BOOLEAN))
def _luhn_check(digits: str) -> bool:
    if not (digits.isascii() and digits.isdigit()):
        return False
    total = 0
    for i, digit in enumerate(map(int, reversed(digits))):
        doubled = digit * 2 if i % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


# Code points


@scalar("ascii", resolve=takes(STRING, gives=INT))
def _ascii(text: str) -> int:
    """The code point of the first character; 0 if there is none."""
    return ord(text[0]) if text else 0


@scalar("chr", "char", resolve=takes(BIGINT, gives=STRING))
def _chr(code: int) -> str:
    return chr(code & 0xFF) if code >= 0 else ""
