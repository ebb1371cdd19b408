"""Every example in the documentation is run.

`cql` blocks of a page form one script, in order. `cqlt` blocks are golden
scripts. `console` blocks are commands with their output, run in a folder that
holds the files of the page's other blocks that start with a comment `-- name`.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from thalweg.errors import SourceText
from thalweg.optimize.rules import optimized
from thalweg.program import bind_script
from thalweg.settings import Settings
from thalweg.testing.engines import ENGINES
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import parse_golden

from .conftest import Command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)[ \t]*([^\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(page: Path, kind: str) -> list[tuple[str, str]]:
    """(title, text) of the fenced blocks of a kind."""
    return [(title, text) for word, title, text in FENCE.findall(page.read_text()) if word == kind]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "cql")], ids=lambda p: p.name)
def test_scripts_bind(page: Path) -> None:
    text = "\n".join(text for _, text in blocks(page, "cql"))
    program = bind_script(SourceText(page.name, text), (page.parent,))
    for query in program.catalog.queries():
        assert optimized(query.plan).plan.schema == query.plan.schema


GOLDEN = [(page, i) for page in PAGES for i in range(len(blocks(page, "cqlt")))]


@pytest.mark.parametrize(("page", "number"), GOLDEN, ids=lambda v: getattr(v, "name", str(v)))
@pytest.mark.parametrize("engine", ENGINES)
def test_golden_examples(page: Path, number: int, engine: str) -> None:
    text = blocks(page, "cqlt")[number][1]
    verdict = run_golden(parse_golden(text, page.name), ENGINES[engine])
    assert verdict.passed, "\n".join(verdict.complaints)


PYTHON = [(page, i) for page in PAGES for i in range(len(blocks(page, "python")))]


@pytest.mark.parametrize(("page", "number"), PYTHON, ids=lambda v: getattr(v, "name", str(v)))
def test_python_examples_run(page: Path, number: int) -> None:
    title, text = blocks(page, "python")[number]
    if not title:
        exec(compile(text, page.name, "exec"), {})


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/settings.md").read_text()
    missing = [f.name for f in fields(Settings) if f"`{f.name}`" not in text]
    assert not missing


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda p: p.name)
def test_commands_give_what_is_shown(page: Path, thalweg: Command, tmp_path: Path) -> None:
    for word in ("csv", "cql", "sql", "python", "cqlt", "text"):
        for title, text in blocks(page, word):
            if title:
                (tmp_path / title).write_text(text)
    for _, text in blocks(page, "console"):
        for command, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", text, re.M):
            program, *arguments = shlex.split(command)
            if program == "cat":
                output = (tmp_path / arguments[0]).read_text()
            else:
                assert program == "thalweg", f"{page.name}: {command}"
                ended = thalweg(*arguments)
                output = ended.out + ended.err
            assert output.strip() == shown.strip(), f"{page.name}: $ {command}"
