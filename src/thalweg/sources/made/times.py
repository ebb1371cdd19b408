"""Event times of made-up rows: so many per second, more in bursts, with a rate that drifts.

Rows come in blocks. A block has its stretch of time and its rows lie in it by chance,
in order. How many rows there are up to an instant is a growing function made of
straight lines that repeats itself, so it can be turned round: from a row to its time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.sources.made.noise import Noise, Numbers, Reals

ROWS_PER_BLOCK = 20
_LANE = 1
_MICROS = 1_000_000
# Longer than any time that a stream may have, and still exact enough.
_FARTHEST = 9.0e18
# A drifting rate changes so often in the time that it takes to come back.
_STEPS = 64


@dataclass(frozen=True)
class Pace:
    """A clock that runs fast and slow: in each round through `edges` it passes `amounts`."""

    edges: Reals
    amounts: Reals

    def passed(self, time: float) -> float:
        """How much has passed up to a time."""
        rounds, rest = divmod(time, float(self.edges[-1]))
        return float(rounds * self.amounts[-1] + np.interp(rest, self.edges, self.amounts))

    def times(self, amounts: Reals) -> Reals:
        """When so much has passed."""
        rounds, rest = np.divmod(amounts, self.amounts[-1])
        times: Reals = rounds * self.edges[-1] + np.interp(rest, self.amounts, self.edges)
        return times


def bursts(factor: float, every: float, length: float) -> Pace:
    """Faster by a factor for some seconds at the end of each so many."""
    quiet = every - length
    return Pace(np.array([0, quiet, every]), np.array([0, quiet, quiet + factor * length]))


def drift(share: float, every: float) -> Pace:
    """Up and down by a share in so many seconds."""
    edges = np.linspace(0, every, _STEPS + 1)
    middles = (np.arange(_STEPS) + 0.5) / _STEPS
    rates = 1 + share * np.sin(2 * np.pi * middles)
    return Pace(edges, np.concatenate([[0.0], np.cumsum(rates * every / _STEPS)]))


@dataclass(frozen=True)
class Times:
    """`start` is the instant of the beginning, in microseconds; `rate` is in rows per second."""

    noise: Noise
    start: int
    rate: float
    bursts: Pace | None = None
    drift: Pace | None = None

    def of(self, first: int, count: int) -> Numbers:
        """The times of consecutive rows; they never fall."""
        block, skipped = divmod(first, ROWS_PER_BLOCK)
        blocks = -(-(skipped + count) // ROWS_PER_BLOCK)
        numbers = np.arange(block * ROWS_PER_BLOCK, (block + blocks) * ROWS_PER_BLOCK)
        places = self.noise.share(_LANE, numbers).reshape(blocks, ROWS_PER_BLOCK)
        places.sort(axis=1)
        rows = numbers[::ROWS_PER_BLOCK, None] + places * ROWS_PER_BLOCK
        times = self._instants(rows.ravel()).reshape(blocks, ROWS_PER_BLOCK)
        edges = self._instants(np.arange(block, block + blocks + 1.0) * ROWS_PER_BLOCK)
        # Rounding must not let one block reach into the next.
        np.clip(times, edges[:-1, None], edges[1:, None], out=times)
        np.maximum.accumulate(times, axis=1, out=times)
        return times.ravel()[skipped : skipped + count]

    def until(self, instant: int) -> int:
        """How many rows have a time up to an instant, itself included."""
        if instant < self.start:
            return 0
        passed = (instant - self.start + 1) / _MICROS
        for pace in (self.bursts, self.drift):
            passed = passed if pace is None else pace.passed(passed)
        near = max(0, int(passed * self.rate) // ROWS_PER_BLOCK - 1) * ROWS_PER_BLOCK
        times = self.of(near, 3 * ROWS_PER_BLOCK)
        return near + int(np.searchsorted(times, instant, side="right"))

    def _instants(self, rows: Reals) -> Numbers:
        seconds = rows / self.rate
        for pace in (self.drift, self.bursts):
            seconds = seconds if pace is None else pace.times(seconds)
        instants: Numbers = np.minimum(seconds * _MICROS, _FARTHEST).astype(np.int64) + self.start
        return instants
