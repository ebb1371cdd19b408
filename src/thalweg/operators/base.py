"""The one shape of all operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from thalweg.operators.delta import BEFORE_TIME, Delta


@dataclass(frozen=True, slots=True)
class Moment:
    """How far time has come for an operator.

    Everything before `frontier` is known of all inputs, before `frontiers[i]` of
    input i. `firsts` has the instants of the first rows of the source streams below,
    in their own units, and `begin` the first of them, in ours; each is there once it
    is before the frontier, and thereby certain. `lasts` has the last instants of the
    rows of source streams so far, in their own units.
    """

    frontier: int
    frontiers: tuple[int, ...]
    firsts: Mapping[str, int]
    begin: int | None
    lasts: Mapping[str, int]


class Operator(Protocol):
    """`STATE` names the attributes that pass from one batch to the next; everything else
    follows from the plan."""

    STATE: ClassVar[tuple[str, ...]]

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        """The changes that follow from those of the inputs and from the passing of time."""
        ...


def earlier(*times: int | None) -> int | None:
    """The first of some instants, of which any may be missing."""
    return min((time for time in times if time is not None), default=None)


def next_time(operator: Operator) -> int | None:
    """The first instant at which an operator may have something to say though no more comes
    in; None if there is none. One that keeps a state and does not tell may have at any."""
    tells = getattr(operator, "next_time", None)
    if tells is not None:
        found: int | None = tells()
        return found
    return BEFORE_TIME if operator.STATE else None


def certain(operator: Operator, frontier: int) -> int:
    """Before which instant an operator has said all it ever will, if everything before a
    frontier is known of its inputs. Most need to know no more than that."""
    tells = getattr(operator, "certain", None)
    if tells is None:
        return frontier
    found: int = tells(frontier)
    return found


def snapshot(operator: Operator) -> tuple[Any, ...]:
    return tuple(getattr(operator, name) for name in operator.STATE)


def restore(operator: Operator, state: tuple[Any, ...]) -> None:
    for name, value in zip(operator.STATE, state, strict=True):
        setattr(operator, name, value)
