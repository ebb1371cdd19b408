"""Which rows pass a chain of predicates.

Predicates are total, so every order keeps the same rows, and one that drops a
row spares it the others. Those over numbers come first, as one piece of code;
the others follow in their order, each on the rows that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thalweg.plan.expressions import Expression, columns_used
from thalweg.vector.column import Columns, Index, Mask, rows_at
from thalweg.vector.compiled.loops import chain_loop
from thalweg.vector.compiled.running import passing_rows
from thalweg.vector.compiled.store import CodeStore
from thalweg.vector.interpret import Interpreter

Test = tuple[Callable[[Columns, int], Mask], frozenset[int]]


class Chain:
    def __init__(
        self,
        predicates: Sequence[Expression],
        plain: Interpreter,
        partly: Interpreter,
        store: CodeStore | None,
    ) -> None:
        self._store = store
        self.loop, numeric = chain_loop(predicates)
        self._numeric = [_test(predicate, plain) for predicate in numeric]
        self._others = [_test(p, partly) for p in predicates if p not in numeric]

    def __call__(self, columns: Columns, length: int) -> Index:
        """The rows that pass, in order."""
        rows = self._of_numbers(columns, length)
        return _passing(self._others, columns, length, rows)

    def _of_numbers(self, columns: Columns, length: int) -> Index:
        found = None
        if self.loop is not None and self._store is not None:
            found = passing_rows(self.loop, self._store, columns, length)
        if found is None:
            return _passing(self._numeric, columns, length, np.arange(length))
        rows, unsure = found
        if not len(unsure):
            return rows
        decided = _passing(self._numeric, columns, length, unsure)
        return np.sort(np.concatenate([rows, decided]))


def _test(predicate: Expression, interpreter: Interpreter) -> Test:
    return interpreter.is_true(predicate), columns_used(predicate)


def _passing(tests: list[Test], columns: Columns, length: int, rows: Index) -> Index:
    for is_true, used in tests:
        if not len(rows):
            break
        some = columns if len(rows) == length else rows_at(columns, rows, used)
        rows = rows[is_true(some, len(rows))]
    return rows
