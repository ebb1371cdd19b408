"""Two orders that run in turn until it is clear which one is better."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from thalweg.adapt.drops import Order

# Stretches that each of two orders has before they are compared,
TRIAL_STRETCHES = 4
# if it was not clear before: a gain is that is to be so large, if its root is seen at once.
_CLEAR_GAIN = 1.1
# Stretches after which an order that is slower by so much is not run again.
_ENOUGH_OF_A_LOSS, _CLEAR_LOSS = 2, 0.9
# A new order stays if it is not dearer than the old one by more than noise.
TOLERABLE = 1 / 1.02


@dataclass(frozen=True, slots=True)
class Change:
    """An order instead of another one: how many times faster it was to be, and was. If it was
    not, it was taken back."""

    before: Order
    after: Order
    expected: float
    measured: float
    is_kept: bool


@dataclass
class OrderTrial:
    """`old` and `new` are the times for a row, by stretch. The middle one of them counts: a
    stretch that was disturbed says nothing about its order. If the new order has proved itself
    under the same conditions, it must have its least gain in one stretch, and that is all.
    `is_own`: it was found here, not suggested by others."""

    before: Order
    after: Order
    expected: float
    has_proved_itself: bool = False
    least_gain: float = TOLERABLE
    is_own: bool = True
    old: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    _stretches: int = 0

    @property
    def turn(self) -> Order:
        """New, old, old, new: a machine that becomes slower meets both."""
        return self.after if self._stretches % 4 in (0, 3) else self.before

    def add(self, order: Order, per_row: float) -> None:
        (self.new if order == self.after else self.old).append(per_row)
        self._stretches += 1

    @property
    def gain(self) -> float:
        return median(self.old) / max(median(self.new), 1e-9)

    @property
    def is_over(self) -> bool:
        each = min(len(self.old), len(self.new))
        if not each or each >= TRIAL_STRETCHES:
            return each > 0
        if self.has_proved_itself and self.gain >= self.least_gain:
            return True
        if self.expected >= _CLEAR_GAIN and self.gain**2 >= self.expected:
            return True
        return each >= _ENOUGH_OF_A_LOSS and self.gain < _CLEAR_LOSS

    def outcome(self) -> Change:
        is_kept = self.gain >= self.least_gain
        return Change(self.before, self.after, self.expected, self.gain, is_kept)
