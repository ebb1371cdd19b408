"""Times against the largest time before them."""

from __future__ import annotations

from typing import Any

from thalweg.kernels import kernel


@kernel
def mark_late(times: Any, largest: int, slack: int, floor: int, late: Any) -> Any:
    """Mark the times below the largest so far minus the slack; the largest, and how many.

    Nothing is late as long as the largest is below `floor`, from which on the slack
    can be taken off in 64 bits.
    """
    found = 0
    for row in range(len(times)):
        time = times[row]
        late[row] = False
        if time > largest:
            largest = time
        elif largest >= floor and time < largest - slack:
            late[row] = True
            found += 1
    return largest, found
