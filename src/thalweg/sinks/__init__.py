"""Where answers go: one file per connector."""

from thalweg.connectors import ConnectorKind

SINKS: dict[str, ConnectorKind] = {
    name: ConnectorKind(name, {}) for name in ("csv", "jsonl", "parquet", "console")
}

__all__ = ["SINKS"]
