"""How many rows of each stream a batch reads.

What a stream has read ahead of the others waits in the state until they have
come as far. So the streams share a batch such that all of it would bring them to
one instant, if each goes on with as many rows per time as in the batch before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from thalweg.intake.slices import Cursor
from thalweg.units import Unit

# A stream that is ahead still gets this part of an equal share: its times may have
# nothing to do with those of the others, and nobody is to wait for ever.
_LEAST = 1 / 256


@dataclass(frozen=True, slots=True)
class Pace:
    """Where a stream stands, and how many rows of the last batch covered how much time.

    Times are in nanoseconds; None before the first row.
    """

    time: int | None
    rows: int
    covered: int

    @property
    def density(self) -> float:
        return self.rows / max(1, self.covered)


UNKNOWN = Pace(None, 0, 0)


def pace(before: Cursor, after: Cursor, first: int | None, tick: Unit) -> Pace:
    """How a stream went from one cursor to another; `first` is its first instant."""
    begin = first if before.largest is None else before.largest
    if begin is None or after.largest is None:
        return UNKNOWN
    covered = after.largest - begin
    return Pace(after.largest * tick.value, after.seen - before.seen, covered * tick.value)


def shares(rows: int, paces: Mapping[str, Pace]) -> dict[str, int]:
    """About `rows` rows, shared by the streams that have not ended."""
    if not paces:
        return {}
    equal = rows / len(paces)
    known = {name: p.time for name, p in paces.items() if p.time is not None and p.rows}
    level = _level(
        equal * len(known), sorted((time, paces[name].density) for name, time in known.items())
    )
    wanted = {name: (level - time) * paces[name].density for name, time in known.items()}
    return {name: max(1, round(max(equal * _LEAST, wanted.get(name, equal)))) for name in paces}


def _level(rows: float, streams: list[tuple[int, float]]) -> float:
    """The instant that the streams come to together with so many rows: the one that is
    farthest behind first alone, then with the next."""
    density, level = 0.0, 0.0
    for number, (time, own) in enumerate(streams):
        density += own
        following = streams[number + 1][0] if number + 1 < len(streams) else None
        level = time + rows / density
        if following is None or level <= following:
            return level
        rows -= (following - time) * density
    return level
