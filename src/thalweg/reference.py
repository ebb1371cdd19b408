"""What every plan must answer: CQL by definition, instant by instant.

Slow and obvious on purpose, and never optimised: every other way to run a query
is compared with this one. It reads beside the definition of the language:

- a **stream** is a list of elements, each a row with the instant it belongs to;
- a **relation** is, at each instant, a bag of rows;
- a window makes a relation of a stream, SQL makes relations of relations, and
  ISTREAM, DSTREAM and RSTREAM make a stream of a relation.

`stream(plan)` gives the elements of a stream-valued plan, `relation(plan, now)`
the bag of any other, and `changes(plan)` the instants at which that bag can
differ from the one a tick before. `answers` runs a whole query, `answer_at`
computes a single instant from scratch.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeVar

from thalweg.answers import Change
from thalweg.bags import (
    NO_ROW,
    Row,
    by_value,
    distinct,
    from_branch,
    net_difference,
    paired,
    stamped,
    top_order,
    value_order,
)
from thalweg.evaluate import (
    Compiler,
    Evaluate,
    Failures,
    Surroundings,
)
from thalweg.group_value import group_value
from thalweg.intake.accept import Arrival
from thalweg.plan.expressions import (
    AggregateCall,
    Expression,
    outer_columns_used,
)
from thalweg.plan.inner_joins import inner_members, placed_conditions
from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Dstream,
    Filter,
    Istream,
    Join,
    JoinGraph,
    JoinKind,
    PartitionWindow,
    Plan,
    Project,
    QueryScan,
    RangeWindow,
    RowsWindow,
    Rstream,
    SetKind,
    SetOperation,
    SingleRow,
    SlideWindow,
    StreamOperator,
    StreamScan,
    TableScan,
    Top,
    UnboundedWindow,
    Window,
)
from thalweg.units import LAST_INSTANT
from thalweg.values import normal_zeros, row_key, sort_key

T = TypeVar("T")
Values = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Element:
    """A row of a stream and its instant."""

    time: int
    row: Row


@dataclass(frozen=True)
class Inputs:
    """What the streams and tables of a catalog hold; streams in their own units."""

    streams: Mapping[str, Sequence[Arrival]]
    tables: Mapping[str, Sequence[Values]]
    ranks: Mapping[str, int] = field(default_factory=dict)


class Reference:
    """Answers queries over fixed inputs."""

    def __init__(self, inputs: Inputs, load_python: Callable[[str], Any]) -> None:
        self.inputs = inputs
        self.failures = Failures()
        self._load_python = load_python
        self._compile = Compiler(load_python)
        self._streams: dict[int, tuple[Plan, list[Element]]] = {}
        self._known: dict[tuple[str, int], tuple[Plan, Any]] = {}
        self._now: int | None = None
        self._bags: dict[int, tuple[Plan, list[Row]]] = {}

    # The two questions

    def answers(self, plan: Plan) -> Iterator[Change]:
        """The whole answer of a query, in the order of time.

        A relation is answered as its net changes, a stream as its elements.
        """
        if plan.is_stream:
            for element in self.stream(plan):
                yield Change(element.time, "+", element.row.values)
            return
        before: list[Row] = []
        for now in sorted(self.changes(plan)):
            after = self.relation(plan, now)
            entered, left = net_difference(after, before)
            for sign, rows in (("-", left), ("+", entered)):
                for row in sorted(rows, key=lambda row: row_key(row.values)):
                    yield Change(now, sign, row.values)
            before = after

    def answer_at(self, plan: Plan, now: int) -> list[Values]:
        """The rows of a relation at an instant, or the elements of a stream at it."""
        if isinstance(plan, Rstream):
            evaluated = bool(self.evaluations(plan.input, now, now + 1))
            rows = self._at(plan.input, now) if evaluated else []
        elif isinstance(plan, StreamOperator):
            after, before = (self._at(plan.input, instant) for instant in (now, now - 1))
            entered, left = net_difference(after, before)
            rows = entered if isinstance(plan, Istream) else left
        elif plan.is_stream:
            rows = [element.row for element in self.stream(plan) if element.time == now]
        else:
            rows = self._at(plan, now)
        return [row.values for row in rows]

    def _at(self, plan: Plan, now: int) -> list[Row]:
        """The relation of a query, which is empty before the first row of its streams."""
        begin = self.begin(plan)
        return self.relation(plan, now) if begin is not None and now >= begin else []

    # Streams

    def stream(self, plan: Plan) -> list[Element]:
        """The elements of a stream in the order of (time, Σ)."""
        known = self._streams.get(id(plan))
        if known is None:
            elements = sorted(self._elements(plan), key=_place)
            known = self._streams[id(plan)] = (plan, elements)
        return known[1]

    def _elements(self, plan: Plan) -> Iterator[Element]:
        match plan:
            case StreamScan(name=name, columns=columns, scale=scale):
                rank = self.inputs.ranks.get(name, 0)
                for arrival in self.inputs.streams[name]:
                    time = arrival.time * scale
                    values = tuple(arrival.values[i] for i in columns)
                    yield Element(time, Row(values, ((0, time, rank, arrival.position),)))
            case QueryScan(plan=inner, scale=scale):
                for element in self.stream(inner):
                    time = element.time * scale
                    if time > LAST_INSTANT:
                        return
                    yield Element(time, Row(element.row.values, stamped(time, element.row.order)))
            case Filter(input=source, predicate=predicate):
                for element in self.stream(source):
                    if self._is_true(predicate, element.row.values):
                        yield element
            case Project(input=source, outputs=outputs):
                for element in self.stream(source):
                    values = self._values(outputs, element.row.values)
                    yield Element(element.time, Row(values, element.row.order))
            case Rstream(input=source):
                for first, end in pairwise((*sorted(self.changes(source)), LAST_INSTANT + 1)):
                    rows = self.relation(source, first)
                    for now in self.evaluations(source, first, end) if rows else ():
                        for row in rows:
                            yield Element(now, Row(row.values, stamped(now, row.order)))
            case Istream(input=source) | Dstream(input=source):
                before: list[Row] = []
                for now in sorted(self.changes(source)):
                    after = self.relation(source, now)
                    entered, left = net_difference(after, before)
                    for row in entered if isinstance(plan, Istream) else left:
                        yield Element(now, Row(row.values, stamped(now, row.order)))
                    before = after
            case _:
                raise AssertionError(f"{type(plan).__name__} is not a stream")

    def arrivals(self, plan: Plan) -> list[int]:
        """When rows arrive on a stream, ascending; also those that a filter drops."""
        match plan:
            case Filter(input=source) | Project(input=source):
                return self.arrivals(source)
        return [element.time for element in self.stream(plan)]

    # Time

    def begin(self, plan: Plan) -> int | None:
        """The instant of the first row of any source stream below; None if there is none."""
        return self._once("begin", plan, self._begin)

    def changes(self, plan: Plan) -> set[int]:
        """Every instant at which the relation can differ from the tick before."""
        return self._once("changes", plan, self._changes)

    def _once(self, what: str, plan: Plan, compute: Callable[[Plan], T]) -> T:
        """What follows from a plan alone is computed once."""
        known = self._known.get((what, id(plan)))
        if known is None:
            known = self._known[what, id(plan)] = (plan, compute(plan))
        result: T = known[1]
        return result

    def _begin(self, plan: Plan) -> int | None:
        match plan:
            case StreamScan(name=name, scale=scale):
                times = [arrival.time * scale for arrival in self.inputs.streams[name]]
                return min(times, default=None)
            case QueryScan(plan=inner, scale=scale):
                begin = self.begin(inner)
                return None if begin is None else begin * scale
        begins = [self.begin(child) for child in _children(plan)]
        return min((begin for begin in begins if begin is not None), default=None)

    def _changes(self, plan: Plan) -> set[int]:
        match plan:
            case QueryScan(plan=inner, scale=scale) if not inner.is_stream:
                return _in_time({now * scale for now in self.changes(inner)})
            case SlideWindow(input=source, span=span, step=step):
                times = self.arrivals(source)
                entries = {(t // step + 1) * step for t in times}
                return _in_time(entries | {((t + span) // step + 1) * step for t in times})
            case Window():
                return set(self._once("instants", plan, self._window_instants))
        instants = set(chain.from_iterable(self.changes(child) for child in _children(plan)))
        begin = self.begin(plan)
        return instants if begin is None else instants | {begin}

    def evaluations(self, plan: Plan, first: int, end: int) -> list[int]:
        """When RSTREAM emits, in first ≤ now < end: arrivals, expiries, multiples of the slide.

        Slides are counted from the first row of a source to the last change.
        """
        instants: set[int] = set()
        begin, changes = self.begin(plan), self.changes(plan)
        if begin is None or not changes:
            return []
        first, last = max(first, begin), min(end - 1, max(changes))
        for node, scale in _windows(plan, 1):
            if isinstance(node, SlideWindow):
                step = node.step * scale
                instants.update(range(-(-first // step) * step, last + 1, step))
            else:
                times = self._once("instants", node, self._window_instants)
                start = bisect_left(times, -(-first // scale))
                stop = bisect_right(times, last // scale)
                instants.update(now * scale for now in times[start:stop])
        return sorted(instants)

    def _window_instants(self, window: Plan) -> list[int]:
        """When rows come into a window and when they leave it by their age, ascending."""
        assert isinstance(window, Window), "asked of windows"
        times = set(self.arrivals(window.input))
        if isinstance(window, RangeWindow):
            times = _in_time(times | {t + window.span + 1 for t in times})
        return sorted(times)

    # Relations

    def relation(self, plan: Plan, now: int, outer: Values | None = None) -> list[Row]:
        """The bag of a relation at an instant; `outer` is the row around a subquery."""
        if outer is not None:
            return list(self._rows(plan, now, outer))
        if now != self._now:
            self._now, self._bags = now, {}
        known = self._bags.get(id(plan))
        if known is None:
            rows = list(self._rows(plan, now, None))
            if self._now != now:  # a stream below was computed on the way
                return rows
            known = self._bags[id(plan)] = (plan, rows)
        return known[1]

    def _rows(self, plan: Plan, now: int, outer: Values | None) -> Iterator[Row] | list[Row]:
        match plan:
            case Window():
                return [element.row for element in self._inside(plan, now)]
            case TableScan(name=name, columns=columns):
                return [
                    Row(tuple(values[i] for i in columns), ((0, position),))
                    for position, values in enumerate(self.inputs.tables[name])
                ]
            case SingleRow():
                return [Row(())]
            case QueryScan(plan=inner, scale=scale):
                return self._at(inner, now // scale)
            case Filter():
                return self._filter(plan, now, outer)
            case Project(input=source, outputs=outputs):
                return [
                    Row(self._values(outputs, row.values, now, outer), row.order)
                    for row in self.relation(source, now, outer)
                ]
            case Join():
                return self._join(plan, now, outer)
            case JoinGraph():
                return self._join_graph(plan, now, outer)
            case Aggregate():
                return self._aggregate(plan, now, outer)
            case Distinct(input=source):
                return by_value(distinct(self.relation(source, now, outer)))
            case SetOperation():
                return self._set_operation(plan, now, outer)
            case Top(input=source, keys=keys, limit=limit, offset=offset):
                rows = sorted(
                    self.relation(source, now, outer), key=lambda row: top_order(row.values, keys)
                )
                return rows[offset : offset + limit]
        raise AssertionError(f"{type(plan).__name__} is not a relation")

    def _inside(self, window: Window, now: int) -> list[Element]:
        """The elements that a window holds."""
        elements = self.stream(window.input)

        def between(first: int, end: int) -> list[Element]:
            """Those with first ≤ time < end."""
            start = bisect_left(elements, first, key=lambda e: e.time)
            return elements[start : bisect_left(elements, end, key=lambda e: e.time)]

        match window:
            case RangeWindow(span=span):
                return between(now - span, now + 1)
            case SlideWindow(span=span, step=step):
                edge = now // step * step
                return between(edge - span, edge)
        so_far = elements[: bisect_right(elements, now, key=lambda e: e.time)]
        match window:
            case RowsWindow(rows=rows):
                return so_far[-rows:]
            case PartitionWindow(keys=keys, rows=rows):
                parts: dict[Values, list[Element]] = defaultdict(list)
                for element in so_far:
                    parts[row_key(tuple(element.row.values[i] for i in keys))].append(element)
                return [element for part in parts.values() for element in part[-rows:]]
            case UnboundedWindow():
                return so_far
        raise AssertionError(f"unknown window {window}")

    def _filter(self, plan: Filter, now: int, outer: Values | None) -> list[Row]:
        members = inner_members(plan.input)
        if len(members) > 1:
            return self._product(members, self._tests(plan, now, outer), now, outer)
        return [
            row
            for row in self.relation(plan.input, now, outer)
            if self._is_true(plan.predicate, row.values, now, outer)
        ]

    def _product(
        self, members: list[Plan], tests: list[Test], now: int, outer: Values | None
    ) -> list[Row]:
        """Combinations of one row per member that pass every test.

        Each test is made as soon as its columns are there, which skips only rows
        that would be dropped in the end.
        """
        combined = [Row(())]
        waiting = tests
        width = 0
        for member in members:
            width += len(member.schema)
            ready = [test.passes for test in waiting if test.last_column < width]
            waiting = [test for test in waiting if test.last_column >= width]
            rows = self.relation(member, now, outer)
            pairs = (paired(left, right) for left in combined for right in rows)
            combined = [pair for pair in pairs if all(passes(pair.values) for passes in ready)]
        return combined

    def _tests(self, plan: Plan, now: int, outer: Values | None) -> list[Test]:
        """The conditions of a tree of inner joins, each with the last column it looks at."""
        return [
            Test(last, partial(self._is_true, condition, now=now, outer=outer))
            for last, condition in self._once("conditions", plan, placed_conditions)
        ]

    def _join(self, plan: Join, now: int, outer: Values | None) -> list[Row]:
        if plan.kind in (JoinKind.INNER, JoinKind.CROSS):
            return self._product(inner_members(plan), self._tests(plan, now, outer), now, outer)
        left = self.relation(plan.left, now, outer)
        right = self.relation(plan.right, now, outer)

        def outcome(a: Row, b: Row) -> bool | None:
            if plan.condition is None:
                return True
            result = self._value(plan.condition, a.values + b.values, now, outer)
            return None if result is None else bool(result)

        if plan.kind is JoinKind.SEMI:
            return [a for a in left if any(outcome(a, b) for b in right)]
        if plan.kind is JoinKind.ANTI:
            stays = (False,) if plan.null_aware else (False, None)
            return [a for a in left if all(outcome(a, b) in stays for b in right)]
        result: list[Row] = []
        matched_right: set[int] = set()
        no_left = Row((None,) * len(plan.left.schema), NO_ROW)
        no_right = Row((None,) * len(plan.right.schema), NO_ROW)
        for a in left:
            partners = [i for i, b in enumerate(right) if outcome(a, b)]
            matched_right.update(partners)
            result += [paired(a, right[i]) for i in partners]
            if not partners and plan.kind in (JoinKind.LEFT, JoinKind.FULL):
                result.append(paired(a, no_right))
        if plan.kind in (JoinKind.RIGHT, JoinKind.FULL):
            result += [paired(no_left, b) for i, b in enumerate(right) if i not in matched_right]
        return result

    def _join_graph(self, plan: JoinGraph, now: int, outer: Values | None) -> list[Row]:
        tests = self._tests(plan, now, outer)
        for key in plan.keys:
            for a, b in pairwise(sorted(key.columns)):
                tests.append(Test(b, partial(_columns_equal, a, b)))
        return self._product(list(plan.members), tests, now, outer)

    def _aggregate(self, plan: Aggregate, now: int, outer: Values | None) -> list[Row]:
        groups: dict[Values, tuple[Values, list[Values]]] = {}
        for row in self.relation(plan.input, now, outer):
            keys = normal_zeros(self._values(plan.keys, row.values, now, outer))
            groups.setdefault(row_key(keys), (keys, []))[1].append(row.values)
        if not plan.keys and not groups:
            begin = self.begin(plan.input)
            if _has_stream(plan.input) and (begin is None or now < begin):
                return []
            groups[()] = ((), [])
        return [
            Row(
                keys + tuple(self._aggregated(call, rows, now, outer) for call in plan.calls),
                value_order(keys),
            )
            for keys, rows in groups.values()
        ]

    def _aggregated(
        self, call: AggregateCall, rows: list[Values], now: int, outer: Values | None
    ) -> Any:
        if call.where is not None:
            rows = [row for row in rows if self._is_true(call.where, row, now, outer)]
        arguments = [self._values(call.arguments, row, now, outer) for row in rows]
        return group_value(call, arguments, self._load_python, self.failures)

    def _set_operation(self, plan: SetOperation, now: int, outer: Values | None) -> list[Row]:
        left = self.relation(plan.left, now, outer)
        right = self.relation(plan.right, now, outer)
        if plan.kind is SetKind.UNION:
            if not plan.all:
                return by_value(distinct(left + right))
            return [from_branch(i, row) for i, rows in enumerate((left, right)) for row in rows]
        counts = Counter(row_key(row.values) for row in right)
        if not plan.all:
            present = plan.kind is SetKind.INTERSECT
            kept = [r for r in distinct(left) if (counts[row_key(r.values)] > 0) is present]
            return by_value(kept)
        kept = []
        for row in left:
            key = row_key(row.values)
            matched = counts[key] > 0
            counts[key] -= matched
            if matched is (plan.kind is SetKind.INTERSECT):
                kept.append(row)
        return by_value(kept)

    # Expressions

    def _value(
        self, expression: Expression, row: Values, now: int = 0, outer: Values | None = None
    ) -> Any:
        evaluate: Evaluate = self._compile(expression)
        return evaluate(row, self._around(now, outer))

    def _values(
        self,
        expressions: tuple[Expression, ...],
        row: Values,
        now: int = 0,
        outer: Values | None = None,
    ) -> Values:
        around = self._around(now, outer)
        return tuple(self._compile(expression)(row, around) for expression in expressions)

    def _is_true(
        self, predicate: Expression, row: Values, now: int = 0, outer: Values | None = None
    ) -> bool:
        return self._value(predicate, row, now, outer) is True

    def _around(self, now: int, outer: Values | None) -> Surroundings:
        def rows_of(plan: Plan, row: Values) -> list[Values]:
            correlated = bool(outer_columns_used(plan))
            return [r.values for r in self.relation(plan, now, row if correlated else None)]

        return Surroundings(outer, rows_of, self.failures)


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on a combination of rows, and the last column that it looks at."""

    last_column: int
    passes: Callable[[Values], bool]

    __test__ = False  # not one of pytest's


