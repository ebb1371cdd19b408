"""A hash index over stored intervals in a ring, and its probe.

A record is (key, start, [end,] next record of its chain): all that a probe looks at
lies together in memory. Where all intervals have one length there is no end; `span`
is that length then, and -1 otherwise.

Records lie in a ring, in the order in which they came; `head` is the oldest of
`count`. They are forgotten by moving the head alone: a chain goes from newer to
older records, so it ends where it meets one that is not older than the last, which
is a slot that was given away. A probe may be told to see the `old` oldest records
only, as if the others had not come yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

# The first columns of a record; the last is the next of its chain.
KEY, START, END = range(3)

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FOREVER = 2**63 - 1


@kernel
def link_records(records: Any, heads: Any, shift: Any, first: int, added: int) -> None:
    """Enter records into the chains of their buckets, from slot `first` on."""
    last = records.shape[1] - 1
    slot = first
    for _ in range(added):
        bucket = (np.uint64(records[slot, 0]) * _ODD) >> shift
        records[slot, last] = heads[bucket]
        heads[bucket] = slot
        slot += 1
        if slot == len(records):
            slot = 0


@kernel
def probe_records(
    keys: Any,
    starts: Any,
    ends: Any,
    records: Any,
    heads: Any,
    shift: Any,
    head: int,
    count: int,
    old: int,
    span: int,
    first: int,
    left: Any,
    right: Any,
) -> Any:
    """Pairs (probing row, slot) with equal keys and intervals that meet.

    Writes pairs from probing row `first` on, while there is room for all pairs of a
    row; gives the number of pairs and the row at which it stopped.
    """
    last = records.shape[1] - 1
    room = len(records)
    found = 0
    for row in range(first, len(keys)):
        key = keys[row]
        start = starts[row]
        end = ends[row]
        before = found
        slot = np.int64(heads[(np.uint64(key) * _ODD) >> shift])
        newer = np.int64(count)
        while slot >= 0:
            age = slot - head
            if age < 0:
                age += room
            if age >= newer:
                break
            newer = age
            if age < old and records[slot, 0] == key and records[slot, 1] < end:
                if span < 0:
                    until = records[slot, 2]
                elif records[slot, 1] > _FOREVER - span:
                    until = _FOREVER
                else:
                    until = records[slot, 1] + span
                if until > start:
                    if found == len(left):
                        return before, row
                    left[found] = row
                    right[found] = slot
                    found += 1
            slot = records[slot, last]
    return found, len(keys)


@kernel
def first_above(records: Any, column: int, head: int, count: int, bound: int) -> int:
    """How many of the oldest records have a number up to a bound in a column."""
    slot = head
    for passed in range(count):
        if records[slot, column] > bound:
            return passed
        slot += 1
        if slot == len(records):
            slot = 0
    return count
