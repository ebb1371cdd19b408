"""Where answers go: one file per connector."""

from thalweg.connectors import ConnectorKind
from thalweg.sinks import console, csv, jsonl, parquet
from thalweg.sinks.base import OpenSink, SinkKind, SinkRequest, Writer

SINKS: dict[str, SinkKind] = {
    "csv": SinkKind("csv", csv.OPTIONS, csv.open_sink, "csv"),
    "jsonl": SinkKind("jsonl", jsonl.OPTIONS, jsonl.open_sink, "jsonl"),
    "parquet": SinkKind("parquet", parquet.OPTIONS, parquet.open_sink, "parquet"),
    "console": SinkKind("console", console.OPTIONS, console.open_sink),
}

__all__ = [
    "SINKS",
    "ConnectorKind",
    "OpenSink",
    "SinkKind",
    "SinkRequest",
    "Writer",
]
