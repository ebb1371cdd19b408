"""What the machine could do at best: a compiled join in one plain process per core.

No script, no plan, no Spark, no sink: Parquet files are read and joined by a kernel
made for this one query. Each process has a stretch of event time of its own, and
takes in the window before it first, untimed; so every file is read once.
"""

from __future__ import annotations

import multiprocessing as mp
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from thalweg.bench.data import Dataset
from thalweg.bench.digest import Digest, digest
from thalweg.bench.trial import CORES, Run, checked
from thalweg.kernels import kernel

Numbers = npt.NDArray[Any]
# pid, ts and size of some rows of each stream.
Arrivals = list[tuple[Numbers, Numbers, Numbers]]

STREAMS = "CBO"
_ROOM = 1 << 18


@kernel
def insert(pid: Any, ts: Any, size: Any, ring: Any, sizes: Any, heads: Any, first: int) -> None:
    """Put rows into a ring of (pid, ts, previous row of the bucket), from number `first` on."""
    mask = len(ring) - 1
    bucket_mask = len(heads) - 1
    for row in range(len(pid)):
        place = (first + row) & mask
        mixed = np.uint64(pid[row]) * np.uint64(0x9E3779B97F4A7C15)
        bucket = np.int64(mixed >> np.uint64(32)) & bucket_mask
        ring[place, 0] = pid[row]
        ring[place, 1] = ts[row]
        ring[place, 2] = heads[bucket]
        sizes[place] = size[row]
        heads[bucket] = first + row


@kernel
def probe(
    pid: Any,
    ts: Any,
    number: int,
    own: int,
    near: int,
    near_ring: Any,
    near_heads: Any,
    near_first: int,
    far: int,
    far_ring: Any,
    far_heads: Any,
    far_first: int,
    window: int,
    found: Any,
) -> Any:
    """Rows of stream `own`, numbered from `number`, looked up in two others one by one.

    Writes the numbers of the rows of each result by stream, as far as there is room.
    """
    near_mask = len(near_ring) - 1
    far_mask = len(far_ring) - 1
    near_buckets = len(near_heads) - 1
    far_buckets = len(far_heads) - 1
    times = np.empty(3, np.int64)
    count = 0
    for row in range(len(pid)):
        key = pid[row]
        times[own] = ts[row]
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        hashed = np.int64(mixed >> np.uint64(32))
        first = near_heads[hashed & near_buckets]
        while first >= near_first:
            if near_ring[first & near_mask, 0] == key:
                times[near] = near_ring[first & near_mask, 1]
                second = far_heads[hashed & far_buckets]
                while second >= far_first:
                    if far_ring[second & far_mask, 0] == key:
                        times[far] = far_ring[second & far_mask, 1]
                        after_b = times[1] - times[0]
                        after_o = times[2] - times[0]
                        if 0 <= after_b <= window and 0 <= after_o <= window:
                            if count < len(found):
                                found[count, own] = number + row
                                found[count, near] = first
                                found[count, far] = second
                            count += 1
                    second = far_ring[second & far_mask, 2]
            first = near_ring[first & near_mask, 2]
    return count


class Window:
    """The rows of a stream that may still meet others."""

    def __init__(self) -> None:
        self.first = self.end = 0
        self._make_room(_ROOM)

    def _make_room(self, room: int) -> None:
        self.ring = np.zeros((room, 3), np.int64)
        self.sizes = np.zeros(room, np.int32)
        self.heads = np.full(room, -1, np.int64)

    def insert(self, pid: Numbers, ts: Numbers, size: Numbers) -> None:
        needed = self.end - self.first + len(pid)
        if needed > len(self.ring):
            live = np.arange(self.first, self.end) & (len(self.ring) - 1)
            pid_before, ts_before = self.ring[live, 0], self.ring[live, 1]
            sizes_before = self.sizes[live]
            self._make_room(1 << (needed - 1).bit_length())
            self._link(pid_before, ts_before, sizes_before, self.first)
        self._link(pid, ts, size, self.end)
        self.end += len(pid)

    def _link(self, pid: Numbers, ts: Numbers, size: Numbers, first: int) -> None:
        insert(pid, ts, size, self.ring, self.sizes, self.heads, first)

    def expire(self, before: int) -> None:
        """Rows are in the order of time."""
        numbers = np.arange(self.first, self.end) & (len(self.ring) - 1)
        self.first += int(np.searchsorted(self.ring[numbers, 1], before))


