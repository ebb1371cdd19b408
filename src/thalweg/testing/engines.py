"""Ways to run a script under test. All must give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from thalweg.answers import Change
from thalweg.evaluate import Failures
from thalweg.local import LocalEngine
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import Rule, rewrite
from thalweg.optimize.rules import RULES
from thalweg.plan.nodes import Plan
from thalweg.plan.placed import Placement
from thalweg.program import Program, load_python
from thalweg.reference import Reference
from thalweg.testing.feeds import Feeds, inputs_of
from thalweg.vector.compiled.store import CodeStore

Answers = dict[str, list[Change]]


@dataclass(frozen=True)
class Ran:
    """The answers of all queries of a script, and what failed on the way."""

    answers: Answers
    failures: Failures


class Engine(Protocol):
    """Anything that answers the queries of a program over given feeds."""

    def __call__(self, program: Program, feeds: Feeds) -> Ran: ...


def reference(program: Program, feeds: Feeds) -> Ran:
    """The definition: plans as bound."""
    return _on_reference(program, feeds, lambda plan: plan)


def rewritten(program: Program, feeds: Feeds) -> Ran:
    """The definition, on plans after all rewrites."""
    return rewritten_by(RULES)(program, feeds)


def rewritten_by(rules: tuple[Rule, ...]) -> Engine:
    """The definition, on plans after the given rewrites."""

    def run(program: Program, feeds: Feeds) -> Ran:
        return _on_reference(program, feeds, lambda plan: rewrite(plan, rules).plan)

    return run


def _on_reference(program: Program, feeds: Feeds, change: Callable[[Plan], Plan]) -> Ran:
    run = Reference(
        inputs_of(program, feeds), lambda path: load_python(path, program.folders, False)
    )
    answers = {
        query.name: list(run.answers(change(query.plan))) for query in program.catalog.queries()
    }
    return Ran(answers, run.failures)


def batched(
    rows: int,
    shards: int = 1,
    restarts: bool = False,
    store: CodeStore | None = None,
    placement: Placement | None = None,
) -> Engine:
    """The engine in one process, so many rows of each stream at a time.

    With `restarts`, every batch goes on from the stored state of the one before; with a
    store, expressions run compiled. The placement of a program may be known already.
    """

    def run(program: Program, feeds: Feeds) -> Ran:
        engine = engine_of(program, feeds, shards, store, placement)
        engine.warm()
        answers: Answers = {query.name: [] for query in program.catalog.queries()}
        for batch in engine.run(rows):
            for name, changes in batch.items():
                answers[name] += changes
            if restarts:
                engine.restart()
        every = Failures()
        for noted in engine.failures.values():
            every.noted.update(noted)
        return Ran(answers, every)

    return run


def engine_of(
    program: Program,
    feeds: Feeds,
    shards: int,
    store: CodeStore | None = None,
    placement: Placement | None = None,
) -> LocalEngine:
    """The engine of a program in one process, before its first batch."""
    streams = {stream.name: stream for stream in program.catalog.streams()}
    load = partial(load_python, folders=program.folders, aggregate=False)
    inputs = inputs_of(program, feeds)
    return LocalEngine(placement or placed(program), streams, inputs, load, shards, store)


def placed(program: Program) -> Placement:
    """The plans of a program, rewritten and cut into what shards compute."""
    plans = {q.name: rewrite(q.plan, RULES).plan for q in program.catalog.queries()}
    return place(plans, {stream.name: stream for stream in program.catalog.streams()})


ENGINES: dict[str, Engine] = {"reference": reference, "rewritten": rewritten}
