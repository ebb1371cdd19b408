"""What has no operator of its own yet, by the definition of the language.

The elements that windows may still hold are kept, and at every instant at which
something can change the reference computes the relation from them. Exact and
slow. It runs subqueries that are correlated or inside expressions, RSTREAM of what
does not change in steps, and streams whose order another window counts rows by.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, ClassVar

import numpy as np

from thalweg.bags import Row, net_difference, stamped
from thalweg.evaluate import Compiler, Failures
from thalweg.operators.base import Moment
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, nothing
from thalweg.plan.nodes import (
    Dstream,
    Plan,
    QueryScan,
    RangeWindow,
    Rstream,
    SlideWindow,
    StreamOperator,
    StreamScan,
    Window,
)
from thalweg.plan.placed import Received
from thalweg.reference import Element, Inputs, Reference
from thalweg.vector.column import from_values, rows_of


@dataclass
class Leaf:
    """A stream below: a source, or another query's, with the elements still needed.

    `rank` is the stream's place in the script, None for a derived stream. `scale`
    is the number of our ticks in one of its own.
    """

    plan: Plan
    rank: int | None
    scale: int = 1
    elements: list[Element] = field(default_factory=list)


class _OnKept(Reference):
    """The reference over the elements that were kept."""

    def __init__(
        self,
        tables: Mapping[str, Any],
        leaves: list[Leaf],
        firsts: Mapping[str, int],
        compiler: Compiler,
        failures: Failures,
    ) -> None:
        super().__init__(Inputs({}, tables), lambda path: None)
        self._compile = compiler
        self._load_python = compiler.load_python
        self.failures = failures
        self._leaves = {id(leaf.plan): leaf for leaf in leaves}
        self._firsts = firsts

    def stream(self, plan: Plan) -> list[Element]:
        leaf = self._leaves.get(id(plan))
        return super().stream(plan) if leaf is None else leaf.elements

    def _begin(self, plan: Plan) -> int | None:
        if isinstance(plan, StreamScan):
            first = self._firsts.get(plan.name)
            return None if first is None else first * plan.scale
        if isinstance(plan, Received):
            firsts = self._firsts
            begins = (firsts[name] * scale for name, scale, _ in plan.origins if name in firsts)
            return min(begins, default=None)
        return super()._begin(plan)


class ByDefinitionRun:
    """A relation or a stream by definition.

    `orders` has the place in Σ of each element given out in this step, by its
    position; another operator of this kind looks there.
    """

    STATE: ClassVar[tuple[str, ...]] = ("kept", "_done", "_before", "_given", "_stands")

    def __init__(
        self,
        plan: Plan,
        leaves: list[Leaf],
        leaf_orders: list[ByDefinitionRun | None],
        tables: Mapping[str, Any],
        compiler: Compiler,
        failures: Failures,
    ) -> None:
        self._plan = plan
        self._relation = plan.input if isinstance(plan, StreamOperator) else plan
        self._leaves = leaves
        self._leaf_orders = leaf_orders
        self._tables = tables
        self._compiler = compiler
        self._failures = failures
        self._done: int | None = None
        self._before: list[Row] = []
        self._given = 0
        self._stands = False
        self.orders: dict[int, Any] = {}
        self._windows = [node for node in _nodes(self._relation) if isinstance(node, Window)]

    def step(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        for leaf, delta, source in zip(self._leaves, inputs, self._leaf_orders, strict=True):
            self._keep(leaf, delta, source)
        self.orders = {}
        ready = [
            Leaf(leaf.plan, leaf.rank, leaf.scale, _before(leaf, moment.frontier))
            for leaf in self._leaves
        ]
        run = _OnKept(self._tables, ready, moment.firsts, self._compiler, self._failures)
        if isinstance(self._plan, Rstream):
            result = self._everything(run, moment.frontier)
        else:
            result = self._net_changes(run, moment.frontier)
        self._forget(moment.frontier)
        return result

    def certain(self, frontier: int) -> int:
        """Rows that stand are said again as soon as time is known to go on."""
        if self._done is None or not self._stands or frontier == FOREVER:
            return frontier
        return min(frontier, self._done)

    def next_time(self) -> int | None:
        """When the relation changes next; RSTREAM speaks up to then."""
        done, speaks = self._done, isinstance(self._plan, Rstream)
        if done is None:
            return None if speaks else BEFORE_TIME
        run = _OnKept(self._tables, self._leaves, {}, self._compiler, Failures())
        changes = [now for now in run.changes(self._relation) if now >= done]
        return done if speaks and changes else min(changes, default=None)

    @property
    def kept(self) -> list[list[Element]]:
        """The elements of all leaves."""
        return [leaf.elements for leaf in self._leaves]

    @kept.setter
    def kept(self, elements: list[list[Element]]) -> None:
        for leaf, own in zip(self._leaves, elements, strict=True):
            leaf.elements = own

    def _keep(self, leaf: Leaf, delta: Delta, source: ByDefinitionRun | None) -> None:
        if not len(delta):
            return
        positions = np.zeros(len(delta), np.int64) if delta.position is None else delta.position
        for values, time, weight, position in zip(
            rows_of(delta.columns, len(delta)),
            delta.start.tolist(),
            delta.weight.tolist(),
            positions.tolist(),
            strict=True,
        ):
            if source is not None:
                order = source.orders[position]
            else:
                order = ((0, time, leaf.rank or 0, position),)
            for _ in range(weight):
                insort(leaf.elements, Element(time, Row(values, order)), key=_place)

    def _instants(self, run: _OnKept, frontier: int) -> list[int]:
        """When the relation may change; one that is not a whole answer has no beginning."""
        done, changes = self._done, run.changes(self._relation)
        if done is None and not isinstance(self._plan, StreamOperator):
            changes = {*changes, BEFORE_TIME}
        return sorted(now for now in changes if now < frontier and (done is None or now >= done))

    def _net_changes(self, run: _OnKept, frontier: int) -> Delta:
        entered_at: list[tuple[int, Row, int]] = []
        left_at: list[tuple[int, Row, int]] = []
        for now in self._instants(run, frontier):
            after = run.relation(self._relation, now)
            entered, left = net_difference(after, self._before)
            entered_at += [(now, row, 1) for row in entered]
            left_at += [(now, row, -1) for row in left]
            self._before = after
        self._done = frontier
        if isinstance(self._plan, StreamOperator):
            chosen = left_at if isinstance(self._plan, Dstream) else entered_at
            return self._elements([(now, row) for now, row, _ in chosen])
        return self._as_delta(entered_at + left_at)

    def _everything(self, run: _OnKept, frontier: int) -> Delta:
        """RSTREAM: as far as is known that time will be counted."""
        changes, begin = run.changes(self._relation), run.begin(self._relation)
        if begin is None or not changes:
            return nothing(self._plan.schema)
        start = begin if self._done is None else self._done
        end = min(frontier, max(changes) + 1)
        points = sorted({start, *(now for now in changes if start < now < end), end})
        elements: list[tuple[int, Row]] = []
        for first, after in pairwise(points):
            rows = run.relation(self._relation, first)
            for now in run.evaluations(self._relation, first, after) if rows else ():
                elements += [(now, row) for row in rows]
        self._done = max(start, end)
        self._stands = bool(run.relation(self._relation, self._done))
        return self._elements(elements)

    def _elements(self, found: list[tuple[int, Row]]) -> Delta:
        """Elements of a stream, numbered in the order of time and Σ."""
        ordered = sorted(
            ((now, stamped(now, row.order), row) for now, row in found),
            key=lambda entry: entry[:2],
        )
        numbers = range(self._given, self._given + len(ordered))
        self._given += len(ordered)
        self.orders = {n: order for n, (_, order, _) in zip(numbers, ordered, strict=True)}
        delta = self._as_delta([(now, row, 1) for now, _, row in ordered])
        return Delta(
            delta.columns, delta.start, delta.start, delta.weight, np.array(numbers, np.int64)
        )

    def _as_delta(self, changes: list[tuple[int, Row, int]]) -> Delta:
        if not changes:
            return nothing(self._plan.schema)
        return Delta(
            tuple(
                from_values([row.values[i] for _, row, _ in changes], f.type)
                for i, f in enumerate(self._plan.schema)
            ),
            np.array([now for now, _, _ in changes], np.int64),
            np.full(len(changes), FOREVER),
            np.array([weight for _, _, weight in changes], np.int64),
        )

    def _forget(self, frontier: int) -> None:
        """Drop elements that no window of theirs can hold any more."""
        done = frontier if self._done is None else min(frontier, self._done)
        for leaf in self._leaves:
            windows = [w for w in self._windows if _reads(w, leaf.plan)]
            reach = max((_reach(window) for window in windows), default=FOREVER)
            if reach < FOREVER:
                oldest = done // leaf.scale - reach
                cut = bisect_left(leaf.elements, oldest, key=lambda e: e.time)
                del leaf.elements[:cut]


def _reach(window: Window) -> int:
    """For how long an element can matter to a window; FOREVER if that is not a time."""
    match window:
        case RangeWindow(span=span):
            return span + 2
        case SlideWindow(span=span, step=step):
            return span + 2 * step + 2
    return FOREVER


def _reads(window: Window, leaf: Plan) -> bool:
    return any(node is leaf for node in _nodes(window.input))


def _nodes(plan: Plan) -> list[Plan]:
    """A plan and everything below it, the plans of queries by name included."""
    inner = [plan.plan] if isinstance(plan, QueryScan) else []
    below = chain(plan.inputs, inner, *(_subplans(e) for e in plan.expressions))
    return [plan, *(node for child in below for node in _nodes(child))]


def _subplans(expression: Any) -> list[Plan]:
    return [*expression.subplans, *(p for child in expression.children for p in _subplans(child))]


def _place(element: Element) -> tuple[Any, ...]:
    return element.time, element.row.order


def _before(leaf: Leaf, frontier: int) -> list[Element]:
    end = -(-frontier // leaf.scale)
    return leaf.elements[: bisect_left(leaf.elements, end, key=lambda e: e.time)]
