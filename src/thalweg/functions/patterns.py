"""LIKE and regular expressions, all matched by RE2.

RE2 takes time linear in the text, whatever the pattern, so no row can stall a
query. The price: no look-ahead, look-behind, back references or possessive
quantifiers. Patterns that RE2 would read differently from Java, which Spark
uses, are refused; docs/functions.md lists what else differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from thalweg.errors import QueryError
from thalweg.functions.constants import constant_integer, constant_text
from thalweg.functions.linear_regex import literal_regex, regex_program
from thalweg.functions.registry import Failure, Resolve, Signature, scalar, takes
from thalweg.functions.strings import refuse_longer
from thalweg.plan.expressions import Expression
from thalweg.types import BOOLEAN, INT, STRING, array

_NOT_SUPPORTED = (
    "look-ahead, look-behind, back references, possessive quantifiers and nested classes "
    "are not supported"
)
# Quoted and escaped characters are matched first, so that they start no class.
_CLASS = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?(?P<body>(?:\\.|[^\]\\])*)", re.S)
_NESTING = re.compile(r"\\.|\[|&&", re.S)
_UNICODE_FLAG = re.compile(r"\(\?[a-z]*U")


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """The RE2 program of a Java pattern; raises `Failure` where there is none."""
    if _mixes_classes(pattern) or _UNICODE_FLAG.search(pattern):
        raise Failure(f"{pattern!r} has nested classes, && or the flag U: RE2 does not know them")
    return regex_program(pattern)


def _mixes_classes(pattern: str) -> bool:
    """Whether a class such as [a-z] holds another one or an intersection, as Java allows."""
    bodies = (found["body"] or "" for found in _CLASS.finditer(pattern))
    return any(part[0] in ("[", "&&") for body in bodies for part in _NESTING.finditer(body))


def _with_pattern(resolve: Resolve) -> Resolve:
    """Refuse a constant pattern, the second argument, that does not compile."""

    def resolve_checked(name: str, arguments: Sequence[Expression]) -> Signature:
        signature = resolve(name, arguments)
        pattern = constant_text(arguments[1])
        if pattern is not None:
            try:
                compiled(pattern)
            except Failure as failure:
                raise QueryError(str(failure), arguments[1].span, hint=_NOT_SUPPORTED) from None
        return signature

    return resolve_checked


def _matches(pattern: str, text: str) -> Iterator[Any]:
    """The matches as Java finds them, one after the other."""
    last = None
    for match in compiled(pattern).finditer(text):
        # RE2 for Python gives an empty match twice when it did not look for it there.
        if match.span() != last:
            last = match.span()
            yield match


# LIKE


@lru_cache(maxsize=512)
def _like_program(pattern: str, escape: str) -> Any:
    if len(escape) != 1:
        raise Failure("the escape of LIKE is a single character")
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped not in ("_", "%", escape):
                raise Failure(f"in {pattern!r}, {escape} must stand before _, % or itself")
            parts.append(literal_regex(escaped))
        else:
            parts.append({"_": ".", "%": ".*"}.get(character) or literal_regex(character))
    return regex_program("(?s)" + "".join(parts))


def _resolve_like(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(STRING, STRING, STRING, gives=BOOLEAN, optional=1)(name, arguments)
    pattern = constant_text(arguments[1])
    escape = constant_text(arguments[2]) if len(arguments) == 3 else "\\"
    if escape is not None:
        try:
            _like_program(pattern or "", escape)
        except Failure as failure:
            raise QueryError(str(failure), arguments[-1].span) from None
    return signature


@scalar("like", resolve=_resolve_like)
def _like(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like_program(pattern, escape).fullmatch(text) is not None


@scalar("ilike", resolve=_resolve_like)
def _ilike(text: str, pattern: str, escape: str = "\\") -> bool:
    return _like(text.lower(), pattern.lower(), escape)


# Finding


@scalar(
    "rlike",
    "regexp",
    "regexp_like",
    resolve=_with_pattern(takes(STRING, STRING, gives=BOOLEAN)),
)
def _rlike(text: str, pattern: str) -> bool:
    return compiled(pattern).search(text) is not None


def _group(match: Any, index: int) -> str:
    return match.group(index) or ""


def _checked_group(pattern: str, index: int) -> None:
    groups = compiled(pattern).groups
    if not 0 <= index <= groups:
        raise Failure(f"the pattern has the groups 0 to {groups}, not {index}")


@scalar(
    "regexp_extract",
    resolve=_with_pattern(takes(STRING, STRING, INT, gives=STRING, optional=1)),
)
def _regexp_extract(text: str, pattern: str, group: int = 1) -> str:
    _checked_group(pattern, group)
    match = compiled(pattern).search(text)
    return _group(match, group) if match else ""


@scalar(
    "regexp_extract_all",
    resolve=_with_pattern(takes(STRING, STRING, INT, gives=array(STRING), optional=1)),
)
def _regexp_extract_all(text: str, pattern: str, group: int = 1) -> tuple[str, ...]:
    _checked_group(pattern, group)
    return tuple(_group(match, group) for match in _matches(pattern, text))


@scalar("regexp_count", resolve=_with_pattern(takes(STRING, STRING, gives=INT)))
def _regexp_count(text: str, pattern: str) -> int:
    return sum(1 for _ in _matches(pattern, text))


@scalar("regexp_instr", resolve=_with_pattern(takes(STRING, STRING, INT, gives=INT, optional=1)))
def _regexp_instr(text: str, pattern: str, group: int = 0) -> int:
    """Where the first match starts; like Spark, whatever the group."""
    match = compiled(pattern).search(text)
    return int(match.start()) + 1 if match else 0


@scalar("regexp_substr", resolve=_with_pattern(takes(STRING, STRING, gives=STRING)))
def _regexp_substr(text: str, pattern: str) -> str | None:
    match = compiled(pattern).search(text)
    return _group(match, 0) or None if match else None


# Replacing and splitting


def _resolve_replace(name: str, arguments: Sequence[Expression]) -> Signature:
    signature = takes(STRING, STRING, STRING, INT, gives=STRING, optional=1)(name, arguments)
    if len(arguments) == 4:
        start = constant_integer(name, "position", arguments[3])
        if start is None or start < 1:
            raise QueryError(f"the position of {name} counts from 1", arguments[3].span)
    return signature


@scalar("regexp_replace", resolve=_with_pattern(_resolve_replace))
def _regexp_replace(text: str, pattern: str, replacement: str, start: int = 1) -> str:
    """In the replacement, $1 is a group and a backslash takes the next character as it is."""
    if start > 1 and start > len(text):
        return text
    kept, searched = text[: start - 1], text[start - 1 :]
    done, length = 0, 0
    parts = [kept]
    for match in _matches(pattern, searched):
        template = _template(replacement, match.re)
        parts.append(searched[done : match.start()])
        parts += (part if isinstance(part, str) else _group(match, part) for part in template)
        length += sum(map(len, parts[-len(template) - 1 :]))
        refuse_longer(length)
        done = match.end()
    return "".join([*parts, searched[done:]])


@lru_cache(maxsize=512)
def _template(replacement: str, program: Any) -> tuple[str | int, ...]:
    """Text and group numbers, in turn, of a replacement as Java writes it."""
    parts: list[str | int] = []
    text, position = "", 0
    while position < len(replacement):
        character = replacement[position]
        position += 1
        if character == "$":
            group, position = _group_reference(replacement, position, program)
            parts += [text, group]
            text = ""
            continue
        if character == "\\":
            if position == len(replacement):
                raise Failure("the replacement ends with a lone backslash")
            character = replacement[position]
            position += 1
        text += character
    return (*parts, text)


_GROUP_NAME = re.compile(r"\{([A-Za-z][A-Za-z0-9]*)\}")
_GROUP_NUMBER = re.compile(r"[0-9]+")


def _group_reference(replacement: str, position: int, program: Any) -> tuple[int, int]:
    """The group that $1 or ${name} means, and where the text goes on."""
    named = _GROUP_NAME.match(replacement, position)
    if named:
        if named[1] not in program.groupindex:
            raise Failure(f"the pattern has no group named {named[1]}")
        return program.groupindex[named[1]], named.end()
    digits = _GROUP_NUMBER.match(replacement, position)
    if not digits:
        raise Failure("$ in a replacement stands before the number of a group; write \\$ for $")
    group, used = int(digits[0][0]), 1
    # As many digits as still name a group: $10 is group 1 and a 0 if there are fewer than 10.
    while used < len(digits[0]) and int(digits[0][: used + 1]) <= program.groups:
        used += 1
        group = int(digits[0][:used])
    if group > program.groups:
        raise Failure(f"the pattern has no group {group}")
    return group, position + used


@scalar(
    "split",
    resolve=_with_pattern(takes(STRING, STRING, INT, gives=array(STRING), optional=1)),
)
def _split(text: str, pattern: str, limit: int = -1) -> tuple[str, ...]:
    """The parts between matches, at most `limit` if it is positive."""
    if not pattern and text:
        size = len(text) if limit <= 0 else min(limit, len(text))
        return (*text[: size - 1], text[size - 1 :])
    parts: list[str] = []
    done = 0
    for match in _matches(pattern, text):
        if 0 < limit <= len(parts) + 1:
            break
        if match.end() > 0:  # an empty match at the start cuts nothing off
            parts.append(text[done : match.start()])
            done = match.end()
    return (*parts, text[done:])
