"""Made-up streams, the same for the same seed: for demos, documentation and tests."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from thalweg.connectors import OptionSpec
from thalweg.errors import did_you_mean
from thalweg.functions.cast import parse_timestamp
from thalweg.functions.registry import Failure
from thalweg.sources.base import Accepted, ReadRequest, Reject, not_null
from thalweg.types import BIGINT, DOUBLE, INT, STRING, TIMESTAMP, Type

OPTIONS = {
    "rows": OptionSpec(int, 1000, "how many rows to make"),
    "rate": OptionSpec(float, 10.0, "rows per second of event time, on average"),
    "seed": OptionSpec(int, 1, "another seed gives another stream"),
    "start": OptionSpec(str, "2026-01-05 09:30:00", "the event time of the beginning, in UTC"),
}

Row = dict[str, Any]

_SYMBOLS = ("ACME", "BOLT", "CRUX", "DUNE", "ECHO")


def _first_prices(seed: int) -> dict[str, float]:
    """Where prices start: the same for trades and quotes of one seed."""
    rng = random.Random(f"prices of {seed}")
    return {symbol: rng.uniform(20, 200) for symbol in _SYMBOLS}


def _trades(rng: random.Random, seed: int) -> Iterator[Row]:
    """Prices that wander, now and then a large trade."""
    prices = _first_prices(seed)
    while True:
        symbol = rng.choice(_SYMBOLS)
        prices[symbol] *= 1 + rng.gauss(0, 0.002)
        volume = rng.choice((10, 20, 50, 100, 200)) * (50 if rng.random() < 0.03 else 1)
        yield {"symbol": symbol, "price": round(prices[symbol], 2), "volume": volume}


def _quotes(rng: random.Random, seed: int) -> Iterator[Row]:
    """Bids and asks around prices that wander on their own."""
    prices = _first_prices(seed)
    while True:
        symbol = rng.choice(_SYMBOLS)
        prices[symbol] *= 1 + rng.gauss(0, 0.002)
        spread = abs(rng.gauss(0, 0.02)) + 0.01
        yield {
            "symbol": symbol,
            "bid": round(prices[symbol] - spread, 2),
            "ask": round(prices[symbol] + spread, 2),
        }


def _readings(rng: random.Random, seed: int) -> Iterator[Row]:
    """Sensors around a common temperature; one in a hundred readings is missing."""
    offsets = {f"s{i:02d}": rng.gauss(0, 2) for i in range(8)}
    room = 21.0
    while True:
        room += rng.gauss(0, 0.05)
        sensor = rng.choice(list(offsets))
        value = round(room + offsets[sensor] + rng.gauss(0, 0.1), 2)
        yield {"sensor": sensor, "temperature": None if rng.random() < 0.01 else value}


def _packets(rng: random.Random, seed: int) -> Iterator[Row]:
    """Packets between a few hosts; some hosts talk much more than others."""
    number = 0
    while True:
        number += 1
        source = min(int(rng.expovariate(0.25)), 19)
        yield {
            "pid": number,
            "src": f"10.0.0.{source}",
            "dst": f"10.0.1.{rng.randrange(20)}",
            "size": rng.choice((40, 60, 576, 1500)),
        }


MODELS: dict[str, tuple[Callable[[random.Random, int], Iterator[Row]], dict[str, Type]]] = {
    "trades": (_trades, {"symbol": STRING, "price": DOUBLE, "volume": INT, "ts": TIMESTAMP}),
    "quotes": (_quotes, {"symbol": STRING, "bid": DOUBLE, "ask": DOUBLE, "ts": TIMESTAMP}),
    "readings": (_readings, {"sensor": STRING, "temperature": DOUBLE, "ts": TIMESTAMP}),
    "packets": (
        _packets,
        {"pid": BIGINT, "src": STRING, "dst": STRING, "size": INT, "ts": TIMESTAMP},
    ),
}


def check(request: ReadRequest) -> None:
    model = request.connector.location
    if model not in MODELS:
        raise request.error(
            f"there is no generator {model!r}",
            detail="Generators are: " + ", ".join(f"'{name}'" for name in MODELS) + ".",
            hint=did_you_mean(model or "", MODELS),
        )
    given = MODELS[model][1]
    for column in request.columns:
        if given.get(column.name.lower()) != column.type:
            listing = ", ".join(f"{name} {type_}" for name, type_ in given.items())
            raise request.error(
                f"generator '{model}' has no column {column}", detail=f"It makes: {listing}."
            )
    if request.connector.option("rate") <= 0 or request.connector.option("rows") < 0:
        raise request.error("rate must be positive and rows not negative")
    try:
        parse_timestamp(request.connector.option("start"), "UTC")
    except Failure as failure:
        raise request.error(f"option start of generator: {failure}") from None


def read(request: ReadRequest) -> Iterator[Accepted | Reject]:
    check(request)
    connector = request.connector
    assert connector.location is not None, "check has seen the model"
    seed = connector.option("seed")
    rng = random.Random(f"{connector.location} {seed}")
    time = parse_timestamp(connector.option("start"), "UTC")
    names = [column.name.lower() for column in request.columns]
    rows = MODELS[connector.location][0](rng, seed)
    for number in range(1, connector.option("rows") + 1):
        time += int(rng.expovariate(connector.option("rate")) * 1_000_000)
        row = next(rows) | {"ts": time}
        place = f"{connector.location}:{number}"
        values = tuple(row[name] for name in names)
        try:
            for i, value in enumerate(values):
                not_null(value, i, request.columns, request.required)
        except Failure as failure:
            yield Reject.of(place, str(failure), values)
        else:
            yield Accepted(values, place)
