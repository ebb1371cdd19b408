"""A hash index over stored intervals in a ring, and its probe.

A record is (key, start, [end,] next record of its chain): all that a probe looks at
lies together in memory. Where all intervals have one length there is no end; `span`
is that length then, and -1 otherwise.

Records lie in a ring, in the order in which they came. They are numbered in that order,
and of a number its last 32 bits are kept: `newest` is that of the newest one, in slot
`tail`, of `count`. Records are forgotten by being counted no more: a chain goes from newer to
older records, and ends at a number that is too old, without a look at what has taken
its slot since. (A number from 2^32 records ago is taken for a young one. That leads to a
record of another bucket, whose keys are others; and a chain that goes back to younger
records is left.) It also ends at a record that is over before the probing row begins, if
records are over in the order in which they came (`in_order`). A probe may be told to see
the `old` oldest records only, as if the others had not come yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

# The first columns of a record; the last is the next of its chain.
KEY, START, END = range(3)

# What is kept of the numbers of records.
NUMBERS = 0xFFFFFFFF

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FOREVER = 2**63 - 1
# (m) Rows whose first records are fetched together: 20 → 14 ns for each probe of 270,000
# records, 38 → 30 ns of 2 million.
_AT_ONCE = 64


@kernel
def link_records(records: Any, heads: Any, shift: Any, first: int, number: int, added: int) -> Any:
    """Enter records into the chains of their buckets, from slot `first` and from a number on;
    whether the ends of these records, or their starts where there are no ends, do not decrease."""
    last = records.shape[1] - 1
    slot = first
    in_order, before = True, records[first, last - 1]
    for _ in range(added):
        bucket = (np.uint64(records[slot, 0]) * _ODD) >> shift
        records[slot, last] = heads[bucket]
        heads[bucket] = number & NUMBERS
        in_order &= records[slot, last - 1] >= before
        before = records[slot, last - 1]
        number += 1
        slot += 1
        if slot == len(records):
            slot = 0
    return in_order


@kernel
def _slot(age: int, tail: int, room: int) -> Any:
    """Where the record is that came so many records before the newest."""
    slot = tail - age
    return slot if slot >= 0 else slot + room


@kernel
def _is_over(records: Any, slot: int, span: int, start: int) -> Any:
    """Whether the interval of a record has ended by an instant."""
    if span < 0:
        return records[slot, 2] <= start
    return records[slot, 1] <= _FOREVER - span and records[slot, 1] + span <= start


@kernel
def probe_records(
    keys: Any,
    starts: Any,
    ends: Any,
    records: Any,
    heads: Any,
    shift: Any,
    tail: int,
    newest: int,
    count: int,
    old: int,
    span: int,
    in_order: bool,
    begin: Any,
    first: int,
    left: Any,
    right: Any,
) -> Any:
    """Pairs (probing row, slot) with equal keys and intervals that meet.

    `begin` has a slot for each probing row before which there is none, -1 if there is none at
    all; or it is empty.
    Writes pairs from probing row `first` on, while there is room for all pairs of a
    row; gives the number of pairs and the row at which it stopped. (The third number is
    there so that fetching the first records ahead is not optimised away.)
    """
    last = records.shape[1] - 1
    room = len(records)
    found = 0
    touched = np.int64(0)
    ages = np.empty(_AT_ONCE, np.int64)
    block = first
    while block < len(keys):
        stop = min(block + _AT_ONCE, len(keys))
        # What the rows of a block need is fetched together: no row waits for another's.
        for row in range(block, stop):
            if len(begin) > 0:
                age = np.int64(tail - begin[row]) if begin[row] >= 0 else np.int64(count)
                ages[row - block] = age if age >= 0 else age + room
            else:
                number = np.int64(heads[(np.uint64(keys[row]) * _ODD) >> shift])
                ages[row - block] = (newest - number) & NUMBERS
        for row in range(block, stop):
            if ages[row - block] < count:
                touched += records[_slot(ages[row - block], tail, room), 0]
        for row in range(block, stop):
            key = keys[row]
            start = starts[row]
            end = ends[row]
            before = found
            age = ages[row - block]
            younger = np.int64(-1)
            while younger < age < count:
                younger = age
                slot = _slot(age, tail, room)
                if _is_over(records, slot, span, start):
                    if in_order:
                        break
                elif age >= count - old and records[slot, 0] == key and records[slot, 1] < end:
                    if found == len(left):
                        return before, row, touched
                    left[found] = row
                    right[found] = slot
                    found += 1
                age = (newest - records[slot, last]) & NUMBERS
        block = stop
    return found, len(keys), touched


@kernel
def first_matches(
    keys: Any,
    starts: Any,
    ends: Any,
    records: Any,
    heads: Any,
    shift: Any,
    tail: int,
    newest: int,
    count: int,
    old: int,
    span: int,
    in_order: bool,
    found: Any,
) -> Any:
    """For each probing row the first slot that `probe_records` would give, -1 if there is none.

    The number that it gives is there so that fetching ahead is not optimised away."""
    last = records.shape[1] - 1
    room = len(records)
    touched = np.int64(0)
    block = 0
    while block < len(keys):
        stop = min(block + _AT_ONCE, len(keys))
        for row in range(block, stop):
            number = np.int64(heads[(np.uint64(keys[row]) * _ODD) >> shift])
            found[row] = (newest - number) & NUMBERS
        for row in range(block, stop):
            if found[row] < count:
                touched += records[_slot(found[row], tail, room), 0]
        for row in range(block, stop):
            key = keys[row]
            start = starts[row]
            end = ends[row]
            age = found[row]
            younger = np.int64(-1)
            matched = np.int64(-1)
            while younger < age < count:
                younger = age
                slot = _slot(age, tail, room)
                if _is_over(records, slot, span, start):
                    if in_order:
                        break
                elif age >= count - old and records[slot, 0] == key and records[slot, 1] < end:
                    matched = slot
                    break
                age = (newest - records[slot, last]) & NUMBERS
            found[row] = matched
        block = stop
    return touched


@kernel
def cross(
    owners: Any,
    starts: Any,
    ends: Any,
    firsts: Any,
    starts2: Any,
    ends2: Any,
    mine: Any,
    theirs: Any,
) -> int:
    """Pairs of combinations that have the same owner, where their intervals meet.

    Those on the right are sorted by owner; `firsts` says where those of each begin. `mine`
    and `theirs` have room for all; gives how many there are."""
    found = 0
    for i in range(len(owners)):
        owner = owners[i]
        for j in range(firsts[owner], firsts[owner + 1]):
            if max(starts[i], starts2[j]) < min(ends[i], ends2[j]):
                mine[found] = i
                theirs[found] = j
                found += 1
    return found


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
