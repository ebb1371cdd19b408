"""Long and deep statements: they work, or end in an error that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.errors import QueryErrors, SourceText
from thalweg.explain import explain_json
from thalweg.plan.signature import signature
from thalweg.program import Program, bind_script
from thalweg.testing.engines import reference, rewritten
from thalweg.testing.feeds import FeedRow, Feeds

from .conftest import Command

STREAMS = """
CREATE STREAM S (a INT, b INT) FROM memory();
CREATE STREAM R (a INT, b INT) FROM memory();
"""
MANY = 1000


def bound(query: str) -> Program:
    return bind_script(SourceText("test", f"{STREAMS} CREATE QUERY q AS {query}"))


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("SELECT a FROM S WHERE " + " AND ".join(["a <> {}"] * MANY), id="and"),
        pytest.param("SELECT a FROM S WHERE " + " OR ".join(["a <> {}"] * MANY), id="or"),
        pytest.param(
            "SELECT a FROM S GROUP BY a HAVING " + " AND ".join(["sum(b) <> {}"] * MANY),
            id="having",
        ),
        pytest.param(
            "SELECT S.a FROM S [NOW] JOIN R [NOW] ON " + " AND ".join(["S.a <> {}"] * MANY), id="on"
        ),
        pytest.param(
            "SELECT S.a FROM S [NOW], R [NOW] WHERE S.b = R.b AND "
            + " AND ".join(["S.a <> {} AND S.a + R.a <> 0"] * MANY),
            id="join",
        ),
        pytest.param(
            "SELECT a FROM S WHERE (a, b) IN (" + ", ".join(["({}, 1)"] * MANY) + ")", id="in"
        ),
    ],
)
def test_thousands_of_conditions(query: str) -> None:
    program = bound(query.format(*range(MANY)))
    plan = program.query("q").plan
    assert explain_json(program.query("q"))
    assert signature(plan)
    rows = [FeedRow((-1, 2), 1), FeedRow((1, 1), 2)]
    feeds = Feeds({"S": rows, "R": rows})
    assert rewritten(program, feeds).answers == reference(program, feeds).answers


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(
            "SELECT a FROM S WHERE " + "(" * 5000 + "a = 1" + ")" * 5000, id="parentheses"
        ),
        pytest.param("SELECT " + "+".join(["a"] * 5000) + " FROM S", id="sum"),
        pytest.param("SELECT " + "abs(" * 5000 + "a" + ")" * 5000 + " FROM S", id="calls"),
        pytest.param("SELECT " + "- " * 5000 + "a FROM S", id="signs"),
        pytest.param("SELECT a FROM " + "(SELECT a FROM " * 5000 + "S" + ")" * 5000, id="queries"),
    ],
)
def test_too_deep_is_an_error(query: str) -> None:
    with pytest.raises(QueryErrors) as caught:
        bound(query)
    [error] = caught.value.errors
    assert error.message == "the statement is nested too deeply"
    assert error.span is not None
    assert error.span.start == len(STREAMS) + 1


def test_a_deep_type_is_an_error() -> None:
    with pytest.raises(QueryErrors, match="the type is nested too deeply"):
        bound("SELECT CAST(NULL AS " + "ARRAY<" * 500 + "INT" + ">" * 500 + ") AS x FROM S")


def test_other_statements_are_still_checked() -> None:
    deep = "SELECT " + "- " * 5000 + "a FROM S; CREATE QUERY r AS SELECT c FROM S"
    with pytest.raises(QueryErrors) as caught:
        bound(deep)
    assert [error.message for error in caught.value.errors] == [
        "the statement is nested too deeply",
        'stream "S" has no column "c"',
    ]


@pytest.mark.parametrize("depth", [300, 5000])
def test_the_command_line_allows_more(thalweg: Command, tmp_path: Path, depth: int) -> None:
    query = "SELECT a FROM S WHERE " + "(" * depth + "a = 1" + ")" * depth
    (tmp_path / "s.cql").write_text(f"{STREAMS} CREATE QUERY q AS {query};")
    ended = thalweg("check", "s.cql")
    assert ended.code == (0 if depth == 300 else 1)
    assert ended.code == 0 or "nested too deeply" in ended.err