class Join:
    """The query of join3, and nothing else."""

    def __init__(self, window_us: int) -> None:
        self._window_us = window_us
        self._windows = [Window() for _ in STREAMS]
        self._found = np.zeros((1 << 16, 3), np.int64)

    def step(self, arrivals: Arrivals) -> list[Numbers]:
        """Columns of the results that rows of all streams bring."""
        results = [self._take(own, *rows) for own, rows in enumerate(arrivals)]
        found = np.concatenate(results)

        def column(stream: int, i: int) -> Numbers:
            ring = self._windows[stream].ring
            values: Numbers = ring[found[:, stream] & (len(ring) - 1), i]
            return values

        sizes = self._windows[0].sizes
        answers = [
            column(0, 0),
            *(column(stream, 1) for stream in range(3)),
            sizes[found[:, 0] & (len(sizes) - 1)],
        ]
        latest = [int(ts[-1]) for _, ts, _ in arrivals if len(ts)]
        if len(latest) == len(STREAMS):
            for window in self._windows:
                window.expire(min(latest) - self._window_us)
        return answers

    def _take(self, own: int, pid: Numbers, ts: Numbers, size: Numbers) -> Numbers:
        # The stream that fewest rows match goes first.
        near, far = {0: (2, 1), 1: (2, 0), 2: (1, 0)}[own]
        a, b = self._windows[near], self._windows[far]
        while True:
            count = probe(
                *(pid, ts, self._windows[own].end, own),
                *(near, a.ring, a.heads, a.first),
                *(far, b.ring, b.heads, b.first),
                *(self._window_us, self._found),
            )
            if count <= len(self._found):
                break
            self._found = np.zeros((1 << count.bit_length(), 3), np.int64)
        self._windows[own].insert(pid, ts, size)
        return self._found[:count].copy()


def read(dataset: Dataset, first: int, end: int) -> Arrivals:
    """The rows of some slices."""
    arrivals = []
    for stream in STREAMS:
        table = pq.read_table(
            dataset.files(stream, first, end), columns=["pid", "ts", "size"], use_threads=False
        )
        pid, ts, size = (table[name].combine_chunks() for name in table.column_names)
        arrivals.append((pid.to_numpy(), ts.cast(pa.int64()).to_numpy(), size.to_numpy()))
    return arrivals


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one process did."""

    rows: int
    began: float
    ended: float
    kernel_seconds: float
    answers: Digest


def run_ceiling(
    dataset: Dataset, slices_per_batch: Sequence[int], window_us: int, expected: Digest
) -> list[Run]:
    """All rows, in one process per core, with batches of several sizes."""
    _warm_up(dataset, window_us)
    return [_run(dataset, slices, window_us, expected) for slices in slices_per_batch]


def _run(dataset: Dataset, slices_per_batch: int, window_us: int, expected: Digest) -> Run:
    batches = list(range(0, dataset.slices, slices_per_batch))
    shares = np.array_split(np.array(batches), CORES)
    forking = mp.get_context("fork")
    barrier = forking.Barrier(len(shares))
    with forking.Pool(len(shares), _set_barrier, (barrier,)) as pool:
        jobs = [(dataset, share.tolist(), slices_per_batch, window_us) for share in shares]
        done = pool.starmap(_run_stretch, jobs, chunksize=1)
    answers = sum((stretch.answers for stretch in done), Digest())
    seconds = max(s.ended for s in done) - min(s.began for s in done)
    rows = sum(stretch.rows for stretch in done)
    parts = {"kernel": sum(stretch.kernel_seconds for stretch in done) / len(done)}
    return checked(Run(rows, seconds, parts=parts), answers, expected)


_barrier: Barrier | None = None


def _set_barrier(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def _warm_up(dataset: Dataset, window_us: int) -> None:
    """Have everything compiled, for arrays as they come from files and from windows."""
    join = Join(window_us)
    for _ in range(2):
        join.step(read(dataset, 0, 1))


def _run_stretch(dataset: Dataset, firsts: list[int], slices: int, window_us: int) -> Stretch:
    join = Join(window_us)
    lead_in = firsts[0]
    begin = _earliest(dataset, firsts[0])
    while lead_in and _earliest(dataset, lead_in) > begin - window_us:
        lead_in -= 1
    if lead_in < firsts[0]:
        join.step(read(dataset, lead_in, firsts[0]))
    assert _barrier is not None, "processes begin together"
    _barrier.wait()
    began, in_kernel, rows = time.time(), 0.0, 0
    results = []
    for first in firsts:
        arrivals = read(dataset, first, min(first + slices, dataset.slices))
        before = time.perf_counter()
        results.append(join.step(arrivals))
        in_kernel += time.perf_counter() - before
        rows += sum(len(pid) for pid, _, _ in arrivals)
    ended = time.time()
    answers = sum((digest(columns) for columns in results), Digest())
    return Stretch(rows, began, ended, in_kernel, answers)


def _earliest(dataset: Dataset, slice_: int) -> int:
    return min(int(ts[0]) for _, ts, _ in read(dataset, slice_, slice_ + 1) if len(ts))
