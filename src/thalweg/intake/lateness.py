"""Which rows come too late."""

from __future__ import annotations

import numpy as np

from thalweg.kernels.lateness import mark_late
from thalweg.operators.delta import Times
from thalweg.vector.column import Mask

_LEAST, _MOST = -(2**63), 2**63 - 1


def late_of(times: Times, largest: int | None, slack: int) -> tuple[Mask | None, int | None]:
    """The times below the largest one before them minus the slack, None if none is, and
    the largest of all.

    A late time is below the largest, so it does not raise it.
    """
    if not len(times):
        return None, largest
    floor = _LEAST + slack
    start = int(times[0]) if largest is None else largest
    if floor > _MOST:  # no two times are so far apart
        return None, max(start, int(times.max()))
    late = np.empty(len(times), np.bool_)
    highest, found = mark_late(times, start, slack, floor, late)
    return late if found else None, int(highest)
