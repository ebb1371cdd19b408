"""RE2 programs: regular expressions in time linear in the text, whatever the pattern."""

from __future__ import annotations

from typing import Any

import re2

from thalweg.functions.registry import Failure

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

# Time is linear in the text and also in the pattern: a row must not bring a huge one.
_LONGEST_PATTERN = 10_000


def regex_program(pattern: str) -> Any:
    """The compiled pattern; raises `Failure` where RE2 has none."""
    if len(pattern) > _LONGEST_PATTERN:
        raise Failure(f"a pattern may have {_LONGEST_PATTERN:,} characters, not {len(pattern):,}")
    try:
        return re2.compile(pattern, _OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        raise Failure(f"{_short(pattern)} is not a regular expression of RE2: {reason}") from None


def literal_regex(text: str) -> str:
    """The regular expression that matches a text as it is."""
    return str(re2.escape(text))


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else pattern[:57] + "…")
