"""Istream(r) → Entering(r), where the rows of r show when they enter and leave.

Sound when a row's values determine its stretch of time: equal rows then enter
together, and none enters at an instant at which its equal leaves. A row of a
RANGE window shows it by the event time, a row of an inner join by the event
times of all its members.
"""

from __future__ import annotations

from collections.abc import Mapping

from thalweg.plan.expressions import Column
from thalweg.plan.nodes import Filter, Istream, JoinGraph, Plan, Project, RangeWindow, StreamScan
from thalweg.plan.placed import Entering


def istream_to_entering(plan: Plan, times: Mapping[str, int | None]) -> Plan:
    """`times` are the positions of the event time in the columns of each stream."""
    if isinstance(plan, Istream) and shown_times(plan.input, times) is not None:
        return Entering(plan.input)
    return plan


def shown_times(plan: Plan, times: Mapping[str, int | None]) -> frozenset[int] | None:
    """Output columns that together determine when a row counts; None if none do."""
    match plan:
        case StreamScan(name=name, columns=columns):
            time = times.get(name)
            return frozenset((columns.index(time),)) if time in columns else None
        case RangeWindow(input=source) | Filter(input=source):
            return shown_times(source, times)
        case Project(input=source, outputs=outputs):
            below = shown_times(source, times)
            shown = {e.index: i for i, e in enumerate(outputs) if isinstance(e, Column)}
            if below is None or not below <= shown.keys():
                return None
            return frozenset(shown[column] for column in below)
        case JoinGraph(members=members):
            start, found = 0, frozenset[int]()
            for member in members:
                own = shown_times(member, times)
                if own is None:
                    return None
                found |= {column + start for column in own}
                start += len(member.schema)
            return found
    return None
