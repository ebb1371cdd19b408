"""Scripts with words lost, doubled, swapped and strayed: bound, or refused with a place.

Nothing but `QueryErrors` may come out, whatever the parser makes of the text.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from sqlglot.errors import TokenError

from thalweg.cql.dialect import Cql
from thalweg.errors import QueryError, QueryErrors, SourceText
from thalweg.explain import explain_text
from thalweg.program import bind_script
from thalweg.testing.sections import Section, read_golden

GOLDEN = Path(__file__).parents[1] / "golden"
BATCHES, MANGLED_PER_BATCH = 4, 200

Words = list[str]


def statement(section: Section) -> str:
    match section.word:
        case "stream" | "table":
            return f"CREATE {section.word} {section.argument} FROM memory();\n"
        case "view" | "query":
            return f"CREATE {section.word} {section.argument} AS {section.body};\n"
        case "script":
            return section.body + ";\n"
    return ""


@cache
def scripts() -> list[Words]:
    """The golden scripts, each as its words."""
    found = []
    for path in sorted(GOLDEN.rglob("*.cqlt")):
        text = "".join(statement(section) for section in read_golden(path).sections)
        try:
            tokens = Cql().tokenize(text)
        except TokenError:
            continue
        found.append([text[token.start : token.end + 1] for token in tokens])
    return found


def mangled(rng: random.Random) -> str:
    words = list(rng.choice(scripts()))
    for _ in range(rng.choice((1, 1, 2, 3))):
        here, there = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(5):
            case 0 if len(words) > 1:
                del words[here]
            case 1:
                words.insert(here, words[here])
            case 2:
                words[here], words[there] = words[there], words[here]
            case 3:
                words[here] = rng.choice(rng.choice(scripts()))
            case _:
                words[here:here] = words[there : there + 5]
    return " ".join(words)


def mistakes(text: str) -> list[QueryError]:
    try:
        program = bind_script(SourceText("mangled", text))
    except QueryErrors as several:
        return several.errors
    for query in program.catalog.queries():
        assert explain_text(query)
    return []


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_mangled_script_is_bound_or_refused(batch: int) -> None:
    for seed in range(batch * MANGLED_PER_BATCH, (batch + 1) * MANGLED_PER_BATCH):
        text = mangled(random.Random(seed))
        for error in mistakes(text):
            assert error.span is not None, text
            assert error.render()


@pytest.mark.parametrize(
    "text",
    [
        "ELSE",
        "CREATE QUERY q AS SELECT abs(() => 1) FROM S",
        "CREATE QUERY q AS SELECT abs(`` => 1) FROM S",
        "CREATE QUERY q AS SELECT x FROM S WHERE (1, 2) IN ()",
        "CREATE QUERY q AS SELECT x FROM S WHERE () IN (())",
        "CREATE QUERY q AS SELECT CAST(x AS STRUCT<INT>) FROM S",
        "CREATE QUERY q AS SELECT x FROM S LIMIT CAST(NULL AS INT)",
    ],
)
def test_what_was_found_once(text: str) -> None:
    assert mistakes(f"CREATE STREAM S (x INT) FROM memory(); {text}")
