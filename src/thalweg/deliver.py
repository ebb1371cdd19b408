"""Records to where they go: files, other sinks, the terminal."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from contextlib import closing

from thalweg.answers import Change
from thalweg.catalog import Query
from thalweg.outputs import Target
from thalweg.sinks import SINKS, SinkRequest, Writer
from thalweg.sinks.whole_file import whole_file


def stamped(query: Query, changes: Iterable[Change]) -> Iterator[tuple[int, Query, Change]]:
    for change in changes:
        yield change.time * query.tick.value, query, change


def print_merged(answers: list[Iterator[tuple[int, Query, Change]]]) -> None:
    """The records of several queries on the terminal, in the order of time."""
    writers: dict[str, Writer] = {}
    for _, query, change in heapq.merge(*answers, key=lambda record: record[0]):
        if query.name not in writers:
            writers[query.name] = SINKS["console"].open(SinkRequest(query, None))
        writers[query.name].write(change)
    for writer in writers.values():
        writer.close()


def deliver(changes: Iterable[Change], target: Target) -> None:
    if target.path is None:
        _hand_over(changes, target.kind.open(SinkRequest(target.query, None)))
        return
    with whole_file(target.file) as path:
        _hand_over(changes, target.kind.open(SinkRequest(target.query, path)))


def _hand_over(changes: Iterable[Change], writer: Writer) -> None:
    with closing(writer):
        for change in changes:
            writer.write(change)
