"""Made-up streams, the same for the same seed: for demos, documentation, tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thalweg.connectors import OptionSpec
from thalweg.errors import did_you_mean
from thalweg.functions.cast import parse_timestamp
from thalweg.functions.registry import Failure
from thalweg.sources.base import Accepted, ReadRequest, Reject, not_null
from thalweg.sources.made.models import MODELS
from thalweg.sources.made.network import LINKS
from thalweg.sources.made.noise import Noise
from thalweg.sources.made.rows import Choices, Column, Model
from thalweg.sources.made.times import Times, bursts, drift

_START = "2026-01-05 09:30:00"
_ROWS, _ENDLESS = 1000, 1 << 60

OPTIONS = {
    "rows": OptionSpec(int, None, "how many rows to make: 1000, or no end of them if live"),
    "live": OptionSpec(bool, False, "whether rows come when the clock is at their event time"),
    "rate": OptionSpec(float, 10.0, "rows per second of event time, outside of bursts"),
    "burst": OptionSpec(float, 1.0, "how many times as many rows come in a burst"),
    "burst_every": OptionSpec(float, 60.0, "seconds from one burst to the next"),
    "burst_for": OptionSpec(float, 5.0, "seconds that a burst takes"),
    "rate_drift": OptionSpec(float, 0.0, "how far the rate goes up and down, 0 to 0.95"),
    "drift": OptionSpec(float, 0.0, "how far values change their distribution, 0 to 1"),
    "drift_every": OptionSpec(float, 600.0, "seconds until a drift is back where it was"),
    "drift_steps": OptionSpec(int, 0, "in how many jumps that happens, 0 if little by little"),
    "link": OptionSpec(str, "C", "the link of a network: C, B or O"),
    "delay": OptionSpec(float, 1.0, "most seconds that a packet takes from link to link"),
    "delay_out": OptionSpec(float, None, "most seconds from B to O, if not the same"),
    "loss": OptionSpec(float, 0.0, "share of packets that get lost on the way to a link"),
    "stragglers": OptionSpec(float, 0.0, "share of packets that take up to 5 delays to B"),
    "seed": OptionSpec(int, 1, "another seed gives another stream"),
    "start": OptionSpec(str, None, f"the event time of the beginning, in UTC: {_START}"),
}

# How many rows are made at once where they are read one by one.
_ROWS_AT_ONCE = 4096


def check(request: ReadRequest) -> None:
    model = request.connector.location
    if model not in MODELS:
        raise request.error(
            f"there is no generator {model!r}",
            detail="Generators are: " + ", ".join(f"'{name}'" for name in MODELS) + ".",
            hint=did_you_mean(model or "", MODELS),
        )
    given = MODELS[model].columns
    for column in request.columns:
        if given.get(column.name.lower()) != column.type:
            listing = ", ".join(f"{name} {type_}" for name, type_ in given.items())
            raise request.error(
                f"generator '{model}' has no column {column}", detail=f"It makes: {listing}."
            )
    option = request.connector.option
    wrong = {
        "rows must not be negative": (option("rows") or 0) < 0,
        "start does not go with live: that begins when the job does": option("live")
        and option("start") is not None,
        "rate must be between 1e-6 and 1e9": not 1e-6 <= option("rate") <= 1e9,
        "burst must be positive": not 0 < option("burst") <= 1e6,
        "burst_for must be between 0 and burst_every": not 0
        < option("burst_for")
        < option("burst_every")
        <= 1e9,
        "rate_drift must be between 0 and 0.95": not 0 <= option("rate_drift") <= 0.95,
        "drift must be between 0 and 1": not 0 <= option("drift") <= 1,
        "drift_every must be positive": not 0 < option("drift_every") <= 1e9,
        "drift_steps must be between 0 and 1000": not 0 <= option("drift_steps") <= 1000,
        "delay must be positive": not 0 < option("delay") <= 1e6,
        "delay_out must be positive": not 0 < _delay_out(option) <= 1e6,
        "loss must be between 0 and 1": not 0 <= option("loss") <= 1,
        "stragglers must be between 0 and 1": not 0 <= option("stragglers") <= 1,
        "link must be 'C', 'B' or 'O'": option("link") not in LINKS,
    }
    for complaint, is_wrong in wrong.items():
        if is_wrong:
            raise request.error(f"option {complaint}")
    try:
        parse_timestamp(option("start") or _START, "UTC")
    except Failure as failure:
        raise request.error(f"option start of generator: {failure}") from None


def _delay_out(option: Callable[[str], Any]) -> float:
    return float(option("delay") if option("delay_out") is None else option("delay_out"))


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    check(request)
    made = Generated(request)
    for first in range(0, made.length, _ROWS_AT_ONCE):
        yield from made.rows(range(first, min(first + _ROWS_AT_ONCE, made.length)))


@dataclass(frozen=True)
class Generated:
    """The rows that a generator makes, from any one on; they are counted from 0."""

    request: ReadRequest

    @property
    def length(self) -> int:
        option = self.request.connector.option
        rows = _ENDLESS if option("live") else _ROWS
        return rows if option("rows") is None else int(option("rows"))

    def columns(self, first: int, count: int, which: Sequence[int]) -> list[Column]:
        """Some of the declared columns of consecutive rows."""
        numbers = np.arange(first, first + count, dtype=np.int64)
        rows = self._model.rows(self._noise, self._choices, numbers, self.times.of(first, count))
        return [getattr(rows, self.request.columns[i].name.lower()) for i in which]

    def rows(self, numbers: Sequence[int]) -> Iterator[Accepted | Reject]:
        """Some rows, one by one; their numbers grow."""
        if not numbers:
            return
        request, first = self.request, numbers[0]
        made = self.columns(first, numbers[-1] - first + 1, range(len(request.columns)))
        cells = [column.values() for column in made]
        for number in numbers:
            values = tuple(column[number - first] for column in cells)
            place = f"{request.connector.location}:{number + 1}"
            try:
                for i, value in enumerate(values):
                    not_null(value, i, request.columns, request.required)
            except Failure as failure:
                yield Reject.of(place, str(failure), values)
            else:
                yield Accepted(values, place)

    @cached_property
    def times(self) -> Times:
        option = self.request.connector.option
        return Times(
            self._noise,
            self._start,
            self._model.rate(self._choices),
            bursts(option("burst"), option("burst_every"), option("burst_for"))
            if option("burst") != 1
            else None,
            drift(option("rate_drift"), option("drift_every")) if option("rate_drift") else None,
        )

    @property
    def _start(self) -> int:
        option = self.request.connector.option
        if not option("live"):
            return parse_timestamp(option("start") or _START, "UTC")
        assert self.request.begun is not None, "what is live begins with its job"
        return self.request.begun

    @cached_property
    def _noise(self) -> Noise:
        connector = self.request.connector
        seed, link = connector.option("seed"), connector.option("link")
        return Noise(f"{connector.location} {link} {seed}")

    @cached_property
    def _choices(self) -> Choices:
        option = self.request.connector.option
        return Choices(
            option("seed"),
            option("drift"),
            option("drift_every"),
            option("drift_steps"),
            option("delay"),
            option("rate"),
            option("link"),
            _delay_out(option),
            option("loss"),
            option("stragglers"),
        )

    @property
    def _model(self) -> Model:
        return MODELS[self.request.connector.location or ""]
