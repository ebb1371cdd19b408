"""Chance that can be asked for again: numbers that follow from a seed, a lane and a number."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

_STEP = 0x9E3779B97F4A7C15
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_HIGH_BITS = 2.0**-53


class Noise:
    """One source of chance; `lane`s of it have nothing to do with each other."""

    def __init__(self, seed: str) -> None:
        self._seed = int.from_bytes(blake2b(seed.encode(), digest_size=8).digest(), "little")

    def words(self, lane: int, numbers: Numbers) -> npt.NDArray[np.uint64]:
        """64 random bits for each number: splitmix64 at any place of its sequence."""
        start = np.uint64((self._seed + lane * _STEP * _STEP) % 2**64)
        mixed = (numbers.view(np.uint64) + np.uint64(1)) * np.uint64(_STEP) + start
        mixed ^= mixed >> np.uint64(30)
        mixed *= _FIRST
        mixed ^= mixed >> np.uint64(27)
        mixed *= _SECOND
        mixed ^= mixed >> np.uint64(31)
        return mixed

    def share(self, lane: int, numbers: Numbers) -> Reals:
        """Between 0 and 1, evenly."""
        return (self.words(lane, numbers) >> np.uint64(11)).astype(np.float64) * _HIGH_BITS

    def below(self, lane: int, numbers: Numbers, end: int) -> Numbers:
        """Whole numbers from 0 up to, not including, a small end."""
        upper = self.words(lane, numbers) >> np.uint64(32)
        return ((upper * np.uint64(end)) >> np.uint64(32)).view(np.int64)

    def bell(self, lane: int, numbers: Numbers) -> Reals:
        """Around 0 with a deviation of 1, like a normal distribution without its far tails."""
        quarters = self.words(lane, numbers).view(np.uint16).reshape(-1, 4)
        spread: Reals = quarters.sum(axis=1, dtype=np.int64) * (3**0.5 / 2**16) - 2 * 3**0.5
        return spread

    def wander(self, lane: int, places: Reals) -> Reals:
        """A curve between -1 and 1 with a random height at every whole place."""
        left = np.floor(places)
        at = left.astype(np.int64)
        part = places - left
        heights = [self.share(lane, at + side) for side in (0, 1)]
        curve: Reals = 2 * (heights[0] + (heights[1] - heights[0]) * part) - 1
        return curve
