"""What can be made."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from thalweg.sources.made.network import LINKS, Network
from thalweg.sources.made.noise import Noise, Numbers, Reals
from thalweg.sources.made.rows import Column, Model, Rows
from thalweg.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP

_SYMBOLS = ("ACME", "BOLT", "CRUX", "DUNE", "ECHO")
# How far prices go, as a share of themselves, within so many seconds.
_SWINGS = ((5, 0.004), (30, 0.01), (300, 0.03), (3600, 0.08))


class _Market(Rows):
    """Prices that wander: the same for all streams of one seed."""

    @cached_property
    def which(self) -> Numbers:
        return self.pick(10, len(_SYMBOLS))

    @cached_property
    def symbol(self) -> Column:
        return Column(self.which, _SYMBOLS)

    @cached_property
    def prices(self) -> Reals:
        noise = Noise(f"prices of {self.choices.seed}")
        starts = 20 + 180 * noise.share(0, np.arange(len(_SYMBOLS)))
        swing = np.zeros(len(self.numbers))
        for lane, (seconds, share) in enumerate(_SWINGS, 1):
            # Each symbol has a stretch of the curve of its own.
            places = self.seconds / seconds + self.which * 1e7
            swing += share * noise.wander(lane, places)
        prices: Reals = starts[self.which] * np.exp(swing)
        return prices


class Trades(_Market):
    """Now and then a large one."""

    @cached_property
    def price(self) -> Column:
        return Column(np.round(self.prices, 2))

    @cached_property
    def volume(self) -> Column:
        sizes = np.array([10, 20, 50, 100, 200])
        volume = sizes[self.noise.below(13, self.numbers, len(sizes))]
        large = self.noise.share(14, self.numbers) < 0.03 * (1 + self.wave())
        return Column(np.where(large, 50 * volume, volume))


class Quotes(_Market):
    """Bids and asks around the prices."""

    @cached_property
    def spread(self) -> Reals:
        return np.abs(self.noise.bell(13, self.numbers)) * 0.02 + 0.01

    @cached_property
    def bid(self) -> Column:
        return Column(np.round(self.prices - self.spread, 2))

    @cached_property
    def ask(self) -> Column:
        return Column(np.round(self.prices + self.spread, 2))


_SENSORS = tuple(f"s{i:02d}" for i in range(8))


class Readings(Rows):
    """Sensors around a common temperature; one in a hundred readings is missing."""

    @cached_property
    def which(self) -> Numbers:
        return self.pick(10, len(_SENSORS))

    @cached_property
    def sensor(self) -> Column:
        return Column(self.which, _SENSORS)

    @cached_property
    def temperature(self) -> Column:
        offsets = 2 * self.noise.bell(12, np.arange(len(_SENSORS)))
        room = 21 + 3 * self.noise.wander(13, self.seconds / 600)
        room += 0.5 * self.noise.wander(14, self.seconds / 30)
        own = room + offsets[self.which] + 0.1 * self.noise.bell(15, self.numbers)
        missing = self.noise.share(16, self.numbers) < 0.01 * (1 + self.wave())
        return Column(np.round(own + 5 * self.wave(), 2), missing=missing)


_HOSTS = 20
_SOURCES = tuple(f"10.0.0.{i}" for i in range(_HOSTS))
_TARGETS = tuple(f"10.0.1.{i}" for i in range(_HOSTS))


class Packets(Rows):
    """Packets between a few hosts; some hosts talk much more than others, each with three."""

    @cached_property
    def pid(self) -> Column:
        return Column(self.numbers + 1)

    @cached_property
    def source(self) -> Numbers:
        rarity = -4 * np.log1p(-self.noise.share(10, self.numbers)) * (1 + self.wave())
        return np.minimum(rarity.astype(np.int64), _HOSTS - 1)

    @cached_property
    def src(self) -> Column:
        return Column(self.source, _SOURCES)

    @cached_property
    def dst(self) -> Column:
        return Column((self.source * 7 + self.pick(11, 3)) % _HOSTS, _TARGETS)

    @cached_property
    def size(self) -> Column:
        sizes = np.array([40, 60, 576, 1500])
        place = self.noise.share(13, self.numbers) ** (1 + 0.9 * self.wave())
        return Column(sizes[np.minimum((place * 4).astype(np.int64), 3)])


class Numbered(Rows):
    """A key and four numbers from 0 to 999, half of them below 500.

    Where values drift, the share below 500 of each goes up and down, one after the other.
    """

    @cached_property
    def key(self) -> Column:
        return Column(self.noise.below(10, self.numbers, 1000))

    @cached_property
    def a(self) -> Column:
        return self._number(0)

    @cached_property
    def b(self) -> Column:
        return self._number(1)

    @cached_property
    def c(self) -> Column:
        return self._number(2)

    @cached_property
    def d(self) -> Column:
        return self._number(3)

    def _number(self, which: int) -> Column:
        low = 0.5 + 0.45 * self.wave(which / 4)
        place = self.noise.share(11 + which, self.numbers)
        number = np.where(place < low, place / low * 500, 500 + (place - low) / (1 - low) * 500)
        return Column(np.minimum(number.astype(np.int64), 999))


MODELS = {
    "trades": Model(
        {"symbol": STRING, "price": DOUBLE, "volume": INT, "ts": TIMESTAMP},
        Trades,
    ),
    "quotes": Model({"symbol": STRING, "bid": DOUBLE, "ask": DOUBLE, "ts": TIMESTAMP}, Quotes),
    "readings": Model({"sensor": STRING, "temperature": DOUBLE, "ts": TIMESTAMP}, Readings),
    "packets": Model(
        {"pid": BIGINT, "src": STRING, "dst": STRING, "size": INT, "ts": TIMESTAMP}, Packets
    ),
    "numbers": Model(
        {"key": BIGINT, "a": INT, "b": INT, "c": INT, "d": INT, "ts": TIMESTAMP}, Numbered
    ),
    "network": Model(
        {"pid": BIGINT, "size": INT, "ts": TIMESTAMP},
        Network,
        lambda choices: choices.rate * LINKS[choices.link],
    ),
}
