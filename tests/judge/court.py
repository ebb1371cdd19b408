"""Both sides of a case: Thalweg's reference, and DuckDB on the same files.

Reading a large file into Python rows takes seconds, so the latest few are kept
for the cases that follow.
"""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from thalweg.catalog import Catalog, Stream, Table
from thalweg.errors import SourceText
from thalweg.plan.nodes import Plan
from thalweg.program import Program, bind_script, load_python
from thalweg.reference import Inputs, Reference
from thalweg.report import RunReport
from thalweg.run import read_inputs
from thalweg.settings import Settings

from .case import Case

ROOT = Path(__file__).resolve().parents[2]
Rows = list[tuple[Any, ...]]

_EPOCH = datetime(1970, 1, 1)


def data_folder() -> Path | None:
    """Where the recorded streams are, if they are here."""
    folder = Path(os.environ.get("THALWEG_DATA") or ROOT.parent / "shared" / "data")
    return folder if folder.is_dir() else None


needs_data = pytest.mark.skipif(
    data_folder() is None,
    reason="no data folder: looked for the one that THALWEG_DATA names, "
    "or else ../shared/data beside the repository",
)


def filled_in(text: str) -> str:
    """Script or SQL with the data folder in its place."""
    folder = data_folder()
    assert folder is not None, "tests without data are skipped"
    return text.replace("{data}", folder.as_posix())


def bound(case: Case) -> Program:
    return bind_script(SourceText(f"{case.name}.cql", filled_in(case.script)), (ROOT,))


@lru_cache(maxsize=8)
def _content(entry: Stream | Table, settings: Settings) -> Any:
    """The rows of a declared stream or table, whatever it is called."""
    catalog = Catalog()
    catalog.define(entry)
    program = Program(SourceText("judge", ""), (ROOT,), catalog, settings)
    inputs = read_inputs(program, RunReport(), None)
    content = {**inputs.streams, **inputs.tables}
    return content[entry.name]


def inputs_of(program: Program) -> Inputs:
    """As `read_inputs` gives them; equal declarations of several cases are read once."""
    streams, tables = program.catalog.streams(), program.catalog.tables()
    return Inputs(
        {s.name: _content(replace(s, name="it", rank=0), program.settings) for s in streams},
        {t.name: _content(replace(t, name="it"), program.settings) for t in tables},
        {s.name: s.rank for s in streams},
    )


def plan_of(program: Program) -> Plan:
    return program.query("q").plan


def reference_of(program: Program) -> Reference:
    return Reference(inputs_of(program), lambda path: load_python(path, program.folders, False))


class Judge:
    """DuckDB on one core."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})

    def answer_at(self, case: Case, now: int) -> tuple[list[str], Rows]:
        """The names of the columns, and the rows in Thalweg's inner forms."""
        return self.ask(filled_in(case.sql), {"tau": now})

    def ask(self, sql: str, parameters: dict[str, Any]) -> tuple[list[str], Rows]:
        result = self.connection.execute(sql, parameters)
        names = [column[0] for column in result.description or ()]
        return names, [tuple(map(inner_form, row)) for row in result.fetchall()]


def inner_form(value: Any) -> Any:
    """Times count microseconds, dates count days, both from 1970."""
    match value:
        case datetime():
            naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return (naive - _EPOCH) // timedelta(microseconds=1)
        case date():
            return (value - _EPOCH.date()).days
        case list():
            return tuple(map(inner_form, value))
    return value


def kinds(rows: Rows) -> list[set[Any]]:
    """The types in each column: 1, 1.0, TRUE, 1.0 and 1.00 are equal, and not the same."""
    return [{_kind(value) for value in column} - {type(None)} for column in zip(*rows, strict=True)]


def _kind(value: Any) -> Any:
    return value.as_tuple().exponent if isinstance(value, Decimal) else type(value)
