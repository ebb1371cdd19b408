"""Made-up streams: every row follows from its number, and has what was asked for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from thalweg.errors import QueryErrors, SourceText
from thalweg.program import bind_script
from thalweg.sources.generator import Generated
from thalweg.sources.made.models import MODELS

OPTIONS = ("", "burst = 5", "rate_drift = 0.95, drift = 1.0", "burst = 0.1, rate_drift = 0.5")
START = 1_767_605_400_000_000


def made(model: str, options: str = "") -> Generated:
    columns = ", ".join(f"{name} {type_}" for name, type_ in MODELS[model].columns.items())
    options = f", {options}" if options else ""
    script = f"CREATE STREAM S ({columns}) TIMESTAMP BY ts FROM generator('{model}'{options})"
    program = bind_script(SourceText("case", script), (Path(),))
    return Generated(program.read_request(program.catalog.streams()[0]))


def column(generated: Generated, name: str, first: int, count: int) -> npt.NDArray[np.int64]:
    place = [c.name for c in generated.request.columns].index(name)
    return generated.columns(first, count, [place])[0].data


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("model", MODELS)
def test_any_stretch_is_a_part_of_the_whole(model: str, options: str) -> None:
    generated = made(model, options)
    every = range(len(generated.request.columns))
    whole = [c.values() for c in generated.columns(0, 3000, every)]
    for first, count in ((0, 1), (19, 2), (20, 20), (333, 777), (2999, 1)):
        part = [c.values() for c in generated.columns(first, count, every)]
        assert part == [column[first : first + count] for column in whole]
    one_by_one = [getattr(row, "values", None) for row in generated.rows(range(100, 150))]
    assert one_by_one == list(zip(*(column[100:150] for column in whole), strict=True))


@pytest.mark.parametrize("options", OPTIONS)
def test_times_never_fall_and_are_counted(options: str) -> None:
    times = made("trades", f"rate = 1000, {options}" if options else "rate = 1000").times
    some = times.of(0, 200_000)
    assert (np.diff(some) >= 0).all()
    assert times.until(START - 1) == 0
    for instant in [*some[::997].tolist(), *(some[::1013] - 1).tolist()]:
        assert times.until(instant) == np.searchsorted(some, instant, side="right")


def test_rates() -> None:
    times = made("trades", "rate = 100").times
    assert times.until(START + 1000 * 1_000_000) == pytest.approx(100_000, abs=20)
    gaps = np.diff(times.of(0, 10_000))
    assert 0.8 < gaps.std() / gaps.mean() < 1.2  # as irregular as rows that come by chance

    bursts = made("trades", "rate = 100, burst = 8, burst_every = 10, burst_for = 2").times
    second = [bursts.until(START + i * 1_000_000) for i in range(41)]
    assert np.diff(second)[:40].tolist() == pytest.approx(([100] * 8 + [800] * 2) * 4, abs=40)

    drift = made("trades", "rate = 100, rate_drift = 0.5, drift_every = 40").times
    second = [drift.until(START + i * 1_000_000) for i in range(81)]
    rates = np.diff(second)
    assert rates[10] == pytest.approx(150, abs=20)
    assert rates[30] == pytest.approx(50, abs=20)
    assert rates[50] == pytest.approx(150, abs=20)
    assert second[40] == pytest.approx(4000, abs=20)


def test_values_drift() -> None:
    steady, drifting = made("numbers"), made("numbers", "drift = 1.0, drift_every = 1000")
    for name in "abcd":
        assert (column(steady, name, 0, 20_000) < 500).mean() == pytest.approx(0.5, abs=0.02)
    shares = {
        name: [(column(drifting, name, i * 2500, 2500) < 500).mean() for i in range(4)]
        for name in "abcd"
    }
    assert all(max(s) > 0.75 and min(s) < 0.25 for s in shares.values())
    assert np.argmax(shares["a"]) != np.argmax(shares["b"])  # each at its own time


def test_values_drift_in_jumps() -> None:
    jumping = made("numbers", "rate = 20, drift = 1.0, drift_every = 1200, drift_steps = 2")
    jumps = [jumping.times.until(START + i * 600_000_000) for i in range(4)]

    def shares(name: str) -> list[float]:
        """Below 500: just after a jump, and just before the next one."""
        places = [place for first, last in pairwise(jumps) for place in (first, last - 5000)]
        return [(column(jumping, name, place, 5000) < 500).mean() for place in places]

    assert shares("a") == pytest.approx([0.5] * 6, abs=0.03)
    assert shares("b") == pytest.approx([0.05, 0.05, 0.95, 0.95, 0.05, 0.05], abs=0.03)
    assert shares("d") == pytest.approx([0.95, 0.95, 0.05, 0.05, 0.95, 0.95], abs=0.03)


def test_prices_are_those_of_the_market() -> None:
    trades, quotes = made("trades", "rate = 100"), made("quotes", "rate = 100")
    prices: dict[str, list[float]] = {}
    for symbol, price, _, _ in (c.values for c in trades.rows(range(500))):  # type: ignore[union-attr]
        prices.setdefault(symbol, []).append(price)
    for symbol, bid, ask, _ in (c.values for c in quotes.rows(range(500))):  # type: ignore[union-attr]
        assert bid < ask
        assert min(prices[symbol]) * 0.99 < bid
        assert ask < max(prices[symbol]) * 1.01


def test_the_network() -> None:
    """Rates, shares that are passed on, and delays as in the example of k-constraints."""
    links = {link: made("network", f"link = '{link}', rate = 1000, delay = 0.4") for link in "CBO"}
    seconds = 10
    seen = {}
    for link, generated in links.items():
        rows = generated.times.until(START + seconds * 1_000_000)
        assert rows == pytest.approx(seconds * 1000 * {"C": 1, "B": 10, "O": 1}[link], abs=20)
        pid, size, ts = (c.data.tolist() for c in generated.columns(0, rows, range(3)))
        seen[link] = dict(zip(pid, zip(size, ts, strict=True), strict=True))
        assert len(seen[link]) == rows
    for before, after, share in (("C", "B", 0.1), ("B", "O", 0.1)):
        both = seen[before].keys() & seen[after].keys()
        assert len(both) / len(seen[before]) == pytest.approx(share, rel=0.05)
        delays = [seen[after][pid][1] - seen[before][pid][1] for pid in both]
        assert min(delays) >= 0
        assert 200_000 < max(delays) <= 400_000
        assert all(seen[after][pid][0] == seen[before][pid][0] for pid in both)
    throughout = seen["C"].keys() & seen["B"].keys() & seen["O"].keys()
    assert len(throughout) == pytest.approx(len(seen["C"]) * 0.01, rel=0.3)


class Links:
    """What is seen on the links of a network in some seconds, and the order of it all."""

    def __init__(self, options: str, seconds: int) -> None:
        self.pids: dict[str, npt.NDArray[np.int64]] = {}
        self.times: dict[str, npt.NDArray[np.int64]] = {}
        for link in "CBO":
            generated = made("network", f"link = '{link}', {options}")
            rows = generated.times.until(START + seconds * 1_000_000)
            self.pids[link] = column(generated, "pid", 0, rows)
            self.times[link] = column(generated, "ts", 0, rows)

    def share(self, before: str, after: str) -> float:
        return float(np.isin(self.pids[before], self.pids[after]).mean())

    def delays(self, before: str, after: str) -> npt.NDArray[np.int64]:
        _, at, at_next = np.intersect1d(self.pids[before], self.pids[after], return_indices=True)
        return self.times[after][at_next] - self.times[before][at]

    def distances(self, parent: str, child: str) -> npt.NDArray[np.int64]:
        """Join distances: children that come after a parent up to its own, 0 if it was there."""
        _, at, at_child = np.intersect1d(self.pids[parent], self.pids[child], return_indices=True)
        before = np.searchsorted(self.times[child], self.times[parent][at], side="left")
        return np.maximum(0, at_child + 1 - before)


def test_constraints_of_the_network() -> None:
    """# spec: k_constraints 1: one-one joins, a tenth passed on, RIDS of each direction."""
    rate, delay, delay_out = 2000, 0.5, 0.2
    links = Links(f"rate = {rate}, delay = {delay}, delay_out = {delay_out}", seconds=20)
    for pids in links.pids.values():
        assert len(np.unique(pids)) == len(pids)
    assert links.share("C", "B") == pytest.approx(0.1, rel=0.1)
    assert links.share("B", "O") == pytest.approx(0.1, rel=0.05)
    # RIDS(d_cb · r_B) on C → B, RIDS(d_bo · r_O) on B → O: the next link sees it soon or never.
    for parent, child, longest, child_rate in (
        ("C", "B", delay, 10 * rate),
        ("B", "O", delay_out, rate),
    ):
        assert links.delays(parent, child).min() >= 0
        assert links.delays(parent, child).max() <= longest * 1e6
        k = longest * child_rate
        assert 0.5 * k < links.distances(parent, child).max() <= 1.05 * k
    # RIDS(0) on B → C and O → B: what comes from the link before was there already.
    assert links.distances("B", "C").max() == 0
    assert links.distances("O", "B").max() == 0
    # 10³ · 0.1 · 0.1 results per second for 10³ packets of C per second.
    results = np.isin(links.pids["C"], links.pids["O"]).sum()
    assert results == pytest.approx(20 * rate * 0.01, rel=0.25)


