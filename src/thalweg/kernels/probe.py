"""A hash index over stored intervals, and its probe.

A record is (key, start, end, next record of its chain): all that a probe looks
at lies together in memory.
"""

from __future__ import annotations

from typing import Any

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
def probe_records(
    keys: Any,
    buckets: Any,
    starts: Any,
    ends: Any,
    records: Any,
    heads: Any,
    first: int,
    left: Any,
    right: Any,
) -> Any:
    """Pairs (probing row, record) with equal keys and intervals that meet.

    Writes pairs from probing row `first` on, while there is room for all pairs of a
    row; gives the number of pairs and the row at which it stopped.
    """
    found = 0
    for row in range(first, len(keys)):
        key = keys[row]
        start = starts[row]
        end = ends[row]
        before = found
        record = heads[buckets[row]]
        while record >= 0:
            if (
                records[record, 0] == key
                and records[record, 1] < end
                and records[record, 2] > start
            ):
                if found == len(left):
                    return before, row
                left[found] = row
                right[found] = record
                found += 1
            record = records[record, 3]
    return found, len(keys)