def _columns_equal(a: int, b: int, values: Values) -> bool:
    """SQL's equality: NULL equals nothing."""
    return values[a] is not None and sort_key(values[a]) == sort_key(values[b])


def _place(element: Element) -> tuple[Any, ...]:
    """Time, then Σ of the base rows: a total order but for equal rows."""
    return element.time, element.row.order


def _in_time(instants: set[int]) -> set[int]:
    """Instants up to the end of time: what would change later stays."""
    return {now for now in instants if now <= LAST_INSTANT}


def _children(plan: Plan) -> Iterator[Plan]:
    """Inputs, and the subqueries of expressions."""
    yield from plan.inputs
    for expression in plan.expressions:
        yield from _subqueries(expression)


def _subqueries(expression: Expression) -> Iterator[Plan]:
    yield from expression.subplans
    for child in expression.children:
        yield from _subqueries(child)


def _windows(plan: Plan, scale: int) -> Iterator[tuple[Window, int]]:
    """The windows that a relation is made of, with the length of their tick in ours.

    Other queries that are read as relations are entered, streams are not.
    """
    if isinstance(plan, Window):
        yield plan, scale
    elif isinstance(plan, QueryScan):
        yield from _windows(plan.plan, scale * plan.scale)
    else:
        for child in _children(plan):
            yield from _windows(child, scale)


def _has_stream(plan: Plan) -> bool:
    return any(
        isinstance(node, QueryScan) or (node.is_stream and not node.inputs) for node in plan.walk()
    )
