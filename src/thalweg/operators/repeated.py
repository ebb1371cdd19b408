"""RSTREAM by steps: a relation, whole, at every multiple of some lengths of time.

A relation below windows that move in steps changes at multiples of these steps only,
and is evaluated at each of them. A row is therefore given out at every multiple inside
its stretch. Rows that are still there when a batch ends are carried into the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from thalweg.kernels.repeats import next_multiple, repeat_rows
from thalweg.operators.base import Moment, earlier
from thalweg.operators.counts import CountedRows
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, Times, nothing
from thalweg.plan.placed import Lasting, SteppedRstream
from thalweg.types import Schema
from thalweg.units import LAST_INSTANT
from thalweg.vector.column import Columns, Index, joined, taken


@dataclass(frozen=True, slots=True)
class Entries:
    """What slots have from some instants on, in the order of time: rows, so many times.

    `previous` is the entry before of the same slot, or -1.
    """

    columns: Columns
    slot: Index
    time: Times
    previous: Times
    weight: Times

    def __len__(self) -> int:
        return len(self.slot)


class Multiples:
    """The instants at which the relation is evaluated: multiples of some steps, up to its
    last change that is known.

    Without `lasting` every row leaves by itself, and nothing is there after that change.
    """

    def __init__(self, plan: SteppedRstream) -> None:
        self.steps = np.array(plan.steps, np.int64)
        self._lasting = plan.lasting
        self._done = self._last = BEFORE_TIME

    def stretch(self, moment: Moment) -> tuple[int, int]:
        """From where up to which instant the relation can be said now; never said again."""
        self._last = _last_change(self._lasting, moment.lasts)
        end = min(moment.frontier, self._last + 1)
        if moment.begin is None or end <= self._done:
            return self._done, self._done
        first, self._done = max(self._done, moment.begin), end
        return first, end

    def next(self, time: int) -> int:
        return next_multiple(self.steps, time)

    def certain(self, frontier: int) -> int:
        """Up to where all is said. Rows that are still there are said again as soon as one
        that comes makes time go on, even if its promise has long been further."""
        return frontier if frontier == FOREVER else min(frontier, self._last + 1)

    def next_time(self) -> int | None:
        """The instant at which the relation is evaluated next, if that is known."""
        if self._done == BEFORE_TIME:
            return None
        time = self.next(self._done)
        return time if time <= self._last else None


class Repeater:
    """Gives out what is there at every multiple."""

    def __init__(self, plan: SteppedRstream) -> None:
        self._schema: Schema = plan.schema
        self._multiples = Multiples(plan)
        empty = nothing(plan.schema)
        self._carried = Entries(empty.columns, *(np.empty(0, np.int64) for _ in range(4)))

    def step(self, entries: Entries | None, moment: Moment) -> Delta:
        """What there is to say before the frontier, all entries before it being known."""
        rows = self._carried if entries is None else self._followed_by(entries)
        answer = self._at_multiples(rows, moment)
        if rows is not self._carried:
            self._carry(rows)
        return answer

    def certain(self, frontier: int) -> int:
        return self._multiples.certain(frontier) if len(self._carried) else frontier

    def next_time(self) -> int | None:
        return self._multiples.next_time() if len(self._carried) else None

    def _at_multiples(self, rows: Entries, moment: Moment) -> Delta:
        first, end = self._multiples.stretch(moment)
        if first >= end:
            return nothing(self._schema)
        given = (rows.time, rows.previous, rows.weight > 0, self._multiples.steps, first, end)
        none = np.empty(0, np.int64)
        count = repeat_rows(*given, none, none)
        if not count:
            return nothing(self._schema)
        which, times = np.empty(count, np.int64), np.empty(count, np.int64)
        repeat_rows(*given, which, times)
        return Delta(taken(rows.columns, which), times, times, rows.weight.take(which))

    def _followed_by(self, entries: Entries) -> Entries:
        """The rows that were carried, and behind them what becomes of them."""
        carried, count = self._carried, len(self._carried)
        if not len(entries):
            return carried
        if not count:
            return entries
        previous = np.where(entries.previous < 0, -1, entries.previous + count)
        at = np.full(max(int(carried.slot.max()), int(entries.slot.max())) + 1, -1, np.int64)
        at[carried.slot] = np.arange(count)
        first = np.flatnonzero(entries.previous < 0)
        previous[first] = at[entries.slot[first]]
        return Entries(
            tuple(joined([a, b]) for a, b in zip(carried.columns, entries.columns, strict=True)),
            np.r_[carried.slot, entries.slot],
            np.r_[np.full(count, BEFORE_TIME), entries.time],
            np.r_[np.full(count, -1), previous],
            np.r_[carried.weight, entries.weight],
        )

    def _carry(self, rows: Entries) -> None:
        """Keep what is there at the end."""
        stays = rows.weight > 0
        stays[rows.previous[rows.previous >= 0]] = False
        kept = np.flatnonzero(stays)
        none = np.full(len(kept), -1)
        early = np.full(len(kept), BEFORE_TIME)
        self._carried = Entries(
            taken(rows.columns, kept), rows.slot[kept], early, none, rows.weight[kept]
        )


def _last_change(lasting: tuple[Lasting, ...], lasts: Mapping[str, int]) -> int:
    """The last instant at which a window changes because of the rows that came."""
    changes = [BEFORE_TIME]
    for window in lasting:
        if window.stream in lasts:
            last = lasts[window.stream] * window.scale
            edges = ((time // window.step + 1) * window.step for time in (last, last + window.span))
            final = LAST_INSTANT // window.step * window.step
            changes += [min(edge, final) for edge in edges]
    return max(changes) if lasting else FOREVER - 1


class RstreamRun:
    """RSTREAM by steps of any relation."""

    STATE: ClassVar[tuple[str, ...]] = ("_rows", "_repeater")

    def __init__(self, plan: SteppedRstream) -> None:
        self._rows = CountedRows(plan.schema, 1, by_form=True)
        self._repeater = Repeater(plan)

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        self._rows.add(0, inputs[0])
        steps = self._rows.steps(moment.frontier, lambda count: count)
        if steps is None:
            return self._repeater.step(None, moment)
        entries = Entries(steps.columns, steps.slot, steps.time, steps.previous, steps.after)
        return self._repeater.step(entries, moment)

    def certain(self, frontier: int) -> int:
        return self._repeater.certain(frontier)

    def next_time(self) -> int | None:
        return earlier(self._rows.next_time(), self._repeater.next_time())
