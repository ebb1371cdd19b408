"""The rows of a batch added up by group and pane.

A pane is a stretch of time in which all rows enter and leave a window together, a
run the rows of one pane that follow each other. Each group of a run is a part. Rows
come nearly in the order of time, so runs are long, and a table of the groups of one
run is all that has to be at hand: what earlier runs left in it is known by its
number and overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

# How far `assign_parts` has come: parts so far, the first part of the run, the run, the row.
PARTS, BASE, RUN, ROW = range(4)

_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@kernel
def find_runs(times: Any, span: int, step: int, firsts: Any) -> int:
    """The first rows of runs under a window of a span that moves by steps; gives their number."""
    runs = 0
    low = 1
    high = 0
    rest = span % step
    for row in range(len(times)):
        time = times[row]
        if time < low or time >= high:
            since = time % step
            since_end = (since + rest) % step
            # The pane ends where the row of a later time would enter, or leave, later.
            low = time - min(since, since_end)
            high = time + step - max(since, since_end)
            if low > time:
                low = time
            if high < time:
                high = 0x7FFFFFFFFFFFFFFF
            firsts[runs] = row
            runs += 1
    return runs


@kernel
def assign_parts(
    words: Any,
    ends: Any,
    table: Any,
    shift: Any,
    rows: Any,
    sizes: Any,
    slots: Any,
    at: Any,
) -> bool:
    """The part of each row; `words[:, row]` say its group, `ends` where runs end.

    The table has 2^(64 - shift) places. `rows` and `sizes` get the first row of each part
    and how many it has. False if the table is too small to go on; `at` says how far it came.
    """
    width = len(words)
    limit = len(table) // 2
    count = at[0]
    base = at[1]
    row = at[3]
    for run in range(at[2], len(ends)):
        while row < ends[run]:
            mixed = np.uint64(0)
            for j in range(width):
                mixed = (mixed ^ words[j, row]) * _ODD
                mixed ^= mixed >> _SHIFT
            place = np.int64((mixed * _ODD) >> shift)
            while True:
                slot = table[place]
                if slot < base:
                    if count - base >= limit:
                        at[0] = count
                        at[1] = base
                        at[2] = run
                        at[3] = row
                        return False
                    slot = count
                    table[place] = slot
                    rows[slot] = row
                    sizes[slot] = 0
                    count += 1
                    break
                other = rows[slot]
                same = True
                for j in range(width):
                    if words[j, row] != words[j, other]:
                        same = False
                        break
                if same:
                    break
                place = (place + 1) & (len(table) - 1)
            slots[row] = slot
            sizes[slot] += 1
            row += 1
        base = count
    at[0] = count
    return True


@kernel
def enter_parts(words: Any, rows: Any, first: int, count: int, table: Any, shift: Any) -> None:
    """Enter the parts of a run into an empty table."""
    for slot in range(first, count):
        mixed = np.uint64(0)
        for j in range(len(words)):
            mixed = (mixed ^ words[j, rows[slot]]) * _ODD
            mixed ^= mixed >> _SHIFT
        place = np.int64((mixed * _ODD) >> shift)
        while table[place] != -1:
            place = (place + 1) & (len(table) - 1)
        table[place] = slot


@kernel
def add_ones(slots: Any, counted: Any, totals: Any) -> None:
    """Count the rows of each part that are counted."""
    for row in range(len(slots)):
        if counted[row]:
            totals[slots[row]] += 1


@kernel
def add_whole(slots: Any, values: Any, counted: Any, totals: Any) -> None:
    """Add whole numbers by part; `counted` is empty where all count."""
    if len(counted) == 0:
        for row in range(len(slots)):
            totals[slots[row], 0] += values[row]
    else:
        for row in range(len(slots)):
            if counted[row]:
                totals[slots[row], 0] += values[row]


@kernel
def add_halves(slots: Any, values: Any, counted: Any, totals: Any) -> None:
    """Add 64-bit numbers by part, their low and high halves for themselves."""
    for row in range(len(slots)):
        if len(counted) == 0 or counted[row]:
            value = values[row]
            totals[slots[row], 0] += value & 0xFFFFFFFF
            totals[slots[row], 1] += value >> 32


@kernel
def add_quarters(slots: Any, lows: Any, highs: Any, counted: Any, totals: Any) -> None:
    """Add 128-bit numbers by part, each in four pieces."""
    for row in range(len(slots)):
        if len(counted) == 0 or counted[row]:
            part = slots[row]
            totals[part, 0] += lows[row] & 0xFFFFFFFF
            totals[part, 1] += (lows[row] >> 32) & 0xFFFFFFFF
            totals[part, 2] += highs[row] & 0xFFFFFFFF
            totals[part, 3] += highs[row] >> 32


@kernel
def add_exactly(
    slots: Any, values: Any, counted: Any, totals: Any, left_slots: Any, left: Any, found: int
) -> int:
    """Add DOUBLEs by part: the sum of `totals[part]` is exact, or the rest is left over.

    A total is a sum and what its roundings lost. What would be lost again, and an
    infinity, a NaN or what would make one, is left over; gives how many are.
    """
    for row in range(len(slots)):
        if len(counted) == 0 or counted[row]:
            part = slots[row]
            value = values[row]
            high = totals[part, 0]
            total = high + value
            if not np.isfinite(total):
                left_slots[found] = part
                left[found] = value
                found += 1
                continue
            other = total - high
            error = (high - (total - other)) + (value - other)
            low = totals[part, 1]
            rest = low + error
            other = rest - low
            lost = (low - (rest - other)) + (error - other)
            totals[part, 0] = total
            totals[part, 1] = rest
            if lost != 0:
                left_slots[found] = part
                left[found] = lost
                found += 1
    return found


@kernel
def best_rows(slots: Any, order: Any, counted: Any, greatest: bool, rows: Any) -> None:
    """The row of each part whose `order` is least, or greatest; -1 where none is counted."""
    for row in range(len(slots)):
        if len(counted) == 0 or counted[row]:
            part = slots[row]
            best = rows[part]
            if best < 0 or (order[row] > order[best] if greatest else order[row] < order[best]):
                rows[part] = row
