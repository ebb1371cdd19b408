"""Up to which instant a job has answered everything."""

from __future__ import annotations

from collections.abc import Iterator

from thalweg.control import Entry
from thalweg.operators.delta import BEFORE_TIME, FOREVER
from thalweg.plan.nodes import Plan, QueryScan
from thalweg.plan.placed import Exchange, Received
from thalweg.work import Work


def answered_before(work: Work, used: Entry, left: Entry) -> int | None:
    """Every change before this instant is known, in nanoseconds; None: of none, or of all.

    `used` is the entry that the last batch started from, `left` the one that it left.
    """
    instants = [
        time if time in (BEFORE_TIME, FOREVER) else time * work.streams[name].tick.value
        for name, time in left.promises.items()
    ]
    for exchange in work.derived:
        time = used.reached[exchange.number]
        bounded = time not in (BEFORE_TIME, FOREVER)
        instants.append(time * _tick(exchange, work) if bounded else time)
    earliest = min(instants, default=FOREVER)
    return None if earliest in (BEFORE_TIME, FOREVER) else earliest


def _tick(exchange: Exchange, work: Work) -> int:
    """The length of a tick of a fragment, in nanoseconds."""
    name, scale = next(_origins(exchange.plan, 1))
    return work.streams[name].tick.value // scale


def _origins(plan: Plan, scale: int) -> Iterator[tuple[str, int]]:
    for node in plan.walk():
        if isinstance(node, Received):
            yield from ((name, scale * own) for name, own, _ in node.origins)
        if isinstance(node, QueryScan):
            yield from _origins(node.plan, scale * node.scale)
