"""What the demo shows of the answers, and that there is something to adapt to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console

from thalweg.adapt.decisions import Decision
from thalweg.control import Entry
from thalweg.demo.model import score
from thalweg.demo.show import ROWS_PER_BATCH, Throughput, View, demo_program
from thalweg.errors import SourceText
from thalweg.job.plain import PlainJob
from thalweg.job.run import BatchDone
from thalweg.job.script import work_of
from thalweg.operators.answer import Records
from thalweg.outlet.decided import kept_decisions
from thalweg.program import bind_script
from thalweg.shard.working import remove_working_state
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


def batch_of(rows: int, seconds: float, *decisions: Decision) -> BatchDone:
    entry = Entry(1, {}, {}, {}, {}, {}, {}, {})
    return BatchDone(entry, None, rows, seconds, 0, 0, {}, list(decisions))


def test_the_throughput_of_the_last_batches() -> None:
    throughput = Throughput()
    throughput.take(batch_of(1000, 20.0))  # the start
    assert [line.plain for line in throughput.lines(80)] == ["rows/s  ", "decided …"]
    for rows in (1000, 500, 0, 1000):
        throughput.take(batch_of(rows, 1.0))
    throughput.take(batch_of(250, 1.0, Decision("filters", ("a", "b"), ("b", "a"), 2.0, 2.5, True)))
    bars, decided = throughput.lines(80)
    assert bars.plain == "rows/s  █▅█▃"
    assert decided.plain == "decided 2.5 times as fast, expected 2: b, a"
    assert next(line.plain for line in throughput.lines(11)) == "rows/s  █▃"


def test_the_demo_has_something_to_decide(tmp_path: Path) -> None:
    """What drops most comes first, and after a jump that is another condition."""
    assert [x for x in range(1000) if score(x) > 0.5] == list(range(500))
    program, _ = demo_program()
    work = work_of(program, tmp_path / "job", {}, ROWS_PER_BATCH, [], 1)
    job = PlainJob(work)
    wanted, first = {"score(b) < 0.5", "score(d) < 0.5"}, set[str]()
    for _ in range(40):
        job.batch()
        first = {decision.after[0] for _, decision in kept_decisions(work.root)}
        if wanted <= first:
            break
    remove_working_state(work.root)
    assert wanted <= first
