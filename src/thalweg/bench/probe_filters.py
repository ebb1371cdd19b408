"""Filters whose outcomes are the data's alone: each is a probe of a hash index of 10,000
numbers, and a dear one makes ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thalweg.bench.filter_race import Phase, Workload
from thalweg.bench.simulated_filters import correlated
from thalweg.plan.expressions import Call, Column, Expression, Literal
from thalweg.types import BIGINT, BOOLEAN
from thalweg.vector.column import Vector

INDEX = 10_000
# How often the rows of a phase come round in it.
ROUNDS = 40
BATCH = 500_000
PROBES_OF_A_DEAR_ONE = 10


@dataclass(frozen=True)
class Setting:
    """Filters by selectivity, those that are dear, and how many of a group agree on most rows.
    In each phase the selectivities are another permutation."""

    name: str
    selectivities: tuple[float, ...]
    dear: frozenset[int] = frozenset()
    factor: int = 1
    phases: int = 1

    def workload(self, rows: int) -> Workload:
        count = len(self.selectivities)
        random = np.random.default_rng(count)
        phases = tuple(self._phase(rows, random, number) for number in range(self.phases))
        predicates = tuple(_filter(number, number in self.dear) for number in range(count))
        return Workload(self.name, predicates, phases, ROUNDS, min(BATCH, rows))

    def _phase(self, rows: int, random: np.random.Generator, number: int) -> Phase:
        selectivities = list(self.selectivities)
        if number:
            selectivities = [selectivities[i] for i in random.permutation(len(selectivities))]
        passes = correlated(random, rows, selectivities, self.factor)
        members = 2 * random.integers(0, INDEX, rows)  # what is odd is in no index
        columns = (
            Vector(BIGINT, np.roll(members, i) + ~passes[:, i]) for i in range(len(selectivities))
        )
        return Phase(tuple(columns), int(passes.all(axis=1).sum()))


SPREAD = Setting("spread", (0.95, 0.8, 0.6, 0.4, 0.2, 0.05))
COSTLY = Setting("costly", (0.5,) * 6, frozenset({0, 1, 2}))
DRIFTING = tuple(
    Setting(f"{n} that drift", tuple(np.linspace(0.1, 0.9, n).tolist()), factor=2, phases=4)
    for n in (3, 6, 8, 12)
)


def _filter(number: int, is_dear: bool) -> Expression:
    column = Column(type=BIGINT, index=number, name=f"c{number}")
    whole = _is_member(column, 0)
    for more in range(1, PROBES_OF_A_DEAR_ONE if is_dear else 1):
        # An index with none of the numbers that there are: the outcome is that of the first.
        probe = _is_member(column, more * 4 * INDEX)
        whole = Call(type=BOOLEAN, function="or", arguments=(whole, probe))
    return whole


def _is_member(column: Expression, from_: int) -> Expression:
    choices = (Literal(type=BIGINT, value=from_ + 2 * i) for i in range(INDEX))
    return Call(type=BOOLEAN, function="in", arguments=(column, *choices))
