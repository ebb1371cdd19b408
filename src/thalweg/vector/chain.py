"""Which rows pass a chain of predicates.

Predicates are total, so every order keeps the same rows, and one that drops a row spares
it the others. Rows are taken in stretches that fit the processor's cache; between two of
them the order may change, and now and then some rows are shown to more predicates than
they had to meet, for whoever decides on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import thread_time_ns

import numpy as np

from thalweg.adapt.decisions import Decision
from thalweg.adapt.drops import Order
from thalweg.adapt.filter_order import FilterOrder
from thalweg.adapt.learned import FoundPlan, Learned
from thalweg.adapt.measured import Measured, Tally
from thalweg.adapt.own_time import OwnTime
from thalweg.adapt.policies import MakePolicy
from thalweg.evaluate import Failures
from thalweg.plan.expressions import Expression, PythonCall, columns_used, walk
from thalweg.plan.text import expression_text
from thalweg.vector.column import Columns, Index, rows_at
from thalweg.vector.compiled.loops import Loop, selection_loops
from thalweg.vector.compiled.running import selection
from thalweg.vector.compiled.store import CodeStore
from thalweg.vector.interpret import Interpreter

# (m) Six filters: 5.3 ns per row with 8,192 rows, 3.8 with 32,768, 3.6 with 65,536 and more. To
# look at what happened takes 1.0 % of the time with 65,536 rows, 0.7 % with 131,072.
STRETCH_ROWS, TRIED_STRETCH_ROWS = 131_072, 65_536
# The first stretch: what takes microseconds for a row is to be known soon.
FIRST_STRETCH_ROWS = 1024

# The rows that pass a predicate, of those given; both in order. The latter are written over.
Passing = Callable[[Index], Index]


class Test:
    """A predicate, as code where there is some."""

    def __init__(
        self,
        predicate: Expression,
        loop: Loop | None,
        interpreter: Interpreter,
        store: CodeStore | None,
    ) -> None:
        self._loop = loop
        self._store = store
        self._is_true = interpreter.is_true(predicate)
        self._used = columns_used(predicate)

    def on(self, columns: Columns, length: int) -> Passing:
        """The predicate on some columns."""
        found = None
        if self._loop is not None and self._store is not None:
            found = selection(self._loop, self._store, columns, length)
        if found is None:
            return lambda rows: self._interpreted(columns, length, rows)
        select = found

        def passing(rows: Index) -> Index:
            passed, unsure = select(rows)
            if not len(unsure):
                return passed
            decided = self._interpreted(columns, length, unsure)
            return np.sort(np.concatenate([passed, decided]))

        return passing

    def _interpreted(self, columns: Columns, length: int, rows: Index) -> Index:
        if not len(rows):
            return rows
        if len(rows) == length:
            some = columns
        elif rows[-1] - rows[0] + 1 == len(rows):
            part = slice(int(rows[0]), int(rows[-1]) + 1)
            some = tuple(c.part(part) if i in self._used else c for i, c in enumerate(columns))
        else:
            some = rows_at(columns, rows, self._used)
        return rows[self._is_true(some, len(rows))]


class Chain:
    def __init__(
        self,
        predicates: Sequence[Expression],
        plain: Interpreter,
        partly: Interpreter,
        store: CodeStore | None,
        failures: Failures,
        make: MakePolicy,
    ) -> None:
        self._failures = failures
        self._texts = [expression_text(predicate) for predicate in predicates]
        self._told = 0
        self._tallies = [Tally() for _ in predicates]
        loops = selection_loops(predicates)
        self.loops = [loop for loop in loops if loop is not None]
        self._tests = [
            Test(predicate, loop, partly if loop is None else plain, store)
            for predicate, loop in zip(predicates, loops, strict=True)
        ]
        # Those over numbers first: to begin with, they are the cheap ones.
        first = sorted(range(len(loops)), key=lambda number: loops[number] is None)
        # A function of the user's may wait for something, which is no time of this thread.
        calls = any(isinstance(part, PythonCall) for p in predicates for part in walk(p))
        self._clock = OwnTime() if calls else thread_time_ns
        self.order = FilterOrder(tuple(first), make, self._clock)

    def __call__(self, columns: Columns, length: int) -> Index:
        """The rows that pass, in order."""
        tests: dict[int, Passing] = {}

        def passing(number: int, rows: Index) -> Index:
            if number not in tests:
                tests[number] = self._tests[number].on(columns, length)
            return tests[number](rows)

        found, first = [np.arange(0)], 0
        while first < length:
            end = min(first + self._stretch_rows(), length)
            found.append(self._stretch(np.arange(first, end), passing))
            first = end
        return found[-1] if len(found) <= 2 else np.concatenate(found)

    def _stretch_rows(self) -> int:
        if self.order.is_trying:
            return TRIED_STRETCH_ROWS
        if not self.order.is_unsure:
            return STRETCH_ROWS
        return min(TRIED_STRETCH_ROWS, max(FIRST_STRETCH_ROWS, self.order.total.rows))

    def decisions(self) -> list[Decision]:
        """Those that were not told before."""
        fresh, self._told = self.order.changes[self._told :], len(self.order.changes)
        return [
            Decision(
                "filters",
                self._named(change.before),
                self._named(change.after),
                change.expected,
                change.measured,
                change.is_kept,
            )
            for change in fresh
        ]

    def measured(self) -> list[Measured]:
        """What each predicate had, let pass and took since this was asked last."""
        if not any(self._tallies):
            return []
        steps = [self._tallies[number].told(self._texts[number]) for number in self.order.order]
        return [Measured("filters", (), " AND ".join(self._texts), tuple(steps))]

    @property
    def _name(self) -> str:
        return f"filters {' AND '.join(self._texts)}"

    def learned(self) -> list[Learned]:
        order = self.order.found()
        plan = None if order is None else FoundPlan(order)
        return [Learned(self._name, "filters", tuple(self._texts), plan, self.order.news())]

    def take_over(self, plans: Mapping[str, FoundPlan]) -> None:
        plan = plans.get(self._name)
        if plan is not None and plan.fits(self.order.order):
            self.order.suggest(plan.order)

    def _named(self, order: Order) -> tuple[str, ...]:
        return tuple(self._texts[number] for number in order)

    def _stretch(self, rows: Index, passing: Callable[[int, Index], Index]) -> Index:
        order, first, passed = self.order.next(), int(rows[0]), rows
        counts = [len(rows)]
        began = now = self._clock()
        for number in order:
            if len(passed):
                passed = passing(number, passed)
            counts.append(len(passed))
            before, now = now, self._clock()
            self._tallies[number].add(counts[-2], counts[-1], now - before)
        self.order.ran(order, counts, now - began)
        if self.order.wants_profile:
            with self._failures.ignored():
                self.order.profile(np.arange(first, first + counts[0]), passing)
        return passed
