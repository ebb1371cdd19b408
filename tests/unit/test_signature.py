"""Equal signatures compute the same answer; names and spelling do not count."""

from __future__ import annotations

import pytest

from thalweg.errors import SourceText
from thalweg.optimize.rules import optimized
from thalweg.plan.signature import signature
from thalweg.program import bind_script

STREAMS = """
CREATE STREAM S (a INT, b INT, s STRING) FROM memory();
CREATE STREAM R (a INT, b INT, s STRING) FROM memory();
"""


def of(query: str) -> str:
    program = bind_script(SourceText("test", f"{STREAMS} CREATE QUERY q AS {query}"))
    return signature(optimized(program.query("q").plan).plan)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("SELECT a FROM S [RANGE 5]", "SELECT t.a AS x FROM S [RANGE 5 SECONDS] AS t"),
        ("SELECT a FROM S WHERE a > 1 AND b = 2", "SELECT a FROM S WHERE 2 = b AND 1 < a"),
        ("SELECT a + b FROM S [NOW]", "SELECT b + a FROM S [NOW]"),
        ("SELECT a FROM S [TUMBLE 4]", "SELECT a FROM S [RANGE 4 SLIDE 4]"),
        ("SELECT a FROM S", "SELECT ISTREAM(a) FROM S [ROWS UNBOUNDED]"),
        (
            "SELECT a = 1 OR (b = 2 OR a = 3) AS x FROM S [NOW]",
            "SELECT (3 = a OR a = 1) OR b = 2 AS x FROM S [NOW]",
        ),
        (
            "SELECT S.a FROM S [NOW], R [NOW] WHERE S.a = R.a",
            "SELECT S.a FROM S [NOW] JOIN R [NOW] ON R.a = S.a",
        ),
    ],
)
def test_same_computation_same_signature(left: str, right: str) -> None:
    assert of(left) == of(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("SELECT a FROM S [RANGE 5]", "SELECT a FROM S [RANGE 6]"),
        ("SELECT a FROM S [RANGE 5]", "SELECT b FROM S [RANGE 5]"),
        ("SELECT a FROM S [RANGE 5]", "SELECT a FROM R [RANGE 5]"),
        ("SELECT a FROM S WHERE a > 1", "SELECT a FROM S WHERE a > 2"),
        ("SELECT a FROM S WHERE a > 1", "SELECT a FROM S WHERE a < 1"),
        ("SELECT a - b FROM S", "SELECT b - a FROM S"),
        ("SELECT (a + b) + 1 FROM S", "SELECT a + (b + 1) FROM S"),
        ("SELECT S.a FROM S [NOW], R [NOW]", "SELECT S.a FROM R [NOW], S [NOW]"),
        ("SELECT a FROM S [NOW]", "SELECT ISTREAM(a) FROM S [NOW]"),
        ("SELECT a FROM S WHERE s = '1'", "SELECT a FROM S WHERE s = '2'"),
        ("SELECT a FROM S WHERE b = 1", "SELECT a FROM S WHERE b = 1 AND TRUE AND a = 1"),
    ],
)
def test_different_computation_different_signature(left: str, right: str) -> None:
    assert of(left) != of(right)
