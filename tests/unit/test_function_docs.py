"""docs/functions.md: every example holds, and every function is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.functions import AGGREGATES, SCALARS
from thalweg.testing import evaluate_expression

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
CELL = re.compile(r"(?<!\\)\|")


def rows(header: str) -> Iterator[list[str]]:
    """The rows of all tables under a header, cell by cell."""
    inside = False
    for line in PAGE.read_text().splitlines():
        if line == header:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            yield [cell.strip().replace("\\|", "|") for cell in CELL.split(line)[1:-1]]


def unquoted(cell: str) -> str:
    assert cell.startswith("`"), cell
    assert cell.endswith("`"), cell
    return cell[1:-1]


EXAMPLES = [
    (unquoted(example), unquoted(result))
    for _, _, example, result in rows("| function | gives | example | result |")
]


@pytest.mark.parametrize(("example", "result"), EXAMPLES, ids=[text for text, _ in EXAMPLES])
def test_example(example: str, result: str) -> None:
    outcome = evaluate_expression(f"string({example})")
    assert not outcome.failures
    assert ("NULL" if outcome.value is None else outcome.value) == result


def named(header: str) -> set[str]:
    """All words in the first cells, where functions and operators are named."""
    return {word for cell, *_ in rows(header) for word in re.findall(r"\w+", cell.lower())}


def test_every_scalar_function_is_listed() -> None:
    listed = named("| function | gives | example | result |")
    callable_names = {name for name in SCALARS if name[0].isalpha() and " " not in name}
    assert not callable_names - listed


def test_every_aggregate_is_listed() -> None:
    assert not AGGREGATES.keys() - named("| function | gives | type |")
