"""JSON documents as Python values, and back to compact text.

Numbers keep all their digits: integers are `int`, others `decimal.Decimal`. A
string can name half a character (`"\\ud83d"` alone), and such a text could never
be written out again: in a function it becomes a question mark, in a source the
row is refused. So is an object that has a key twice.
"""

from __future__ import annotations

import base64
import binascii
import decimal as dec
import json
import re
from collections import Counter
from typing import Any, NoReturn

from thalweg.functions.cast import double_text
from thalweg.functions.registry import Failure

_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {
    **{chr(code): f"\\u{code:04X}" for code in range(0x20)},
    "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_ESCAPED = str.maketrans(_ESCAPES)


class Pairs(list[tuple[str, Any]]):
    """The members of an object in their order; a name may stand there twice."""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(
    parse_float=dec.Decimal, parse_constant=_refuse_constant, object_pairs_hook=Pairs
)
_WITH_NAN = json.JSONDecoder(parse_float=dec.Decimal, object_pairs_hook=Pairs)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Failure(f'the key "{shown(twice)}" is there twice')
    return members


_WHOLE = json.JSONDecoder(parse_float=dec.Decimal, object_pairs_hook=_without_duplicates)


def parse_json(text: str) -> Any:
    """A document that is the whole text; objects are dictionaries."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Failure("the line is not UTF-8") from None
    return _parsed(text, _whole_document, "the line is not JSON")


def _whole_document(text: str) -> Any:
    document = _WHOLE.decode(text)
    if _HALF_CHARACTER.search(text) and _mended(document) != document:
        raise Failure("a text has half a surrogate pair")
    return document


def parse_leading_json(text: str, *, allow_nan: bool = False) -> Any:
    """The document at the start of a text, whatever follows; objects are `Pairs`."""
    decoder = _WITH_NAN if allow_nan else _STRICT
    start = len(text) - len(text.lstrip(" \t\r\n"))

    def leading_document(text: str) -> Any:
        document, _ = decoder.raw_decode(text, start)
        return _mended(document) if _HALF_CHARACTER.search(text) else document

    return _parsed(text, leading_document, "the text is not JSON")


def _parsed(text: str, decode: Any, wrong: str) -> Any:
    try:
        return decode(text)
    except (ValueError, dec.InvalidOperation):
        raise Failure(wrong) from None
    except RecursionError:
        raise Failure("the JSON is nested too deeply") from None


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("?", value)
    if isinstance(value, Pairs):
        return Pairs((_mended(name), _mended(part)) for name, part in value)
    if isinstance(value, list):
        return [_mended(part) for part in value]
    if isinstance(value, dict):
        return {_mended(name): _mended(part) for name, part in value.items()}
    return value


def quoted(text: str) -> str:
    return '"' + text.translate(_ESCAPED) + '"'


def compact_text(value: Any) -> str:
    """A parsed document as text without spaces; fractions as Java prints doubles."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float | dec.Decimal):
        return double_text(float(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Pairs | dict):
        members = value if isinstance(value, Pairs) else value.items()
        return "{" + ",".join(f"{quoted(name)}:{compact_text(v)}" for name, v in members) + "}"
    return "[" + ",".join(map(compact_text, value)) + "]"


def expect(value: Any, kind: type[Any], what: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise Failure(f"{shown(value)} is not {what}")
    return value


def shown(value: Any) -> str:
    """The start of a value, for messages."""
    return (value if isinstance(value, str) else compact_text(value))[:60]


def number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | dec.Decimal):
        raise Failure(f"{shown(value)} is not a number")
    return value


def from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(expect(value, str, "a text in base 64"), validate=True)
    except (binascii.Error, ValueError):
        raise Failure(f"{shown(value)} is not base 64") from None
