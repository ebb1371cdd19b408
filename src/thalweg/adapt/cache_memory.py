"""Who of several caches may have how much memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PAGE = 65_536


@dataclass(frozen=True, slots=True)
class Claim:
    """What a cache saves, in any unit, and the bytes that it has and may be going to need."""

    saves: float
    wants: int

    @property
    def priority(self) -> float:
        return self.saves / max(self.wants, PAGE)


def shared_out(claims: Sequence[Claim], room: int) -> list[int]:
    """Bytes for each: those that save most for a byte first, in whole pages."""
    given = [0] * len(claims)
    for i in sorted(range(len(claims)), key=lambda i: -claims[i].priority):
        pages = -(-claims[i].wants // PAGE)
        given[i] = min(pages * PAGE, room // PAGE * PAGE)
        room -= given[i]
    # What nobody wants yet goes to the first: it need not ask again at once.
    if claims:
        first = max(range(len(claims)), key=lambda i: claims[i].priority)
        given[first] += room // PAGE * PAGE
    return given
