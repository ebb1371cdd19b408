"""Answers that shards write themselves: part files of sinks that are folders.

A part is written under a name of its own and published by the outlet, so that it
appears whole and once. Records that are too few for a file wait as part of the
shard's state until they are enough, or until the control entry says to flush.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from thalweg.operators.answer import Records, joined_records
from thalweg.record_segments import Part
from thalweg.shard.manifest import Input
from thalweg.sinks.columns import write_records
from thalweg.work import PartSink

_ENOUGH = 50_000
STAGED = "_staged"


class Parts:
    def __init__(self, sinks: tuple[PartSink, ...], shard: int) -> None:
        self._sinks = sinks
        self._shard = shard
        self.queries = frozenset(sink.query.name for sink in sinks)
        self.waiting: dict[str, list[Records]] = {}

    def add(self, answers: Mapping[str, Records]) -> None:
        for query in self.queries:
            records = answers.get(query)
            if records is not None and len(records):
                self.waiting.setdefault(query, []).append(records)

    def due(self, given: Input) -> list[Part]:
        """Write what is enough for a file."""
        written = [
            self._write(sink, given.batch)
            for sink in self._sinks
            if self._is_due(sink.query.name, given)
        ]
        self.forget_due(given)
        return written

    def forget_due(self, given: Input) -> None:
        for query in [query for query in self.waiting if self._is_due(query, given)]:
            del self.waiting[query]

    def _is_due(self, query: str, given: Input) -> bool:
        size = sum(map(len, self.waiting.get(query, ())))
        return size > 0 and (given.flush or size >= _ENOUGH)

    def _write(self, sink: PartSink, batch: int) -> Part:
        schema = sink.query.plan.schema
        records = joined_records(self.waiting[sink.query.name], schema)
        name = f"part-{batch:09d}-{self._shard:03d}.{sink.suffix}"
        staged = sink.folder / STAGED / f"{secrets.token_hex(8)}-{name}"
        write_records(staged, sink.format, sink.query, [records])
        return Part(str(staged), str(sink.folder / name))
