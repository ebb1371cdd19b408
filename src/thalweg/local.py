"""The engine batch by batch in one plain process: intake, shards, and what passes between."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from thalweg.answers import Change
from thalweg.assembly import Origin
from thalweg.catalog import Stream
from thalweg.dataflow import Dataflow, Noted, Stepped
from thalweg.intake.accept import Arrival
from thalweg.intake.slices import as_delta
from thalweg.intake.split import split
from thalweg.operators.delta import BEFORE_TIME, FOREVER, Delta, combined
from thalweg.plan.placed import Placement
from thalweg.reference import Inputs
from thalweg.vector.compiled.store import CodeStore


class LocalEngine:
    """All queries of a placement over a number of shards."""

    def __init__(
        self,
        placement: Placement,
        streams: Mapping[str, Stream],
        inputs: Inputs,
        load_python: Callable[[str], Any],
        shards: int,
        store: CodeStore | None = None,
    ) -> None:
        self._exchanges = placement.exchanges
        self._streams = streams
        self._inputs = inputs
        self._parts = parts = (inputs.ranks, inputs.tables, load_python, store)
        self._placement = placement
        at_intake = [exchange for exchange in self._exchanges if exchange.stream is not None]
        self._intake = Dataflow({}, at_intake, *parts)
        self._shards = [self._shard(number) for number in range(shards)]
        self.failures: dict[str, Noted] = {}  # by query
        self._firsts: dict[str, int] = {}
        self._lasts: dict[str, int] = {}
        self._promises: dict[Origin, int] = dict.fromkeys(streams, BEFORE_TIME)
        self._reached: dict[Origin, int] = {e.number: BEFORE_TIME for e in self._exchanges}
        # By shard and exchange: what was sent and has not been taken yet.
        self._waiting: dict[tuple[int, int], list[Delta]] = defaultdict(list)

    def _shard(self, number: int) -> Dataflow:
        derived = [exchange for exchange in self._exchanges if exchange.stream is None]
        return Dataflow(self._placement.queries_of(number), derived, *self._parts)

    def warm(self) -> int:
        """Have all code before the first batch; how many functions that is."""
        return sum(dataflow.warm() for dataflow in (self._intake, *self._shards))

    def restart(self) -> None:
        """Go on with new shards from what the old ones would leave behind."""
        for number, old in enumerate(self._shards):
            self._shards[number] = self._shard(number)
            self._shards[number].restore(pickle.loads(pickle.dumps(old.snapshot(), 5)))

    def run(self, rows: int) -> Iterator[Mapping[str, list[Change]]]:
        """Feed every stream `rows` rows at a time, then let time run to its end."""
        arrivals = self._inputs.streams
        longest = max((len(some) for some in arrivals.values()), default=0)
        for first in range(0, longest, rows):
            batch = {name: some[first : first + rows] for name, some in arrivals.items()}
            for name, some in batch.items():
                if some:
                    self._advance(name, some)
            yield self._step(
                {name: as_delta(some, self._streams[name].columns) for name, some in batch.items()}
            )
        self._promises = dict.fromkeys(self._streams, FOREVER)
        settled = False
        while not settled:
            derived = [self._reached[e.number] for e in self._exchanges if e.stream is None]
            settled = not self._waiting and all(time == FOREVER for time in derived)
            yield self._step({})

    def _advance(self, name: str, some: Sequence[Arrival]) -> None:
        times = [arrival.time for arrival in some]
        self._firsts[name] = min(self._firsts.get(name, times[0]), *times)
        self._lasts[name] = max(self._lasts.get(name, times[0]), *times)
        promise = max(times) - self._streams[name].slack
        self._promises[name] = max(self._promises[name], promise)

    def _step(self, arrivals: Mapping[Origin, Delta]) -> Mapping[str, list[Change]]:
        taken_in = self._intake.step(arrivals, self._promises, self._firsts, self._lasts)
        self._send(taken_in.sent)
        self._note(taken_in)
        self._reached.update(taken_in.reached)
        waiting, self._waiting = self._waiting, defaultdict(list)
        answers: dict[str, list[Change]] = defaultdict(list)
        reached: dict[Origin, int] = {}
        for shard, dataflow in enumerate(self._shards):
            received: dict[Origin, Delta] = {
                number: combined(parts, self._exchanges[number].plan.schema)
                for (to, number), parts in waiting.items()
                if to == shard
            }
            stepped = dataflow.step(received, self._reached, self._firsts, self._lasts)
            for name, records in stepped.answers.items():
                answers[name] += records.changes()
            self._send(stepped.sent)
            self._note(stepped)
            for number, frontier in stepped.reached.items():
                reached[number] = min(frontier, reached.get(number, FOREVER))
        self._reached.update(reached)
        return answers

    def _note(self, stepped: Stepped) -> None:
        for purpose, noted in stepped.failures.items():
            for query in self._placement.queries_for(purpose):
                self.failures.setdefault(query, {}).update(noted)

    def _send(self, sent: Mapping[int, Delta]) -> None:
        for number, delta in sent.items():
            keys = self._exchanges[number].keys
            for shard, part in split(delta, keys, len(self._shards)).parts():
                self._waiting[shard, number].append(part)
