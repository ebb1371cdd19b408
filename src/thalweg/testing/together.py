"""Many scripts as the work of one job.

Each script keeps to its own streams, tables and queries: all their names get the
script's label in front. What a script gives is then the same as if it ran alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from thalweg.catalog import Stream
from thalweg.evaluate import Failures
from thalweg.intake.accept import Accepting
from thalweg.intake.slices import as_delta
from thalweg.intake.spooled import Handed, Spool
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import everywhere, rewrite
from thalweg.optimize.rules import RULES
from thalweg.outlet.answers import pieces_of, records_of
from thalweg.outlet.aside import read_aside
from thalweg.plan.nodes import Plan, QueryScan, StreamScan, TableScan
from thalweg.program import Program
from thalweg.sources import ReadRequest
from thalweg.testing.engines import Ran
from thalweg.testing.feeds import Feeds, Values, accepted
from thalweg.work import Work


@dataclass(frozen=True)
class Member:
    """A script in a job of many; its label is its own."""

    label: str
    program: Program
    feeds: Feeds

    def name(self, own: str) -> str:
        """What the job calls something of the script."""
        return f"{self.label} {own}"

    def plans(self) -> dict[str, Plan]:
        return {
            self.name(query.name): everywhere(self._renamed, rewrite(query.plan, RULES).plan)
            for query in self.program.catalog.queries()
        }

    def _renamed(self, plan: Plan) -> Plan:
        if isinstance(plan, StreamScan | TableScan | QueryScan):
            return replace(plan, name=self.name(plan.name))
        return plan

    def judged(self) -> dict[str, Accepting]:
        """What the streams take of their feeds, and what they refuse."""
        finest = self.program.catalog.finest_tick()
        return {
            self.name(stream.name): accepted(
                stream, self.feeds.streams.get(stream.name, ()), finest
            )
            for stream in self.program.catalog.streams()
        }


class Outcome:
    """What a job that is over has left, script by script."""

    def __init__(self, root: Path) -> None:
        self._pieces = pieces_of(root)
        self.aside = read_aside(root)

    def of(self, member: Member) -> Ran:
        answers, failures = {}, Failures()
        for query in member.program.catalog.queries():
            name = member.name(query.name)
            written = records_of(self._pieces.get(name, []), query.plan.schema)
            answers[query.name] = [change for part in written for change in part.changes()]
            failures.noted.update(self.aside.failures[name])
        return Ran(answers, failures)


def work_together(members: Sequence[Member], root: Path, shards: int, rows_per_batch: int) -> Work:
    """One job for all the scripts, their streams fed."""
    work = unfed_together(members, root, shards, rows_per_batch)
    for member in members:
        for name, state in member.judged().items():
            spool = Spool(work.spool(name))
            taken = as_delta(state.arrivals, state.stream.columns)
            spool.add(taken, state.late, state.rejects, Handed(state.seen, state.largest))
            spool.close(state.stream.columns)
    return work


def unfed_together(members: Sequence[Member], root: Path, shards: int, rows_per_batch: int) -> Work:
    """One job for all the scripts, whose streams wait for rows."""
    streams: dict[str, Stream] = {}
    requests: dict[str, ReadRequest] = {}
    tables: dict[str, list[Values]] = {}
    plans: dict[str, Plan] = {}
    for member in members:
        for stream in member.program.catalog.streams():
            name = member.name(stream.name)
            streams[name] = replace(stream, name=name)
            requests[name] = member.program.read_request(stream)
        for table in member.program.catalog.tables():
            rows = member.feeds.tables.get(table.name, ())
            tables[member.name(table.name)] = list(rows)
        plans |= member.plans()
    return Work(
        root,
        place(plans, streams),
        streams,
        requests,
        tables,
        tuple(dict.fromkeys(f for member in members for f in member.program.folders)),
        min((m.program.catalog.finest_tick() for m in members), key=lambda unit: unit.value),
        shards,
        rows_per_batch,
        followed=frozenset(plans),
        keeps_answers=True,
    )
