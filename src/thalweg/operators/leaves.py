"""Where changes come from: source streams and stored relations."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from thalweg.operators.base import Moment
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, nothing, scaled
from thalweg.types import Schema
from thalweg.vector.column import from_values


class StreamRun:
    """The rows of a source stream, with the columns that are read and in our tick."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, columns: tuple[int, ...], schema: Schema, scale: int) -> None:
        self._columns = columns
        self._schema = schema
        self._scale = scale

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        if not inputs:
            return nothing(self._schema)
        (rows,) = inputs
        time = scaled(rows.start, self._scale)
        columns = tuple(rows.columns[i] for i in self._columns)
        return Delta(columns, time, time, rows.weight, rows.position)


class ReceivedRun:
    """What an exchange brought, as it was sent."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        return inputs[0] if inputs else nothing(self._schema)


class TableRun:
    """A relation that is the same at every instant."""

    STATE: ClassVar[tuple[str, ...]] = ("_rows",)

    def __init__(self, rows: list[tuple[Any, ...]], schema: Schema) -> None:
        self._rows: list[tuple[Any, ...]] | None = rows
        self._schema = schema

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        rows, self._rows = self._rows, None
        if not rows:
            return nothing(self._schema)
        return Delta(
            tuple(
                from_values([row[i] for row in rows], f.type) for i, f in enumerate(self._schema)
            ),
            np.full(len(rows), BEFORE_TIME),
            np.full(len(rows), FOREVER),
            np.ones(len(rows), np.int64),
        )

    def next_time(self) -> None:
        """All is said at once."""
