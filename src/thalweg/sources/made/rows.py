"""A stretch of made-up rows, and their columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from thalweg.sources.made.noise import Noise, Numbers, Reals
from thalweg.types import Type

_MICROS = 1_000_000


@dataclass(frozen=True)
class Column:
    """Numbers, or texts as places in a list of words; `missing` are NULL."""

    data: npt.NDArray[Any]
    words: tuple[str, ...] | None = None
    missing: npt.NDArray[np.bool_] | None = None

    def values(self) -> list[Any]:
        listed: list[Any] = self.data.tolist()
        if self.words is not None:
            words = self.words
            listed = [words[place] for place in listed]
        if self.missing is None:
            return listed
        return [None if gone else v for v, gone in zip(listed, self.missing.tolist(), strict=True)]


@dataclass(frozen=True)
class Choices:
    """What the script says about a stream.

    `drift` is how far its values change, `drift_every` the seconds until they come back,
    `drift_steps` in how many jumps they do, if not little by little. The others are of packets
    on their way through a network.
    """

    seed: int
    drift: float
    drift_every: float
    drift_steps: int
    delay: float
    rate: float
    link: str
    delay_out: float
    loss: float
    stragglers: float


@dataclass(frozen=True)
class Rows:
    """Consecutive rows; subclasses have a property for each column that they make."""

    noise: Noise
    choices: Choices
    numbers: Numbers
    times: Numbers

    @cached_property
    def ts(self) -> Column:
        return Column(self.times)

    @cached_property
    def seconds(self) -> Reals:
        return self.times / _MICROS

    def wave(self, phase: float = 0.0) -> Reals | float:
        """Between -drift and drift, as time goes on; nothing where nothing drifts."""
        choices = self.choices
        if not choices.drift:
            return 0.0
        turns = self.seconds / choices.drift_every
        if choices.drift_steps:
            turns = np.floor(turns * choices.drift_steps) / choices.drift_steps
        turns += phase
        return choices.drift * np.sin(2 * np.pi * turns)

    def pick(self, lane: int, ends: int) -> Numbers:
        """One of several, each as likely as the others, or one of them more and more
        likely, in turn, the more there is of drift."""
        evenly = self.noise.below(lane, self.numbers, ends)
        if not self.choices.drift:
            return evenly
        turn = np.floor(self.seconds / self.choices.drift_every * ends).astype(np.int64) % ends
        chosen: Numbers = np.where(
            self.noise.share(lane + 1, self.numbers) < self.choices.drift / 2, turn, evenly
        )
        return chosen


@dataclass(frozen=True)
class Model:
    """A kind of stream: its columns, how its rows are made, and its rate by the one asked for."""

    columns: dict[str, Type]
    rows: type[Rows]
    rate: Callable[[Choices], float] = lambda choices: choices.rate
