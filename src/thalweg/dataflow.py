"""The operators that answer a set of queries, and one step of all of them.

A step takes the rows that came and the promises that moved, passes changes from
operator to operator in one sweep, and gives what every query has to say about the
instants that are now certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from types import MappingProxyType
from typing import Any

from thalweg.adapt.choices import DEFAULT, Adaptation
from thalweg.adapt.decisions import Decision
from thalweg.adapt.learned import FoundPlan, Learned
from thalweg.adapt.measured import Adaptive, Measured, Tally
from thalweg.assembly import Assembly, Node, Origin, Values
from thalweg.evaluate import Note
from thalweg.operators.answer import NetAnswerRun, Records, RelationAnswerRun, StreamAnswerRun
from thalweg.operators.base import Moment, certain, next_time, restore, snapshot
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta
from thalweg.operators.join import JoinRun
from thalweg.plan.nodes import Plan
from thalweg.plan.placed import Exchange
from thalweg.vector.compiled.store import CodeStore

# What an operator works for: a query by its name, an exchange by its number.
Purpose = str | int
# Calls that gave no value, and by all that they were made for.
Noted = dict[Note, None]
Failed = Mapping[Purpose, Noted]
# By source stream, in its own unit: an instant that must have passed in all of them.
Due = dict[str, int]


@dataclass(frozen=True)
class Stepped:
    """What came of a step: records of queries, changes for exchanges and how far each is,
    and what failed."""

    answers: Mapping[str, Records]
    sent: Mapping[int, Delta]
    reached: Mapping[Origin, int]
    failures: Failed


class Dataflow:
    """Queries, and fragments that exchanges send on.

    With a store, expressions run compiled as soon as it has their code. `served` are the queries
    that need an exchange, the first of them first; `adaptations` say by query what may change
    while they run.

    The operators of a shard that computes fewer queries are the first ones of another that
    computes them and more: fragments come first, then queries as they are given.
    """

    def __init__(
        self,
        queries: Mapping[str, Plan],
        exchanges: Sequence[Exchange],
        ranks: Mapping[str, int],
        tables: Mapping[str, Sequence[Values]],
        load_python: Callable[[str], Any],
        store: CodeStore | None = None,
        served: Mapping[int, tuple[str, ...]] = MappingProxyType({}),
        adaptations: Mapping[str, Adaptation] = MappingProxyType({}),
    ) -> None:
        assembly = Assembly(ranks, tables, load_python, store)
        self._sent: dict[int, int] = {}
        for exchange in exchanges:
            first = next(iter(served.get(exchange.number, ())), "")
            adaptation = adaptations.get(first, DEFAULT)
            self._sent[exchange.number] = assembly.sent(exchange.plan, adaptation)
        self._answers = {
            name: assembly.answer(plan, adaptations.get(name, DEFAULT))
            for name, plan in queries.items()
        }
        self._nodes, self._failures = assembly.nodes, assembly.failures
        self._compiler = assembly.compiler
        self._purposes = self._find_purposes(assembly.stores)
        self._served = served
        self._tallies = [Tally() for _ in self._nodes]
        self._adaptive = list(_adaptive(assembly))

    def warm(self) -> int:
        """Have the code of all expressions before the first step; how many functions that is."""
        return self._compiler.warm()

    def decisions(self) -> list[Decision]:
        """What was decided since this was asked last."""
        return [
            replace(decision, queries=self._queries(index))
            for index, part in self._adaptive
            for decision in part.decisions()
        ]

    def measured(self) -> list[Measured]:
        """What the operators had, made of it and took since this was asked last, and what those
        that adapt say of their steps. Who had nothing says nothing."""
        counted = enumerate(self._tallies)
        steps = tuple(tally.told(str(index)) for index, tally in counted if tally)
        whole = [Measured("operators", (), "", steps)] if steps else []
        return whole + [
            replace(measured, queries=self._queries(index), operator=index)
            for index, part in self._adaptive
            for measured in part.measured()
        ]

    def learned(self) -> list[Learned]:
        """What was learned since this was asked last."""
        return [
            replace(learned, queries=self._queries(index))
            for index, part in self._adaptive
            for learned in part.learned()
            if learned
        ]

    def take_over(self, plans: Mapping[str, FoundPlan]) -> None:
        """Plans that were found elsewhere, or before."""
        if plans:
            for _, part in self._adaptive:
                part.take_over(plans)

    def _queries(self, index: int) -> tuple[str, ...]:
        """The queries that an operator works for."""
        found: set[str] = set()
        for purpose in self._purposes[index]:
            found.update((purpose,) if isinstance(purpose, str) else self._served.get(purpose, ()))
        return tuple(sorted(found))

    def operators(self) -> list[tuple[Node, frozenset[Purpose]]]:
        """All operators in the order in which they step, each with what it works for."""
        return list(zip(self._nodes, map(frozenset, self._purposes), strict=True))

    # One step

    def step(
        self,
        arrivals: Mapping[Origin, Delta],
        promises: Mapping[Origin, int],
        firsts: Mapping[str, int],
        lasts: Mapping[str, int],
    ) -> Stepped:
        """Rows that came, how far each origin is promised, and the first and last instants of
        the rows of streams.

        All are in the units of their streams and fragments.
        """
        frontiers: list[int] = []
        outputs: list[Delta] = []
        failures: dict[Purpose, Noted] = {}
        parts = zip(self._nodes, self._purposes, self._tallies, strict=True)
        for node, purposes, tally in parts:
            inputs: tuple[Delta, ...]
            if node.origin is not None:
                inputs = (arrivals[node.origin],) if node.origin in arrivals else ()
            else:
                inputs = tuple(outputs[i] for i in node.inputs)
            reached = _reached(node, promises, frontiers)
            frontier = min(reached, default=FOREVER)
            moment = _moment(node, frontier, tuple(reached), firsts, lasts)
            began = perf_counter_ns()
            try:
                outputs.append(node.operator.step(inputs, moment))
            except Exception as error:
                error.add_note(_place(node, purposes))
                raise
            tally.add(sum(map(len, inputs)), len(outputs[-1]), perf_counter_ns() - began)
            frontiers.append(certain(node.operator, frontier))
            if self._failures.noted:
                for purpose in purposes:
                    failures.setdefault(purpose, {}).update(self._failures.noted)
                self._failures.noted.clear()
        return Stepped(
            {name: self._records(index) for name, index in self._answers.items()},
            {number: outputs[index] for number, index in self._sent.items()},
            {number: frontiers[index] for number, index in self._sent.items()},
            failures,
        )

    def due(self, promises: Mapping[Origin, int], firsts: Mapping[str, int]) -> list[Due]:
        """What the passing of time alone may let out, after a step with these promises."""
        frontiers: list[int] = []
        found: set[tuple[tuple[tuple[str, int], ...], int]] = set()
        for node in self._nodes:
            frontier = min(_reached(node, promises, frontiers), default=FOREVER)
            frontiers.append(certain(node.operator, frontier))
            begins = (firsts[name] * scale for name, scale in node.sources if name in firsts)
            # A first row is certain, and something may begin, when time has passed it.
            uncertain = (time for time in begins if time >= frontier)
            own = next_time(node.operator)
            instants = [*uncertain, *(() if own is None else (own,))]
            if instants and frontier < FOREVER and node.sources:
                found.add((node.sources, min(instants)))
        return [
            {name: time if time == BEFORE_TIME else time // scale for name, scale in sources}
            for sources, time in sorted(found)
        ]

    def snapshot(self) -> list[tuple[Any, ...]]:
        """All that passes from one batch to the next, operator by operator."""
        return [snapshot(node.operator) for node in self._nodes]

    def restore(self, state: list[tuple[Any, ...]], is_own: bool = False) -> None:
        """Go on from where another dataflow of the same plans was, or this one itself."""
        for node, part in zip(self._nodes, state, strict=True):
            restore(node.operator, part)
            if isinstance(node.operator, JoinRun) and not is_own:
                node.operator.forget()

    def _records(self, index: int) -> Records:
        operator = self._nodes[index].operator
        assert isinstance(operator, RelationAnswerRun | NetAnswerRun | StreamAnswerRun), (
            "an answer is last"
        )
        return operator.records

    def _find_purposes(self, stores: Mapping[int, set[int]]) -> list[set[Purpose]]:
        found: list[set[Purpose]] = [set() for _ in self._nodes]
        for name, index in self._answers.items():
            found[index].add(name)
        for number, index in self._sent.items():
            found[index].add(number)
        for index in reversed(range(len(found))):
            for below in (*self._nodes[index].inputs, *stores.get(index, ())):
                found[below] |= found[index]
        return found


def _adaptive(assembly: Assembly) -> Iterator[tuple[int, Adaptive]]:
    for index, node in enumerate(assembly.nodes):
        yield from ((index, chain) for chain in assembly.chains.get(index, ()))
        if isinstance(node.operator, Adaptive):
            yield index, node.operator


def _place(node: Node, purposes: set[Purpose]) -> str:
    """Where in the dataflow something is, for whoever has to find out what went wrong."""
    streams = ", ".join(name for name, _ in node.sources)
    queries = ", ".join(sorted(p for p in purposes if isinstance(p, str)))
    what = type(node.operator).__name__
    return f"in {what} over {streams or 'no stream'}" + (f" for {queries}" if queries else "")


def _moment(
    node: Node,
    frontier: int,
    reached: tuple[int, ...],
    firsts: Mapping[str, int],
    lasts: Mapping[str, int],
) -> Moment:
    known, begins = {}, []
    for name, scale in node.sources:
        first = firsts.get(name)
        if first is not None and first * scale < frontier:
            known[name] = first
            begins.append(first * scale)
    return Moment(frontier, reached, known, min(begins, default=None), lasts)


def _reached(node: Node, promises: Mapping[Origin, int], frontiers: list[int]) -> list[int]:
    """How far the inputs of a node are, in its tick."""
    if node.origin is not None:
        return [_scaled(promises[node.origin], node.tick)]
    below = zip(node.inputs, node.scales, strict=True)
    return [_scaled(frontiers[i], scale) for i, scale in below]


def _scaled(time: int, scale: int) -> int:
    if time in (FOREVER, BEFORE_TIME):
        return time
    return max(BEFORE_TIME, min(FOREVER, time * scale))
