"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable

from thalweg.bench import agg, filter, join3, scale, state
from thalweg.bench.compare import Options
from thalweg.bench.findings import Findings

BENCHES: dict[str, Callable[[Options], Findings]] = {
    "join3": join3.bench,
    "agg": agg.bench,
    "filter": filter.bench,
    "scale": scale.bench,
    "state": state.bench,
}
