"""Every example in the documentation is run.

A block with a title (```csv trades.csv) is a file; each test has the files of its
page in a folder of its own. `cql` blocks of a page form one script, in order, which
is bound, rewritten and answered by the reference; `cqlt` blocks are golden scripts,
run on every engine; `python` blocks without a title are programs, those of docs/python.md
one for tests/spark/test_engine.py; `console` blocks are commands with their output;
`livecql` blocks are scripts with live sources, run by a clock that is turned by hand.
Blocks of other kinds, or of none, are only read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from thalweg.errors import SourceText
from thalweg.job.plain import PlainJob
from thalweg.job.script import work_of
from thalweg.optimize.rules import optimized
from thalweg.outputs import targets_of
from thalweg.program import bind_script
from thalweg.reference import Reference
from thalweg.report import RunReport
from thalweg.run import read_inputs
from thalweg.settings import NAMES
from thalweg.testing.compare import differences
from thalweg.testing.engines import ENGINES
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import parse_golden

from .conftest import Command

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Enough for every query to answer something; the reference takes a minute for 200.
GENERATED_ROWS = 60
FENCE = re.compile(r"^```(\w+)[ \t]*([^\n]*)\n(.*?)^```$", re.M | re.S)


def blocks(page: Path, kind: str) -> list[tuple[str, str]]:
    """(title, text) of the fenced blocks of a kind."""
    return [(title, text) for word, title, text in FENCE.findall(page.read_text()) if word == kind]


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[Path], Path]:
    """A folder with the files of a page."""

    def write(page: Path) -> Path:
        for _, title, text in FENCE.findall(page.read_text()):
            if title:
                (tmp_path / title).write_text(text)
        return tmp_path

    return write


FolderOf = Callable[[Path], Path]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "cql")], ids=lambda p: p.name)
def test_scripts_run(page: Path, folder_of: FolderOf) -> None:
    """Each query answers something, and the same before and after the rewrites."""
    text = "\n".join(text for _, text in blocks(page, "cql"))
    text = re.sub(r"rows = \d+", f"rows = {GENERATED_ROWS}", text)
    program = bind_script(SourceText(page.name, text), (folder_of(page),))
    reference = Reference(read_inputs(program, RunReport(), None, print), no_python)
    assert program.catalog.queries()
    for query in program.catalog.queries():
        plan = optimized(query.plan).plan
        assert plan.schema == query.plan.schema
        expected = list(reference.answers(query.plan))
        assert expected, f"{query.name} shows nothing"
        wrong = differences(expected, reference.answers(plan), query.plan.schema)
        assert not wrong, f"{query.name}: {wrong}"


LIVE = [(page, i) for page in PAGES for i in range(len(blocks(page, "livecql")))]


@pytest.mark.parametrize(("page", "number"), LIVE, ids=lambda v: getattr(v, "name", str(v)))
def test_live_scripts_run(page: Path, number: int, tmp_path: Path) -> None:
    """Each query answers something within a few seconds."""
    program = bind_script(SourceText(page.name, blocks(page, "livecql")[number][1]), (tmp_path,))
    work = work_of(program, tmp_path / "job", {}, 1000, targets_of(program, None, "jsonl"))
    now = work.begun
    job = PlainJob(work, lambda: now)
    for _ in range(20):
        now += 500_000
        while job.begin():
            job.batch()
    assert all(job.entry.records.get(query.name) for query in program.catalog.queries())


def no_python(path: str) -> object:
    raise AssertionError("user functions are shown in golden scripts")


GOLDEN = [(page, i) for page in PAGES for i in range(len(blocks(page, "cqlt")))]


@pytest.mark.parametrize(("page", "number"), GOLDEN, ids=lambda v: getattr(v, "name", str(v)))
@pytest.mark.parametrize("engine", ENGINES)
def test_golden_examples(page: Path, number: int, engine: str, folder_of: FolderOf) -> None:
    text = blocks(page, "cqlt")[number][1]
    script = parse_golden(text, page.name, folder_of(page))
    verdict = run_golden(script, ENGINES[engine])
    assert verdict.passed, "\n".join(verdict.complaints)


def test_user_functions_are_shown() -> None:
    """The Python files of the language's page are imported by one of its golden scripts."""
    page = ROOT / "docs/cql.md"
    shown = "".join(text for _, text in blocks(page, "cqlt"))
    modules = [title.removesuffix(".py") for title, _ in blocks(page, "python") if title]
    assert modules
    assert all(f"AS '{module}:" in shown for module in modules)


PYTHON = [
    (page, i)
    for page in PAGES
    if page.name != "python.md"
    for i in range(len(blocks(page, "python")))
]


@pytest.mark.parametrize(("page", "number"), PYTHON, ids=lambda v: getattr(v, "name", str(v)))
def test_python_examples_run(page: Path, number: int) -> None:
    title, text = blocks(page, "python")[number]
    if not title:
        exec(compile(text, page.name, "exec"), {})


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs/settings.md").read_text()
    missing = [name for name in NAMES if f"`{name}`" not in text]
    assert not missing


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "console")], ids=lambda p: p.name)
def test_commands_give_what_is_shown(page: Path, thalweg: Command, folder_of: FolderOf) -> None:
    folder = folder_of(page)
    for _, text in blocks(page, "console"):
        for command, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", text, re.M):
            program, *arguments = shlex.split(command)
            if program == "cat":
                output = (folder / arguments[0]).read_text()
            else:
                assert program == "thalweg", f"{page.name}: {command}"
                ended = thalweg(*arguments)
                output = ended.out + ended.err
            assert output.strip() == shown.strip(), f"{page.name}: $ {command}"
