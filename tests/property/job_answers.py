"""What the queries of a script answer: by a job that has ended, and by definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from thalweg.answers import Change
from thalweg.outlet.answers import pieces_of, records_of
from thalweg.program import Program, load_python
from thalweg.reference import Reference
from thalweg.report import RunReport
from thalweg.run import read_inputs

Bags = dict[str, Counter[tuple[object, ...]]]


def answers(program: Program, root: Path) -> Bags:
    pieces = pieces_of(root)
    return {
        query.name: _bag(
            change
            for records in records_of(pieces.get(query.name, []), query.plan.schema)
            for change in records.changes()
        )
        for query in program.catalog.queries()
    }


def defined(program: Program) -> Bags:
    inputs = read_inputs(program, RunReport(), None)
    reference = Reference(inputs, lambda path: load_python(path, program.folders, False))
    return {query.name: _bag(reference.answers(query.plan)) for query in program.catalog.queries()}


def _bag(changes: Iterable[Change]) -> Counter[tuple[object, ...]]:
    return Counter((change.time, change.sign, *map(repr, change.values)) for change in changes)
