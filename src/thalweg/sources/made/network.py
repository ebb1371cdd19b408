"""Packets on their way through a network: links C, B and O, one after the other.

One in ten packets of the customer's link C is seen on the backbone B, where ten times
as many pass, and one in ten of those on the outgoing link O. Which ones, and how they
are mixed on the way, is chance: packets of one stretch of time reach the next link in
the following stretch, in another order. So a packet is later on each link than on the
one before, by at most the delay, as long as the rate is the one that was asked for.

On the way some get lost: in their place others pass. Stragglers reach B some stretches
after the others, in places of their own, so that nobody is seen twice.
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

# A straggler is so many stretches later than the others; two of them make the delay.
_STRAGGLES = 8

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
        stretch = self._stretch(self.choices.delay_out) * _ONE_IN
        forwarded, known = self._before(self.numbers, stretch, 20)
        chosen = forwarded * _ONE_IN + self._shared.below(21, forwarded, _ONE_IN)
        arrives = known & ~self._happens(22, forwarded, self.choices.loss)
        return np.where(arrives, self._on_backbone(np.maximum(chosen, 0)), self.numbers * 4 + 3)

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

    def _stretch(self, delay: float) -> int:
        """How many packets of C that go on are in half of a delay, at most."""
        packets = min(self.choices.rate * delay / 2, _MOST_MIXED)
        return max(1, int(packets) // ROWS_PER_BLOCK) * ROWS_PER_BLOCK // _ONE_IN

    def _on_backbone(self, numbers: Numbers) -> Numbers:
        """Of a hundred packets on B, one is from C: at one place, or as a straggler half a
        round from there."""
        group, stretch = numbers // _ROUND, self._stretch(self.choices.delay)
        forwarded, known = self._before(group, stretch, 10)
        place = self._shared.below(11, group, _ROUND)
        on_time = known & (numbers % _ROUND == place) & ~self._straggles(forwarded)
        if self.choices.stragglers:
            earlier = forwarded - _STRAGGLES * stretch
            late_place = numbers % _ROUND == (place + _ROUND // 2) % _ROUND
            late = (earlier >= 0) & late_place & self._straggles(earlier)
            forwarded, on_time = np.where(late, earlier, forwarded), on_time | late
        arrives = on_time & ~self._happens(13, forwarded, self.choices.loss)
        packet = forwarded * _ONE_IN + self._shared.below(12, forwarded, _ONE_IN)
        return np.where(arrives, packet * 2, numbers * 4 + 1)

    def _straggles(self, forwarded: Numbers) -> Flags:
        return self._happens(14, forwarded, self.choices.stragglers)

    def _happens(self, lane: int, numbers: Numbers, share: float) -> Flags:
        if not share:
            return np.zeros(len(numbers), np.bool_)
        happens: Flags = self._shared.share(lane, numbers) < share
        return happens

    def _before(self, arrived: Numbers, stretch: int, lane: int) -> tuple[Numbers, Flags]:
        """The group of the link before that a packet is from, one stretch earlier in another
        order; whether there is one."""
        own, place = np.divmod(arrived, stretch)
        stretches, which = np.unique(own, return_inverse=True)
        every = stretches[:, None] * stretch + np.arange(stretch)
        order = np.argsort(self._shared.words(lane, every.ravel()).reshape(every.shape), axis=1)
        before: Numbers = (own - 1) * stretch + order[which, place]
        return before, before >= 0
