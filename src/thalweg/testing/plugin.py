"""pytest runs every .cqlt file it finds, on every engine of the kit.

`--accept` rewrites what the scripts expect; read the diff before you commit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg.errors import QueryError, QueryErrors
from thalweg.testing.engines import ENGINES
from thalweg.testing.golden import run_golden
from thalweg.testing.sections import GoldenError, read_golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("thalweg").addoption(
        "--accept",
        action="store_true",
        help="rewrite the expected blocks of golden scripts (.cqlt) with what happened",
    )


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    if file_path.suffix == ".cqlt":
        return GoldenFile.from_parent(parent, path=file_path)
    return None


class GoldenFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        for engine in ENGINES:
            yield GoldenItem.from_parent(self, name=engine)


class GoldenItem(pytest.Item):
    """One golden script on one engine."""

    def runtest(self) -> None:
        verdict = run_golden(read_golden(self.path), ENGINES[self.name])
        if self.config.getoption("--accept") and self.name == "reference":
            self.path.write_text(verdict.text, encoding="utf-8")
            return
        if not verdict.passed:
            raise GoldenMismatch("\n".join(verdict.complaints))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, GoldenMismatch | GoldenError):
            return str(excinfo.value)
        if isinstance(excinfo.value, QueryError | QueryErrors):
            return excinfo.value.render()
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name} on {self.name}"


class GoldenMismatch(Exception):
    """A script gave something other than it expects."""
