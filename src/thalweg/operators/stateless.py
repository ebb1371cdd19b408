"""Operators that look at one row at a time: what comes in goes out at once."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from thalweg.operators.base import Moment
from thalweg.operators.delta import FOREVER, Delta, combined, scaled
from thalweg.plan.expressions import Expression
from thalweg.types import Schema
from thalweg.vector.evaluate import VectorCompiler


class FilterRun:
    """The rows on which all predicates are true.

    `needed` are the columns that somebody above reads; the others stand empty.
    """

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, predicates: tuple[Expression, ...], compiler: VectorCompiler, needed: frozenset[int]
    ) -> None:
        self._passing = compiler.chain(predicates)
        self._needed = needed

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if not len(delta):
            return delta
        rows = self._passing(delta.columns, len(delta))
        return delta if len(rows) == len(delta) else delta.take(rows, self._needed)


class ProjectRun:
    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, outputs: tuple[Expression, ...], compiler: VectorCompiler) -> None:
        self._outputs = [compiler(output) for output in outputs]

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        return delta.with_columns(
            tuple(output(delta.columns, len(delta)) for output in self._outputs)
        )


class UnionRun:
    """All rows of both inputs."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        return combined([replace(part, position=None) for part in inputs], self._schema)


class RescaleRun:
    """Another query's answer, in our finer tick; what begins beyond our time never comes."""

    STATE: ClassVar[tuple[str, ...]] = ()

    def __init__(self, scale: int) -> None:
        self._scale = scale

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        delta = inputs[0].where(inputs[0].start <= FOREVER // self._scale)
        return replace(
            delta,
            start=scaled(delta.start, self._scale),
            end=scaled(delta.end, self._scale),
        )


class BeginRun:
    """A query's answer, which is empty before the first row of any of its streams."""

    STATE: ClassVar[tuple[str, ...]] = ("_early",)

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._early: list[Delta] = []

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        (delta,) = inputs
        if moment.begin is None:
            self._early.append(delta)
            return combined([], self._schema)
        parts = combined([*self._early, delta], self._schema)
        self._early = []
        if not len(parts):
            return parts
        parts = replace(parts, start=parts.start.clip(min=moment.begin))
        return parts.where(parts.start < parts.end)

    def next_time(self) -> None:
        """What waits, waits for the first row of a stream."""
