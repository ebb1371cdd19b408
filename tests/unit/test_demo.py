"""What the demo shows of the answers."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from thalweg.demo.show import View
from thalweg.errors import SourceText
from thalweg.operators.answer import Records
from thalweg.program import bind_script
from thalweg.types import INT
from thalweg.vector.column import from_values

SCRIPT = """
CREATE STREAM S (x INT) FROM memory();
CREATE QUERY elements AS SELECT x FROM S WHERE x > 0;
CREATE QUERY rows AS SELECT x FROM S [RANGE 5 SECONDS];
"""


def shown(query: str, *batches: list[tuple[int, int, int]]) -> list[str]:
    """The lines of a view that was given (time, weight, x), batch by batch."""
    view = View(bind_script(SourceText("demo", SCRIPT)).query(query))
    for batch in batches:
        time, weight, values = (list(part) for part in zip(*batch, strict=True))
        view.take(Records((from_values(values, INT),), np.array(time), np.array(weight)))
    console = Console(width=40, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as capture:
        console.print(view.table())
    return [" ".join(line.split()) for line in capture.get().splitlines()]


def test_a_stream_shows_its_latest_elements() -> None:
    lines = shown("elements", [(1, 1, 7)], [(2, 1, 8), (3, 1, 9)])
    assert lines[0] == "elements (stream, latest last)"
    assert [line.split()[-1] for line in lines[1:]] == ["x", "8", "9"]


def test_a_relation_shows_what_stands() -> None:
    lines = shown("rows", [(1, 1, 7), (1, 1, 7), (2, 1, 5)], [(6, -1, 7)])
    assert lines == ["rows (relation, as it stands)", "x", "5", "7"]
