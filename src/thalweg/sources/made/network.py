"""Packets on their way through a network: links C, B and O, one after the other.

One in ten packets of the customer's link C is seen on the backbone B, where ten times
as many pass, and one in ten of those on the outgoing link O. Which ones, and how they
are mixed on the way, is chance: packets of one stretch of time reach the next link in
the following stretch, in another order. So a packet is later on each link than on the
one before, by at most the delay, as long as the rate is the one that was asked for.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from thalweg.sources.made.noise import Noise, Numbers
from thalweg.sources.made.rows import Column, Rows
from thalweg.sources.made.times import ROWS_PER_BLOCK

Flags = npt.NDArray[np.bool_]

# Packets of each link for one of C; one in ten of a link goes on to the next.
LINKS = {"C": 1, "B": 10, "O": 1}
_ONE_IN = 10
# The place of a packet from C among as many of B.
_ROUND = LINKS["B"] * _ONE_IN

# All packets of a stretch have to be put in order to find one of them.
_MOST_MIXED = 20_000

_LARGEST = 2**63 - 1
_ODD = 0x5851F42D4C957F2D


class Network(Rows):
    @cached_property
    def packet(self) -> Numbers:
        """Which packet a row is: even numbers came from C, odd ones entered elsewhere."""
        match self.choices.link:
            case "C":
                return self.numbers * 2
            case "B":
                return self._on_backbone(self.numbers)
        forwarded, known = self._before(self.numbers, self._stretch * _ONE_IN, 20)
        chosen = forwarded * _ONE_IN + self._shared.below(21, forwarded, _ONE_IN)
        return np.where(known, self._on_backbone(np.maximum(chosen, 0)), self.numbers * 4 + 3)

    @cached_property
    def pid(self) -> Column:
        scrambled = (self.packet.view(np.uint64) * np.uint64(_ODD)) & np.uint64(_LARGEST)
        return Column(scrambled.view(np.int64))

    @cached_property
    def size(self) -> Column:
        return Column(40 + self._shared.below(30, self.packet, 1461))

    @cached_property
    def _shared(self) -> Noise:
        """Chance that all links know of."""
        return Noise(f"network {self.choices.seed}")

    @property
    def _stretch(self) -> int:
        """How many packets of C that go on are in half of the delay, at most."""
        packets = min(self.choices.rate * self.choices.delay / 2, _MOST_MIXED)
        return max(1, int(packets) // ROWS_PER_BLOCK) * ROWS_PER_BLOCK // _ONE_IN

    def _on_backbone(self, numbers: Numbers) -> Numbers:
        """Of a hundred packets on B, one is from C."""
        group = numbers // _ROUND
        forwarded, known = self._before(group, self._stretch, 10)
        from_customer = known & (numbers % _ROUND == self._shared.below(11, group, _ROUND))
        packet = forwarded * _ONE_IN + self._shared.below(12, forwarded, _ONE_IN)
        return np.where(from_customer, packet * 2, numbers * 4 + 1)

    def _before(self, arrived: Numbers, stretch: int, lane: int) -> tuple[Numbers, Flags]:
        """The group of the link before that a packet is from, one stretch earlier in another
        order; whether there is one."""
        own, place = np.divmod(arrived, stretch)
        stretches, which = np.unique(own, return_inverse=True)
        every = stretches[:, None] * stretch + np.arange(stretch)
        order = np.argsort(self._shared.words(lane, every.ravel()).reshape(every.shape), axis=1)
        before: Numbers = (own - 1) * stretch + order[which, place]
        return before, before >= 0
