"""What a run says when it is over."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from rich.console import Console

from thalweg.catalog import Query
from thalweg.report import RunReport
from thalweg.sinks.console import instant_at


def counted(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number} {noun.removesuffix('y')}ies"
    return f"{number} {noun}es" if noun.endswith("ch") else f"{number} {noun}s"


def print_standing(
    console: Console, report: RunReport, query: Query, checkpoint: Path | None
) -> None:
    """Where a run was stopped, and how to go on."""
    where = "before the first answer"
    if report.answered is not None:
        where = f"everything before {instant_at(report.answered, query)} is answered"
    console.print(f"stopped: {where}")
    if checkpoint is None:
        console.print("nothing is kept to go on from; --checkpoint DIR does that")
    else:
        console.print(f"go on: {shlex.join(['thalweg', *sys.argv[1:]])}")


def print_report(console: Console, report: RunReport, queries: list[Query]) -> None:
    """What happened, in a few lines."""
    for name, counts in report.streams.items():
        aside = [
            counted(number, "row") + f" {what}"
            for number, what in ((counts.late, "late"), (counts.rejected, "rejected"))
            if number
        ]
        console.print(
            f"{name}: {counted(counts.accepted, 'row')}" + "".join(f", {text}" for text in aside)
        )
    for query in queries:
        line = f"{query.name}: {counted(report.records[query.name], 'record')}"
        failures = report.failures[query.name]
        if failures:
            line += f", {counted(failures, 'failed call')} (NULL instead)"
        if query.name in report.unwritten:
            line += ", not written (no sink; --out DIR writes every query)"
        console.print(line)
    if report.went_on:
        console.print(f"note: went on after {counted(report.went_on, 'batch')} of earlier runs")
    for note in report.notes:
        console.print(f"note: {note}")
    for path in (*report.files, *report.put_aside):
        console.print(f"wrote {path}")
