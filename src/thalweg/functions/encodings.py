"""Text as bytes and back: character sets, base 64, and what URLs need."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote_plus, unquote_plus

from thalweg.functions.registry import Failure, Kind, scalar, takes
from thalweg.types import BINARY, BOOLEAN, STRING

# Character sets

_CODECS = {
    "us-ascii": "ascii",
    "iso-8859-1": "latin-1",
    "utf-8": "utf-8",
    "utf-16be": "utf-16-be",
    "utf-16le": "utf-16-le",
    "utf-16": "utf-16-be",
    "utf-32": "utf-32-be",
}
_MARKS = {
    "utf-16": ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le")),
    "utf-32": ((b"\0\0\xfe\xff", "utf-32-be"), (b"\xff\xfe\0\0", "utf-32-le")),
}


def _codec(charset: str) -> str:
    name = charset.lower()
    if name not in _CODECS:
        raise Failure(f"{charset!r} is not one of {', '.join(_CODECS)}")
    return _CODECS[name]


@scalar("encode", resolve=takes(STRING, STRING, gives=BINARY))
def _encode(text: str, charset: str) -> bytes:
    mark = b"\xfe\xff" if charset.lower() == "utf-16" and text else b""
    try:
        return mark + text.encode(_codec(charset))
    except UnicodeError:
        raise Failure(f"{charset} lacks a character of the text") from None


@scalar("decode", resolve=takes(BINARY, STRING, gives=STRING))
def _decode(data: bytes, charset: str) -> str:
    codec = _codec(charset)
    for mark, marked in _MARKS.get(charset.lower(), ()):
        if data.startswith(mark):
            data, codec = data[len(mark) :], marked
            break
    try:
        return data.decode(codec)
    except UnicodeError:
        raise Failure(f"the bytes are not {charset}") from None


@scalar("is_valid_utf8", resolve=takes((STRING, BINARY), gives=BOOLEAN))
def _is_valid_utf8(value: str | bytes) -> bool:
    if isinstance(value, str):
        return True
    try:
        value.decode()
    except UnicodeError:
        return False
    return True


# Base 64, in lines of 76 characters as in MIME

_LINE = 76
_NOT_BASE_64 = re.compile(rb"[^A-Za-z0-9+/=]")
_PADDED = re.compile(rb"([^=]*)(=?)(=?)")


@scalar("base64", resolve=takes(BINARY, gives=STRING))
def _base64(data: bytes) -> str:
    text = base64.b64encode(data).decode()
    return "\r\n".join(text[i : i + _LINE] for i in range(0, len(text), _LINE))


@scalar("unbase64", resolve=takes(STRING, gives=BINARY))
def _unbase64(text: str) -> bytes:
    """Characters that are not base 64 are skipped; missing padding is forgiven."""
    found = _PADDED.match(_NOT_BASE_64.sub(b"", text.encode("utf-8", "replace")))
    assert found is not None, "the pattern matches everything"
    body, first, second = found.groups()
    rest = len(body) % 4
    wrong = rest == 1 or (first and rest == 0) or (first and rest == 2 and not second)
    if wrong:
        raise Failure("the text is not base 64")
    return base64.b64decode(body + b"=" * (-len(body) % 4))


# URLs

_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")


@scalar("url_encode", resolve=takes(STRING, gives=STRING))
def _url_encode(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


@scalar("url_decode", resolve=takes(STRING, gives=STRING))
def _url_decode(text: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise Failure(f"{text!r} has a % without two digits after it")
    return unquote_plus(text)


_URI = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_AUTHORITY = re.compile(r"(?:([^@]*)@)?(\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9.-]+)(?::(\d*))?")
_NEVER_IN_URI = re.compile(r"[\x00-\x20\x7f\"<>\\^`{|}]")


_TEXT = Kind.STRING_ONLY


@scalar("parse_url", resolve=takes(_TEXT, _TEXT, _TEXT, gives=STRING, optional=1))
def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """A part of a URL, or one value of its query."""
    found = _URI.fullmatch(url)
    if not found or _NEVER_IN_URI.search(url) or _BAD_ESCAPE.search(url):
        raise Failure(f"{url!r} is not a URL")
    scheme, authority, path, query, fragment = found.groups()
    if scheme is not None and not _SCHEME.fullmatch(scheme):
        raise Failure(f"{url!r} is not a URL")
    opaque = scheme is not None and authority is None and not path.startswith("/")
    if scheme is not None and not (authority or path or query):
        raise Failure(f"{url!r} is not a URL")
    if key is not None:
        return _query_value(query, key) if part == "QUERY" and not opaque else None
    user, host = _user_and_host(authority)
    parts = {
        "PROTOCOL": scheme,
        "AUTHORITY": authority or None,
        "USERINFO": user,
        "HOST": host,
        "PATH": None if opaque else path,
        "FILE": None if opaque else path if query is None else f"{path}?{query}",
        "QUERY": None if opaque else query,
        "REF": fragment,
    }
    return parts.get(part)


def _user_and_host(authority: str | None) -> tuple[str | None, str | None]:
    found = _AUTHORITY.fullmatch(authority or "")
    return (found[1], found[2]) if found else (None, None)


def _query_value(query: str | None, key: str) -> str | None:
    for pair in (query or "").split("&"):
        name, equals, value = pair.partition("=")
        if equals and name == key:
            return value
    return None
