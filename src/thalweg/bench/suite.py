"""The benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from thalweg.bench import (
    adapt_overhead,
    agg,
    caching,
    filter,
    filters,
    join3,
    joins,
    scale,
    state,
)
from thalweg.bench.compare import Options
from thalweg.bench.findings import Findings

# Each may write into the folder it is given.
_BENCHES: dict[str, Callable[[Options, Path], Findings]] = {
    "join3": join3.bench,
    "agg": agg.bench,
    "filter": filter.bench,
    "filters": filters.bench,
    "joins": joins.bench,
    "caching": caching.bench,
    "adapt-overhead": adapt_overhead.bench,
    "scale": scale.bench,
    "state": state.bench,
}


def run_bench(name: str, options: Options) -> Findings:
    with TemporaryDirectory(prefix="thalweg-bench-") as folder:
        return _BENCHES[name](options, Path(folder))
