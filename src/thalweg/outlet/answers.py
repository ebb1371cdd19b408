"""The records that a job has written, in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from thalweg.answers import Change
from thalweg.operators.answer import Records, no_records
from thalweg.segments import stored_records
from thalweg.shard.step import result_path
from thalweg.types import Schema
from thalweg.vector.column import joined


def records_of(root: Path, query: str, schema: Schema, shards: int) -> Iterator[Records]:
    """The records of a query, batch by batch: each batch has a stretch of time of its own."""
    for folder in sorted((root / "results").glob("*")):
        paths = (result_path(root, int(folder.name), query, shard) for shard in range(shards))
        parts = [stored_records(path, schema) for path in paths if path.exists()]
        if parts:
            yield _together(parts, schema).in_order()


def answer_of(root: Path, query: str, schema: Schema, shards: int) -> Records:
    """All records of a query, in the order of time."""
    return _together(list(records_of(root, query, schema, shards)), schema)


def changes_of(root: Path, query: str, schema: Schema, shards: int) -> Iterator[Change]:
    for records in records_of(root, query, schema, shards):
        yield from records.changes()


def _together(parts: list[Records], schema: Schema) -> Records:
    if not parts:
        return no_records(schema)
    if len(parts) == 1:
        return parts[0]
    return Records(
        tuple(joined([part.columns[i] for part in parts]) for i in range(len(schema))),
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )
