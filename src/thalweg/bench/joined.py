"""A join alone, fed with rows from memory."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from time import thread_time_ns

import numpy as np
import numpy.typing as npt

from thalweg.adapt.choices import Adaptation
from thalweg.assembly import Origin
from thalweg.dataflow import Dataflow
from thalweg.errors import SourceText
from thalweg.operators.base import Moment
from thalweg.operators.delta import Delta
from thalweg.operators.join import JoinRun
from thalweg.optimize.rules import optimized
from thalweg.plan.placed import Exchange
from thalweg.program import bind_script
from thalweg.types import BIGINT, TIMESTAMP
from thalweg.vector.column import Vector
from thalweg.vector.compiled.store import CodeStore, user_folder

Keys = npt.NDArray[np.int64]

SECOND = 1_000_000

OFF = Adaptation(filters="off", joins="off", caches="off")
ORDERS = Adaptation(caches="off")


class Joined:
    """The join of a script's only query. `nanos` is what its steps took of the processor,
    `all_nanos` that and what it took to store the rows."""

    def __init__(self, script: str, adaptation: Adaptation) -> None:
        program = bind_script(SourceText("join.cql", script))
        (query,) = program.catalog.queries()
        self._streams = {stream.name: stream for stream in program.catalog.streams()}
        plan = optimized(query.plan).plan
        store = CodeStore(user_folder())
        ranks = {name: stream.rank for name, stream in self._streams.items()}
        self._dataflow = Dataflow(
            {},
            [Exchange(0, plan, None)],
            ranks,
            {},
            _no_python,
            store,
            {0: (query.name,)},
            {query.name: adaptation},
        )
        self._dataflow.warm()
        (self.join,) = (
            node.operator
            for node, _ in self._dataflow.operators()
            if isinstance(node.operator, JoinRun)
        )
        self.nanos = self.all_nanos = 0
        self._step, self.join.step = self.join.step, self._timed  # type: ignore[method-assign]

    def _timed(self, inputs: tuple[Delta, ...], moment: Moment) -> Delta:
        began = thread_time_ns()
        result = self._step(inputs, moment)
        self.nanos += thread_time_ns() - began
        return result

    def step(self, arrivals: Mapping[str, Delta]) -> Delta:
        """Rows of the streams, none of which is behind those of another by more than a batch."""
        last = max(int(delta.start[-1]) for delta in arrivals.values())
        promises: dict[Origin, int] = dict.fromkeys(self._streams, last)
        given: dict[Origin, Delta] = dict(arrivals.items())
        began = thread_time_ns()
        stepped = self._dataflow.step(given, promises, {}, {})
        self.all_nanos += thread_time_ns() - began
        return stepped.sent[0]


def keep_what_is_loaded() -> None:
    """Nothing of it is looked through for garbage again: that takes longer than many batches,
    whichever join it befalls."""
    gc.collect()
    gc.freeze()


def repeated(
    batches: Sequence[Mapping[str, Delta]], count: int, first: int = 0
) -> Iterator[dict[str, Delta]]:
    """So many batches, each of a second: the same ones again and again, later every time."""
    for number in range(count):
        shift = SECOND * (first + number // len(batches) * len(batches))
        batch = batches[number % len(batches)]
        yield {name: _later(delta, shift) for name, delta in batch.items()}


def _later(delta: Delta, shift: int) -> Delta:
    *columns, _ = delta.columns
    times = delta.start + shift
    return Delta((*columns, Vector(TIMESTAMP, times)), times, times, delta.weight, delta.position)


def rows_of(times: Keys, *keys: Keys) -> Delta:
    """Rows of a stream: some keys, and the time."""
    columns = (*(Vector(BIGINT, key) for key in keys), Vector(TIMESTAMP, times))
    return Delta(columns, times, times, np.ones(len(times), np.int64), np.arange(len(times)))


def digest(delta: Delta) -> int:
    """The same for equal changes, in whatever order they come."""
    mixed = np.zeros(len(delta), np.uint64)
    arrays: Sequence[Keys] = [*(column.data for column in delta.columns), delta.start, delta.end]
    for array in arrays:
        mixed ^= np.asarray(array).astype(np.int64).view(np.uint64)
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(31)
    return int((mixed * delta.weight.view(np.uint64)).sum())


def _no_python(path: str) -> object:
    raise AssertionError(path)
