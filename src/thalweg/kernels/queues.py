"""The last rows of each partition, as queues whose links are arrays."""

from __future__ import annotations

from typing import Any

from thalweg.kernels import kernel


@kernel
def push_rows(
    slots: Any, numbers: Any, limit: int, ends: Any, sizes: Any, following: Any, pushed: Any
) -> None:
    """Append rows to the queues of their partitions, in order.

    A queue that has `limit` rows loses its first; `pushed` is the row that each one pushes
    out, or -1. `ends` has the first and the last row of each queue.
    """
    for i in range(len(slots)):
        slot = slots[i]
        row = numbers[i]
        pushed[i] = -1
        if sizes[slot] == 0:
            ends[slot, 0] = row
        else:
            following[ends[slot, 1]] = row
        ends[slot, 1] = row
        if sizes[slot] == limit:
            first = ends[slot, 0]
            pushed[i] = first
            ends[slot, 0] = following[first]
        else:
            sizes[slot] += 1
