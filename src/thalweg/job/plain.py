"""A job batch by batch in one plain process: intake, shards and outlet without Spark.

The state store is a dictionary of manifests, and a batch counts once its outlet is
done; whatever happens before, it is done again from the manifests of the last one,
as Spark does it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from thalweg.clock import WallClock, wall_clock
from thalweg.control import ControlLog, Entry
from thalweg.intake.reading import Cursor
from thalweg.intake.take import Intake, Taken, together
from thalweg.outlet.begin import begin_batch
from thalweg.outlet.commit import Outlet
from thalweg.segments import Piece
from thalweg.shard.step import Shard, ShardResult
from thalweg.work import Work

# Called before a shard's step, with the batch and the shard's number.
Happen = Callable[[int, int], None]


class PlainJob:
    def __init__(self, work: Work, clock: WallClock = wall_clock) -> None:
        work.save()
        self._clock = clock
        self.work = work
        self.manifests: dict[int, bytes | None] = dict.fromkeys(range(work.shards))
        self.rebuilt = self.state_size = 0
        self.start()

    def start(self) -> None:
        """Begin, or go on in new processes."""
        self._outlet = Outlet(self.work, self._clock)
        self._intakes: dict[str, Intake] = {}
        self._shards = [Shard(self.work, number) for number in range(self.work.shards)]
        self.entry = self._outlet.start()

    def run(self, happen: Happen = lambda batch, shard: None, flush_every: int = 3) -> Entry:
        """Until everything is answered."""
        for number in count():
            if self.entry.finished:
                return self.entry
            self.batch(happen, flush=number % flush_every == 0)
        raise AssertionError("unreachable")

    def begin(self, stopping: bool = False) -> bool:
        """Whether there is something to do by the clock: the batch can go on then."""
        log = ControlLog(self.work.root)
        self.entry = begin_batch(self.work, log, self.entry.batch, self._clock(), stopping)
        return not self.entry.waits and not self.entry.finished

    def batch(self, happen: Happen = lambda batch, shard: None, flush: bool = False) -> None:
        takes = together(
            self._take(name, part)
            for name, sizes in self.entry.takes.items()
            for part in range(len(sizes))
        )
        results = []
        for number, shard in enumerate(self._shards):
            happen(self.entry.batch, number)
            results.append(self.step(shard, number, takes))
        self.entry = self._outlet.end_batch(self.entry.batch, takes, results, flush)
        self.manifests = {result.shard: result.manifest for result in results}
        self.rebuilt += sum(result.was_rebuilt for result in results)
        self.state_size = sum(result.state_size for result in results)

    def step(self, shard: Shard, number: int, takes: list[Taken]) -> ShardResult:
        pieces: list[Piece] = []
        for taken in takes:
            pieces += taken.pieces.get(number, [])
        return shard.step(self.entry, takes, pieces, self.manifests[number])

    def _take(self, stream: str, part: int) -> Taken:
        cursor = Cursor.from_json(self.entry.cursors[stream])
        folder = self.work.root / "segments" / f"{self.entry.batch:09d}"
        if stream not in self._intakes:
            self._intakes[stream] = self.work.intake(stream)
        return self._intakes[stream].take(
            cursor, self.entry.takes[stream], part, folder, self.entry.plans
        )
