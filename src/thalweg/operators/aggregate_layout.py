"""Where the numbers of measures stand: in events, and among the totals of groups."""

from __future__ import annotations

from thalweg.kernels.timeline import WEIGHT
from thalweg.operators.measure_doubles import DoubleSum, SquareSum
from thalweg.operators.measures import Distinct, Measure, Numbers


class Layout:
    """`columns` has the columns of an event that each measure has.

    Whole numbers are added up together: `totals` has their columns, for all rows (None)
    and for those that change some distinct values; `places` has where each measure is
    among them. `members` are the columns that name members.
    """

    def __init__(self, measures: tuple[Measure, ...]) -> None:
        self.columns: list[list[int]] = []
        self.totals: dict[Distinct | None, list[int]] = {None: []}
        self.places: dict[int, slice] = {}
        self.members: set[int] = set()
        at = WEIGHT + 1
        for i, measure in enumerate(measures):
            count = len(measure.types) if isinstance(measure, Numbers) else 1
            own = list(range(at, at + count))
            at += count
            self.columns.append(own)
            if isinstance(measure, DoubleSum | SquareSum):
                continue
            if isinstance(measure, Numbers):
                totals = self.totals.setdefault(measure.distinct, [])
                self.places[i] = slice(len(totals), len(totals) + count)
                totals += own
            else:
                self.members |= set(own)
        self.all = list(range(WEIGHT + 1, at))
