"""A job as it runs: its plan with what was measured, and what was decided last.

Every operator has the rows that came in and went out and the time it took; below it are its
steps, if it can take them in another order, in the order of now. Numbers are of all tasks
together. The text is made from the JSON document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from thalweg.adapt.decisions import Decision
from thalweg.adapt.measured import Step
from thalweg.catalog import Query
from thalweg.explain_job import Document, exchange_line, explain_job, operator_line
from thalweg.outlet.measuring import Account, Where
from thalweg.program import Program
from thalweg.progress import short

_LAST_DECISIONS = 10
_HEADINGS = ("rows in", "rows out", "passed", "rows/s", "ns/row", "time")
_CELL = 9
# Longer names are cut.
_WIDEST = 60


def explain_analyze(
    program: Program,
    account: Account,
    decisions: Sequence[tuple[int, Decision]],
    shards: int,
    only: Query | None = None,
) -> Document:
    """The job of a program, or the part of it that one query needs, as it was measured."""
    document = explain_job(program, only)
    wanted = [
        {"batch": batch, **asdict(decision)}
        for batch, decision in decisions
        if only is None or only.name in decision.queries
    ]
    for intake in document["intake"]:
        _annotate(intake["operators"], account, intake["stream"])
    _annotate(document["shard"]["operators"], account, None)
    return {
        **document,
        "stage": "analyzed",
        "shards": shards,
        "batches": account.batches,
        "rows": account.rows,
        "seconds": account.seconds,
        "spent": dict(account.spent),
        "decided": len(wanted),
        "decisions": wanted[-_LAST_DECISIONS:],
    }


def _annotate(operators: list[Document], account: Account, where: Where) -> None:
    counted = {s.name: s for m in account.of(where, "operators") for s in m.steps}
    for own in operators:
        number = own["number"]
        step = counted.get(str(number))
        own["measured"] = None if step is None else _counts(step)
        own["adapting"] = [
            {
                "mechanism": measured.mechanism,
                "subject": measured.subject,
                "steps": [{"name": s.name, **_counts(s), "note": s.note} for s in measured.steps],
            }
            for (place, *_), measured in account.found.items()
            if place == where and measured.operator == number
        ]


def _counts(step: Step) -> Document:
    return {"rows_in": step.rows_in, "rows_out": step.rows_out, "nanos": step.nanos}


# As text


def analyzed_text(document: Document) -> str:
    """What `explain_analyze` says, for people."""
    lines = [*_lines(document)]
    widest = max(len(label) for label, _ in lines)
    head = [*_head(document), ""]
    table = [_row(label, cells, min(widest, _WIDEST)) for label, cells in lines]
    return "\n".join([*head, *table, *_decision_lines(document)])


def _head(document: Document) -> Iterator[str]:
    seconds = document["seconds"]
    rate = document["rows"] / seconds if seconds else 0.0
    batches = document["batches"]
    yield (
        f"Job: {document['shards']} shards, {batches} batch{'es' * (batches != 1)} "
        f"in {seconds:.1f} s, "
        f"{document['rows']:,} rows, {short(rate)} rows/s"
    )
    spent = sorted(document["spent"].items(), key=lambda part: -part[1])
    yield "Tasks: " + ", ".join(f"{what} {taken:.2f} s" for what, taken in spent)


def _lines(document: Document) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Labels, with cells where there are numbers."""
    yield "", _HEADINGS
    places = [
        *((f"Intake of {i['stream']} from {i['source']}", i) for i in document["intake"]),
        ("Shard", document["shard"]),
    ]
    operators = [own for _, place in places for own in place["operators"]]
    nanos = sum(own["measured"]["nanos"] for own in operators if own["measured"])
    for title, place in places:
        yield title, ()
        for own in place["operators"]:
            cells = _cells(own["measured"], document["seconds"], nanos) if own["measured"] else ()
            yield f"  {operator_line(own)}", cells
            for part in own["adapting"]:
                if part["mechanism"] != "filters":
                    yield f"     {part['subject']}", ()
                for step in part["steps"]:
                    cells = _cells(step, document["seconds"], nanos)
                    yield f"       {step['name']}", (*cells, step["note"])
        yield from ((f"  {exchange_line(exchange)}", ()) for exchange in place["sends"])


def _cells(counts: Document, seconds: float, all_nanos: int) -> tuple[str, ...]:
    rows, passed, nanos = counts["rows_in"], counts["rows_out"], counts["nanos"]
    return (
        short(rows),
        short(passed),
        f"{short(100 * passed / rows)} %" if rows else "",
        short(rows / seconds) if seconds else "",
        short(nanos / rows) if rows else "",
        f"{100 * nanos / all_nanos:.1f} %" if all_nanos else "",
    )


def _row(label: str, cells: tuple[str, ...], width: int) -> str:
    if not cells:
        return label
    cut = label if len(label) <= width else label[: width - 1] + "…"
    numbers = "".join(cell.rjust(_CELL) for cell in cells[: len(_HEADINGS)])
    notes = "".join(f"  {note}" for note in cells[len(_HEADINGS) :] if note)
    return f"{cut.ljust(width)}{numbers}{notes}"


def _decision_lines(document: Document) -> Iterator[str]:
    shown: list[dict[str, Any]] = document["decisions"]
    if not shown:
        return
    earlier = document["decided"] - len(shown)
    yield ""
    yield f"Decisions, the last {len(shown)} of {document['decided']}" if earlier else "Decisions"
    for fields in shown:
        decision = Decision(**{key: fields[key] for key in fields if key != "batch"})
        yield f"  batch {fields['batch']}: {decision}"
