"""Do rows still behave as they did when the filters were last asked?"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import sqrt

# Another part of the rows that reach a filter, and pass it, is a change, if so many rows are
# looked at. Of few that reach it, chance makes the part another one: by half of this divided by
# the root of their number, on average.
_CHANGE, _ROWS, _CHANCE = 0.03, 8192, 2.0
# Fewer rows that take so many nanoseconds are looked at, too.
_NANOS = 20_000_000
_FEWEST = 256
# Rows that take so many times as long as they did are a change, too; the shortest of the last
# few stretches counts.
_SLOWER, _STRETCHES = 1.3, 3
# A change that is seen so many times one after the other is none of those that come and go.
LASTING = 8


class Lookout:
    """Rows are counted that reach each position and that leave the last one; `is_slower` if they
    take longer, `has_changed` if they do or other parts of them pass, `is_lasting` if these do
    for long.

    `expected` are the counts of a profile; a change may have come with what happened since. If
    they are met, or not known, those that are seen first are what is compared with.
    """

    def __init__(self, expected: Sequence[int] | None = None, lasting: int = LASTING) -> None:
        self.is_slower = False
        self._times_changed, self._lasting = 0, lasting
        self._known = expected
        self._is_sure = False
        self._few: Sequence[int] | None = None
        self._nanos = 0.0
        self._took = 0.0
        self._last: deque[float] = deque(maxlen=_STRETCHES)

    @property
    def has_changed(self) -> bool:
        return self.is_slower or self._times_changed > 0

    @property
    def is_lasting(self) -> bool:
        return self._times_changed >= self._lasting

    @property
    def last(self) -> float | None:
        """What a row took, lately."""
        return self._last[-1] if self._last else None

    def see(self, counts: Sequence[int], per_row: float) -> None:
        """A stretch of rows, and what each took."""
        self._last.append(per_row)
        self._nanos += counts[0] * per_row
        if self._few is not None:
            counts = [a + b for a, b in zip(self._few, counts, strict=True)]
        if counts[0] < _ROWS and self._nanos < _NANOS:
            self._few = counts
            return
        self._few, self._nanos = None, 0.0
        if self._known is not None and _differ(self._known, counts):
            self._times_changed += 1
        else:
            self._times_changed = 0
            if not self._is_sure:
                self._known, self._is_sure = counts, True
        if len(self._last) == _STRETCHES:
            least = min(self._last)
            self._took = self._took or least
            self.is_slower = least > _SLOWER * self._took


def _differ(then: Sequence[int], now: Sequence[int]) -> bool:
    """Whether some filter lets another part of the rows pass that reach it, or a look-up
    multiplies them otherwise."""
    reached, before = now[0], then[0]
    for left, left_then in zip(now[1:], then[1:], strict=True):
        if reached < _FEWEST or not before:
            return False
        change, whole = abs(left * before - left_then * reached), reached * max(before, left_then)
        if change > _CHANGE * whole:
            chance = _CHANCE * sqrt(1 / reached + 1 / before)
            if change > (_CHANGE + chance) * whole:
                return True
        reached, before = left, left_then
    return False
