"""Golden scripts that are wrong themselves: told with file and line, never passed by."""

from __future__ import annotations

from pathlib import Path

import pytest

from thalweg.testing import GoldenError, parse_golden, run_golden
from thalweg.testing.cells import cell_text, parse_cell, split_row
from thalweg.testing.sections import EXPECTATIONS
from thalweg.types import STRING

from .conftest import Command

ROOT = Path(__file__).parents[2]

# Six lines; what a test adds begins at line 7.
START = """\
stream S(x int, name text)
query q
SELECT x FROM S
query r
SELECT x FROM S [ROWS 1]

"""
ROW = "feed S\n1 | 5 | a\n"


def verdict_on(rest: str) -> list[str]:
    return run_golden(parse_golden(START + rest, "g.cqlt")).complaints


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("feed S\n1 | five | a\noutput q\n", "g.cqlt:8: 1 | five | a: "),
        ("feed S\none | 5 | a\noutput q\n", "g.cqlt:8: one | 5 | a: the time: "),
        ("feed S\n99999999999999999999 | 5 | a\noutput q\n", "g.cqlt:8: "),
        ("feed S\n1 | 5\noutput q\n", "g.cqlt:8: 1 | 5: 1 cells for 2 columns"),
        ('feed S\n\n# two\n1 | 5 | "a\noutput q\n', 'g.cqlt:10: 1 | 5 | "a: a quote is not closed'),
        ("table D(k int)\nx\noutput q\n", "g.cqlt:8: x: "),
        ("table D(k array<int>)\n[1, \noutput q\n", "g.cqlt:8: [1, : "),
        ("feed Z\noutput q\n", 'g.cqlt:7: there is no stream "Z"'),
        ("late Z\n", 'g.cqlt:7: there is no stream "Z"'),
        ("rejects q\n", 'g.cqlt:7: there is no stream "q"'),
        ("output Q2\n", 'g.cqlt:7: there is no query "Q2". There is: q, r.'),
        ("plan q2\n", 'g.cqlt:7: there is no query "q2"'),
        ("plan q foo\n", 'g.cqlt:7: there is no query "q foo". There is: q, r.'),
        ("plan q bound foo\n", 'g.cqlt:7: there is no query "q bound foo"'),
        ("output q r\n", 'g.cqlt:7: there is no query "q r"'),
        ("output\n", "g.cqlt:7: output needs a query"),
        ("query\nSELECT 1\n", "g.cqlt:7: query needs a name"),
        (ROW + "output q\n1 | five\n", "g.cqlt:10: 1 | five: "),
        (ROW + "output q\nNULL | 5\n", "g.cqlt:10: NULL | 5: the time is NULL"),
        (ROW + "output q\n1 | + | 5\n", "g.cqlt:10: 1 | + | 5: 2 cells for 1 columns"),
        (ROW + "output r\n1 | 5\n", "g.cqlt:10: 1 | 5: r answers as a relation: "),
        (ROW + "output r\n1\n", "g.cqlt:10: 1: r answers as a relation: "),
        ("feed S\n! | 5\noutput q\n", "g.cqlt:8: '! | 5' is no command to the source"),
        (ROW, "g.cqlt: nothing is expected"),
        ("query z\nSELECT y FROM S\noutput q\n1 | 5\nerror\n", "g.cqlt:9: output q is not checked"),
    ],
)
def test_a_wrong_script_is_told_with_its_line(rest: str, message: str) -> None:
    with pytest.raises(GoldenError) as raised:
        verdict_on(rest)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("rest", ["", "oops\nstream S(x int)\n", "# nothing\n"])
def test_a_script_needs_sections(rest: str) -> None:
    with pytest.raises(GoldenError, match=r"^g\.cqlt:(1:)? "):
        parse_golden(rest, "g.cqlt")


def test_an_error_section_expects_a_mistake() -> None:
    assert verdict_on("error\n") == ["a mistake was expected, and there is none"]


