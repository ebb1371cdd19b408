"""What an expression is worth on whole columns: by machine code where there is some.

Expressions over numbers are compiled. They run interpreted until their code is
ready, and on the rows that the code leaves open: a call that fails there is
noted by its definition, so the code never decides what a failure is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thalweg.adapt.choices import DEFAULT
from thalweg.adapt.policies import FILTER_POLICIES
from thalweg.evaluate import Compiler, Failures
from thalweg.plan.expressions import Expression, columns_used, conjuncts
from thalweg.vector.chain import Chain
from thalweg.vector.column import Columns, Mask, Vector, patched, rows_at
from thalweg.vector.compiled.loops import Loop, value_loop
from thalweg.vector.compiled.running import values_of
from thalweg.vector.compiled.store import CodeStore
from thalweg.vector.interpret import Interpreter, Vectorized


class VectorCompiler:
    """Turns expressions into functions over columns, each once.

    Without a store of code everything is interpreted. `filters` names the policy for the
    order of predicates, in the chains that are asked for from then on; `chains` are all of
    them.
    """

    def __init__(
        self, scalar: Compiler, failures: Failures, store: CodeStore | None = None
    ) -> None:
        self.filters = DEFAULT.filters
        self._plain = Interpreter(scalar, failures)
        self._partly = Interpreter(scalar, failures, self)
        self._store = store
        self._failures = failures
        self._loops: list[Loop] = []
        self.chains: list[Chain] = []
        # Keyed by identity, as in `thalweg.evaluate`.
        self._known: dict[int, tuple[Expression, Vectorized]] = {}

    def __call__(self, expression: Expression) -> Vectorized:
        known = self._known.get(id(expression))
        if known is None:
            known = self._known[id(expression)] = (expression, self._compile(expression))
        return known[1]

    def chain(self, predicates: Sequence[Expression]) -> Chain:
        """The rows on which all predicates are true."""
        given = (self._plain, self._partly, self._store, self._failures)
        chain = Chain(predicates, *given, FILTER_POLICIES[self.filters])
        self.chains.append(chain)
        self._loops += chain.loops
        return chain

    def is_true(self, predicate: Expression) -> Callable[[Columns, int], Mask]:
        """Where a predicate is true: neither false nor NULL."""
        chain = self.chain(conjuncts(predicate))

        def test(columns: Columns, length: int) -> Mask:
            passed = np.zeros(length, np.bool_)
            passed[chain(columns, length)] = True
            return passed

        return test

    def warm(self) -> int:
        """Have the code of all that was asked for so far; how many functions that is."""
        if self._store is None:
            return 0
        self._store.warm(loop.code for loop in self._loops)
        return len(self._loops)

    def _compile(self, expression: Expression) -> Vectorized:
        loop = None if self._store is None else value_loop(expression)
        if loop is None or self._store is None:
            return self._partly(expression)
        self._loops.append(loop)
        return _by_code(expression, loop, self._store, self._plain(expression))


def _by_code(
    expression: Expression, loop: Loop, store: CodeStore, interpreted: Vectorized
) -> Vectorized:
    used = columns_used(expression)

    def run(columns: Columns, length: int) -> Vector:
        found = values_of(loop, store, columns, length, expression.type)
        if found is None:
            return interpreted(columns, length)
        values, unsure = found
        if not len(unsure):
            return values
        decided = interpreted(rows_at(columns, unsure, used), len(unsure))
        return patched(values, unsure, decided)

    return run