def test_losses_and_stragglers() -> None:
    options = "rate = 2000, delay = 0.2"
    whole, lossy = Links(options, 20), Links(f"{options}, loss = 0.4", 20)
    for before, after in (("C", "B"), ("B", "O")):
        kept = lossy.share(before, after) / whole.share(before, after)
        assert kept == pytest.approx(0.6, abs=0.05)
    for links in (lossy, late := Links(f"{options}, stragglers = 0.25", 20)):
        assert all(len(np.unique(pids)) == len(pids) for pids in links.pids.values())
    delays = late.delays("C", "B")
    straggling = delays > 200_000
    assert straggling.mean() == pytest.approx(0.25, abs=0.04)
    assert delays[straggling].min() > 4 * 180_000
    assert delays.max() <= 5 * 200_000
    assert late.share("C", "B") == pytest.approx(whole.share("C", "B"), rel=0.05)


@pytest.mark.parametrize(
    "options",
    [
        "rate = 0.0",
        "rows = -1",
        "burst = -1",
        "burst_every = 5, burst_for = 5",
        "rate_drift = 1",
        "drift = 2",
        "drift_every = 0",
        "drift_steps = -1",
        "link = 'D'",
        "delay_out = 0",
        "loss = 1.5",
        "stragglers = -0.1",
        "delay = 0",
        "start = 'soon'",
    ],
)
def test_what_cannot_be_made(options: str) -> None:
    with pytest.raises(QueryErrors, match="option"):
        made("network", options)