def test_a_mistake_that_is_not_expected() -> None:
    complaints = verdict_on("query z\nSELECT y FROM S\noutput q\n")
    assert complaints[:2] == ["unexpected error:", 'error: stream "S" has no column "y"']


def test_a_line_with_a_bar_is_no_heading() -> None:
    words = """\
stream S(word text, x int)
table D(k text, v int)
query | 1
error | 2
query q
SELECT word, v FROM S, D WHERE k = word
feed S
1 | output | 1
2 | error | 2
output q
2 | error | 2
"""
    assert run_golden(parse_golden(words)).passed


@pytest.mark.parametrize("word", ["error", "script", "failures"])
def test_some_headings_stand_alone(word: str) -> None:
    """Followed by something they belong to the section above, here a query."""
    script = parse_golden(f"stream S({word} int)\nquery q\nSELECT x AS\n{word} FROM S\noutput q\n")
    assert [section.word for section in script.sections] == ["stream", "query", "output"]


def test_comments_in_every_section() -> None:
    text = """\
stream S(x int)
# about the query
query q
# in it
SELECT x FROM S
# behind it
feed S
# a row
1 | 5
output q
# an answer
1 | 5
plan q
# a plan
"""
    verdict = run_golden(parse_golden(text))
    assert verdict.complaints[0] == "plan q differs; expected:"
    accepted = run_golden(parse_golden(verdict.text))
    assert accepted.passed, accepted.complaints
    assert "# a plan\n" in accepted.text


def test_commands_to_a_source_are_no_rows() -> None:
    text = "stream S(x int)\nquery q\nSELECT x FROM S\nfeed S\n1 | 5\n! crash\n2 | 6\n"
    assert run_golden(parse_golden(text + "output q\n1 | 5\n2 | 6\n")).passed


@pytest.mark.parametrize(
    "text", ["! stop", "a|b", '"', "#", "", " a", "NULL", "a\u2028b\x85", "\\"]
)
def test_texts_that_could_be_misread_are_quoted(text: str) -> None:
    (cell,) = split_row(cell_text(text, STRING))
    assert parse_cell(cell, STRING) == text
    script = (
        f"stream S(x text)\nquery q\nSELECT x FROM S\nfeed S\n1 | {cell}\noutput q\n1 | {cell}\n"
    )
    verdict = run_golden(parse_golden(script))
    assert verdict.passed, verdict.complaints


def test_a_wrong_script_does_not_stop_the_others(thalweg: Command, tmp_path: Path) -> None:
    good = "stream S(x int)\nquery q\nSELECT x FROM S\nfeed S\n1 | 5\noutput q\n1 | 5\n"
    (tmp_path / "a.cqlt").write_text(good.replace("1 | 5\noutput", "1 | five\noutput"))
    (tmp_path / "b.cqlt").write_text(good.replace("output q", "output p"))
    (tmp_path / "c.cqlt").write_bytes(b"stream S(x int)\n\xff\n")
    (tmp_path / "d.cqlt").write_text(good)
    (tmp_path / "e.cqlt").write_text(good.partition("output")[0])
    ended = thalweg("test", ".")
    assert ended.code == 1
    assert [line for line in ended.out.splitlines() if not line.startswith("  ")] == [
        "failed a.cqlt",
        "failed b.cqlt",
        "failed c.cqlt",
        "passed d.cqlt",
        "failed e.cqlt",
        "1 passed, 4 failed",
    ]
    assert "a.cqlt:5: 1 | five: " in ended.out
    assert 'b.cqlt:6: there is no query "p"' in ended.out
    assert "c.cqlt:2: not text in UTF-8" in ended.out
    assert thalweg("test", "--accept", "e.cqlt").code == 1


def test_every_section_is_documented() -> None:
    text = (ROOT / "docs/testing.md").read_text()
    words = ("stream", "table", "view", "query", "script", "feed", *EXPECTATIONS)
    missing = [word for word in words if f"`{word}`" not in text and f"`{word} " not in text]
    assert not missing
