"""What was measured while a job ran: rows and times, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from thalweg.adapt.decisions import Decision
from thalweg.adapt.learned import FoundPlan, Learned


@dataclass(frozen=True, slots=True)
class Step:
    """Something that rows go through: how many went in and came out, and how long it took.

    `note` is what else there is to say of it, in a few words.
    """

    name: str
    rows_in: int
    rows_out: int
    nanos: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """Steps in the order in which they are taken now; names are unique among them.

    `operator` is the number of the operator that takes them. Where it has several of one
    mechanism, such as a join with a pipeline for each of its inputs, `subject` tells them apart.
    """

    mechanism: str
    queries: tuple[str, ...]
    subject: str
    steps: tuple[Step, ...]
    operator: int | None = None


@runtime_checkable
class Adaptive(Protocol):
    """What changes while it runs. For which queries that is and in which operator, whoever
    asks knows better."""

    def decisions(self) -> list[Decision]:
        """What was decided since this was asked last."""
        ...

    def measured(self) -> list[Measured]:
        """What was measured since this was asked last."""
        ...

    def learned(self) -> list[Learned]:
        """What was learned since this was asked last."""
        ...

    def take_over(self, plans: Mapping[str, FoundPlan]) -> None:
        """Plans that were found elsewhere, or before. Those that are new here are taken at once
        if nothing is known that speaks against them, else they are tried."""
        ...


@dataclass(slots=True)
class Tally:
    """Counts on their way to become a step."""

    rows_in: int = 0
    rows_out: int = 0
    nanos: int = 0

    def __bool__(self) -> bool:
        return self.rows_in > 0 or self.rows_out > 0

    def add(self, rows_in: int, rows_out: int, nanos: int) -> None:
        self.rows_in += rows_in
        self.rows_out += rows_out
        self.nanos += nanos

    def told(self, name: str) -> Step:
        """The step up to now; the next one begins."""
        step = Step(name, self.rows_in, self.rows_out, self.nanos)
        self.rows_in = self.rows_out = self.nanos = 0
        return step


def summed(before: Measured, more: Measured) -> Measured:
    """Both together, in the order and with the notes of the latter."""
    known = {step.name: step for step in before.steps}
    steps = []
    for step in more.steps:
        if (earlier := known.pop(step.name, None)) is not None:
            step = Step(
                step.name,
                step.rows_in + earlier.rows_in,
                step.rows_out + earlier.rows_out,
                step.nanos + earlier.nanos,
                step.note,
            )
        steps.append(step)
    return Measured(
        more.mechanism, more.queries, more.subject, (*steps, *known.values()), more.operator
    )
