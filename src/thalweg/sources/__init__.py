"""Where rows come from: one file per connector."""

from thalweg.connectors import ConnectorKind
from thalweg.sources import csv, generator, jsonl, memory, parquet
from thalweg.sources.base import (
    Accepted,
    Mark,
    ReadRequest,
    Reject,
    SourceKind,
    files_now,
    files_of,
    is_live,
)

SOURCES: dict[str, SourceKind] = {
    "csv": SourceKind("csv", csv.OPTIONS, csv.read, csv.check, True, csv.read_on),
    "jsonl": SourceKind("jsonl", jsonl.OPTIONS, jsonl.read, jsonl.check, True, jsonl.read_on),
    "parquet": SourceKind(
        "parquet", parquet.OPTIONS, parquet.read, parquet.check, reads_files=True
    ),
    "generator": SourceKind("generator", generator.OPTIONS, generator.read, generator.check),
    "memory": SourceKind("memory", memory.OPTIONS, memory.read, memory.check),
}

__all__ = [
    "SOURCES",
    "Accepted",
    "ConnectorKind",
    "Mark",
    "ReadRequest",
    "Reject",
    "SourceKind",
    "files_now",
    "files_of",
    "is_live",
]
