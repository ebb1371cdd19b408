"""Expressions as text, as machine code and interpreted, against their definition."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expression_cases import _none, defined, random_columns, random_expression

from thalweg.evaluate import Compiler, Failures
from thalweg.plan.expressions import Call, Column, Expression, Literal
from thalweg.types import BIGINT, BOOLEAN
from thalweg.values import shown_key
from thalweg.vector.column import Columns, from_values, rows_of
from thalweg.vector.compiled.loops import selection_loops, value_loop
from thalweg.vector.compiled.store import Code, CodeStore, Run
from thalweg.vector.evaluate import VectorCompiler

ROWS = 40
PARTS = 8


class Uncompiled(CodeStore):
    """The text as it is, run by Python."""

    def warm(self, codes: Iterable[Code]) -> None:
        """There is nothing to wait for."""

    def __init__(self) -> None:
        super().__init__(Path())

    def find(self, code: Code, rows: int) -> Run:
        names: dict[str, Any] = {"np": np}
        # Machine code cuts off what does not fit; such values are not looked at.
        cut_off = r"values[i] = np.asarray(\1).astype(values.dtype)"
        exec(re.sub(r"values\[i\] = (.*)", cut_off, code.text), names)
        run = names["run"]

        def quietly(*arrays: Any) -> tuple[int, int]:
            with np.errstate(all="ignore"):
                passed, unsure = run(*arrays)
            return int(passed), int(unsure)

        return quietly


def evaluated(
    expression: Expression, columns: Columns, store: CodeStore | None
) -> tuple[list[Any], Failures]:
    failures = Failures()
    compiler = VectorCompiler(Compiler(_none), failures, store)
    evaluate = compiler(expression)
    compiler.warm()
    return evaluate(columns, len(columns[0])).values(), failures


def check_value(seed: int, *stores: CodeStore | None) -> None:
    text, expression = random_expression(seed)
    columns = random_columns(seed, ROWS)
    rows = list(rows_of(columns, ROWS))
    expected, failed = defined(expression, rows)
    for store in stores:
        values, failures = evaluated(expression, columns, store)
        for row, a, b in zip(rows, expected, values, strict=True):
            assert shown_key((a,)) == shown_key((b,)), f"{store}: {text}\n{row}\n{a} not {b}"
            assert type(a) is type(b), f"{store}: {text}: {a!r} not {b!r}"
        assert failures.noted.keys() == failed.noted.keys(), f"{store}: {text}"


def check_chain(seed: int, *stores: CodeStore | None) -> None:
    """One predicate after the other, those over numbers first, each on what is left."""
    predicates = [random_expression(seed * 10 + i, truth=True)[1] for i in range(2 + seed % 5)]
    columns = random_columns(seed, ROWS)
    loops = selection_loops(predicates)
    numeric = [p for p, loop in zip(predicates, loops, strict=True) if loop is not None]
    left = list(enumerate(rows_of(columns, ROWS)))
    failed = Failures()
    for predicate in [*numeric, *(p for p in predicates if p not in numeric)]:
        outcome, noted = defined(predicate, [row for _, row in left])
        failed.noted.update(noted.noted)
        left = [entry for entry, true in zip(left, outcome, strict=True) if true]
    for store in stores:
        failures = Failures()
        compiler = VectorCompiler(Compiler(_none), failures, store)
        chain = compiler.chain(predicates)
        compiler.warm()
        assert chain(columns, ROWS).tolist() == [i for i, _ in left], f"{store}: {seed}"
        assert failures.noted.keys() == failed.noted.keys(), f"{store}: {seed}"


@pytest.mark.parametrize("part", range(PARTS))
def test_values_by_text_and_interpreted(part: int) -> None:
    for seed in range(part, 2400, PARTS):
        check_value(seed, Uncompiled(), None)


@pytest.mark.parametrize("part", range(PARTS))
def test_chains_by_text_and_interpreted(part: int) -> None:
    for seed in range(part, 800, PARTS):
        check_chain(seed, Uncompiled(), None)


@pytest.mark.parametrize("part", range(PARTS))
def test_machine_code(part: int, tmp_path: Path) -> None:
    store = CodeStore(tmp_path)
    written = (s for s in count(part, PARTS) if value_loop(random_expression(s)[1]) is not None)
    for seed in islice(written, 2):
        check_value(seed, store)
    check_chain(10_004 + 10 * part, store)


@pytest.mark.parametrize("compiled", [False, True])
def test_membership_in_large_sets(compiled: bool, tmp_path: Path) -> None:
    """A probe of a hash table finds what comparing one by one does."""
    chance = random.Random(1)
    edges = [-(2**63), 2**63 - 1, 0, 1, -1]
    values = [*edges, None, *(chance.randrange(-300, 300) for _ in range(ROWS - 6))]
    columns = (from_values(values, BIGINT),)
    store = CodeStore(tmp_path) if compiled else Uncompiled()
    for size in (9, 10, 100, 500):
        choices = [*chance.sample(edges, 3), *chance.sample(range(-300, 300), size - 3)]
        x = Column(type=BIGINT, index=0, name="x")
        literals = tuple(Literal(type=BIGINT, value=choice) for choice in choices)
        member = Call(type=BOOLEAN, function="in", arguments=(x, *literals))
        predicates = [
            Call(type=BOOLEAN, function="not", arguments=(member,)),
            Call(type=BOOLEAN, function="is not null", arguments=(x,)),
        ]
        compiler = VectorCompiler(Compiler(_none), Failures(), store)
        chosen = compiler.chain(predicates)
        assert len(chosen.loops) == 2
        compiler.warm()
        expected = [i for i, v in enumerate(values) if v is not None and v not in choices]
        assert chosen(columns, ROWS).tolist() == expected, size
