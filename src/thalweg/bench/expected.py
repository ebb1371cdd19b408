"""Answers computed plainly, from all rows at once: what every system must say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from thalweg.bench.data import Dataset
from thalweg.bench.digest import Digest, digest

Numbers = npt.NDArray[Any]


def stream_columns(dataset: Dataset, stream: str, names: tuple[str, ...]) -> list[pa.Array]:
    """Columns of a whole stream; times in microseconds from 1970."""
    table = pa.concat_tables(
        pq.read_table(path, columns=list(names)) for path in dataset.files(stream)
    )
    columns = []
    for name in names:
        column = table[name].combine_chunks()
        columns.append(column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column)
    return columns


def joined_packets(dataset: Dataset, window_us: int) -> Digest:
    """Packets seen at C and, within a window, at B and at O; a packet is seen once at each."""
    pid, ts, size = _sorted(dataset, "C")
    found = np.ones(len(pid), np.bool_)
    others = []
    for stream in ("B", "O"):
        other_pid, other_ts, _ = _sorted(dataset, stream)
        at = np.searchsorted(other_pid, pid).clip(max=len(other_pid) - 1)
        later = other_ts[at] - ts
        found &= (other_pid[at] == pid) & (later >= 0) & (later <= window_us)
        others.append(other_ts[at])
    return digest([column[found] for column in (pid, ts, *others, size)])


def small_pairs(dataset: Dataset, below: int) -> Digest:
    """Packets seen at C and at B whose sizes there add up to less than that."""
    pid, _, size = _sorted(dataset, "C")
    other_pid, _, other_size = _sorted(dataset, "B")
    _, at, other_at = np.intersect1d(pid, other_pid, assume_unique=True, return_indices=True)
    small = size[at] + other_size[other_at] < below
    return digest([pid[at][small], size[at][small], other_size[other_at][small]])


def _sorted(dataset: Dataset, stream: str) -> list[Numbers]:
    pid, ts, size = (c.to_numpy() for c in stream_columns(dataset, stream, ("pid", "ts", "size")))
    order = np.argsort(pid)
    assert (np.diff(pid[order]) > 0).all(), "a packet is seen once at each place"
    return [column[order] for column in (pid, ts, size)]


def kept_requests(dataset: Dataset, names: tuple[str, ...]) -> Digest:
    """The rows that meet the conditions of `filter`, in some of their columns."""
    whole = Digest()
    for path in dataset.files("R"):
        table = pq.read_table(path)
        kept = table.filter(
            (pc.field("status") == 200)
            & (pc.field("bytes") < 300_000)
            & (pc.field("millis") > 50)
            & (pc.field("port") >= 20_000)
            & (pc.field("score") > 0.2)
            & (pc.field("method") == "GET")
            & pc.starts_with(pc.field("path"), "/api/")
        )
        kept = kept.filter(pa.array(kept["user_id"].to_numpy() % 10 < 7))
        whole += digest([kept[name].combine_chunks() for name in names])
    return whole


def last_instant(dataset: Dataset, stream: str) -> int:
    [ts] = stream_columns(dataset, stream, ("ts",))
    return int(ts.to_numpy()[-1])


def windowed_sums(
    dataset: Dataset,
    keys: int,
    span_us: int,
    slide_us: int,
    until_us: int,
    least_size: int = 0,
    added: int = 0,
) -> Digest:
    """Sum, count and average by window and key, for windows that end by a certain instant.

    A window is made of panes as long as its slide, and rows are in the order of time.
    Rows have at least a certain size, and something is added to it.
    """
    pid, ts, size = (c.to_numpy() for c in stream_columns(dataset, "S", ("pid", "ts", "size")))
    large = size >= least_size
    pid, ts, size = pid[large], ts[large], size[large].astype(np.int64) + added
    key = pid % keys
    first = int(ts[0]) // slide_us
    edges = np.arange(first, until_us // slide_us + 1) * slide_us
    cuts = np.searchsorted(ts, edges).tolist()
    counts = np.zeros((span_us // slide_us, keys), np.int64)
    totals = np.zeros_like(counts)
    whole = Digest()
    for pane, (begin, end) in enumerate(pairwise(cuts)):
        own = key[begin:end]
        counts[pane % len(counts)] = np.bincount(own, minlength=keys)
        totals[pane % len(counts)] = np.bincount(own, size[begin:end], minlength=keys)
        n, total = counts.sum(axis=0), totals.sum(axis=0)
        there = np.flatnonzero(n)
        time = np.full(len(there), edges[pane + 1])
        whole += digest([time, there, total[there], n[there], total[there] / n[there]])
    return whole
