"""Window stores that several joins read.

A store has the rows of one stream by one key, and serves its most patient reader:
how long a row of a RANGE window lasts is the reader's own business, as is which of
the columns it looks at. A batch's rows are in the store before any join looks; a join
that is to see only the rows of earlier batches says so.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from thalweg.kernels.probe import START
from thalweg.operators.base import Moment
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, Times, later, nothing
from thalweg.operators.store import Store
from thalweg.types import Schema
from thalweg.vector.column import Columns, Vector


class StoreRun:
    """Keeps the rows of its input whose keys are not NULL: no other row meets them."""

    STATE: ClassVar[tuple[str, ...]] = ("store",)

    def __init__(self, schema: Schema, key: tuple[int, ...], has_ends: bool) -> None:
        self.schema = schema
        self.key = key
        self.store = Store(schema, key, has_ends)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        keep = np.ones(len(delta), np.bool_)
        for i in self.key:
            if delta.columns[i].has_nulls:
                keep &= delta.columns[i].present()
        self.store.add(delta.where(keep))
        return nothing(self.schema)

    def next_time(self) -> None:
        """A store says nothing by itself."""


class StoreView:
    """A store as one member of a join sees it.

    `columns` are the positions of the member's columns in the store. `span` is how long
    its rows last, None if they have ends of their own.
    """

    def __init__(self, run: StoreRun, columns: tuple[int, ...], span: int | None) -> None:
        self._run = run
        self._columns = columns
        self._span = span
        self._reader = run.store.new_reader()

    def first(self, keys: Columns, start: Times, end: Times, with_new: bool) -> Times:
        """The first slot of each probing row that meets it; see `Index.first`."""
        store = self._run.store
        return store.index.first(store.ring, keys, start, end, self._old(with_new), self._span)

    def probe(
        self, keys: Columns, start: Times, end: Times, with_new: bool, begin: Times | None = None
    ) -> tuple[Times, Times, Times, Times]:
        """Pairs (probing row, slot) and where they meet in time; see `Index.probe`."""
        store, old = self._run.store, self._old(with_new)
        known = () if begin is None else (begin,)
        return store.index.probe(store.ring, keys, start, end, old, self._span, *known)

    def _old(self, with_new: bool) -> int:
        ring, added = self._run.store.ring, self._run.store.added
        return ring.count if with_new else ring.count - added

    def some(self, count: int) -> tuple[Times, Times, Times]:
        """Slots of rows from all over the store, and when these begin and end."""
        store = self._run.store
        slots = store.ring.some(count)
        starts, last = store.index.records[slots, START], store.index.last(slots)
        return slots, starts, last if self._span is None else later(starts, self._span)

    def take(self, i: int, slots: Times) -> Vector:
        return self._run.store.take(self._columns[i], slots)

    def weights(self, slots: Times) -> Times | int:
        return self._run.store.weights(slots)

    def release(self, before: int) -> None:
        """Rows that have ended by an instant are not needed here any more."""
        bound = before
        if self._span is not None and before != FOREVER:
            bound = max(BEFORE_TIME + 1, before - self._span)
        self._run.store.release(self._reader, bound)
