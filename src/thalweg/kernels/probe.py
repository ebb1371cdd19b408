"""A hash index over stored intervals, and its probe.

A record is (key, start, end, next record of its chain): all that a probe looks
at lies together in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

# The first columns of a record.
KEY, START, END = range(3)


@kernel
def link_records(records: Any, buckets: Any, heads: Any, first: int) -> None:
    """Enter records from `first` on into the chains of their buckets."""
    for i in range(len(buckets)):
        bucket = buckets[i]
        records[first + i, 3] = heads[bucket]
        heads[bucket] = first + i


@kernel
def probe_records(keys: Any, buckets: Any, starts: Any, ends: Any, records: Any, heads: Any) -> Any:
    """Pairs (probing row, record) with equal keys and intervals that meet, and where they do."""
    size = max(16, len(keys))
    left = np.empty(size, np.int64)
    right = np.empty(size, np.int64)
    found_starts = np.empty(size, np.int64)
    found_ends = np.empty(size, np.int64)
    found = 0
    for row in range(len(keys)):
        key = keys[row]
        record = heads[buckets[row]]
        while record >= 0:
            if records[record, 0] == key:
                start = max(starts[row], records[record, 1])
                end = min(ends[row], records[record, 2])
                if start < end:
                    if found == size:
                        size *= 2
                        left = np.concatenate((left, np.empty(found, np.int64)))
                        right = np.concatenate((right, np.empty(found, np.int64)))
                        found_starts = np.concatenate((found_starts, np.empty(found, np.int64)))
                        found_ends = np.concatenate((found_ends, np.empty(found, np.int64)))
                    left[found] = row
                    right[found] = record
                    found_starts[found] = start
                    found_ends[found] = end
                    found += 1
            record = records[record, 3]
    return left[:found], right[:found], found_starts[:found], found_ends[:found]
