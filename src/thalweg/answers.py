"""The form of every answer: records of an instant, a sign and the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thalweg.plan.names import unique_names
from thalweg.types import Schema


@dataclass(frozen=True, slots=True)
class Change:
    """One record: at `time`, in ticks of the query, a row entered (+) or left (-)."""

    time: int
    sign: str
    values: tuple[Any, ...]


def record_names(columns: Schema) -> list[str]:
    """`time`, `sign`, and the columns; a column of one of these names gets a number."""
    return unique_names(["time", "sign", *(column.name for column in columns)])
