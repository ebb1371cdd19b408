"""Rstream(r) → SteppedRstream(r), where all windows of r move in steps.

Sound because such a relation is evaluated at multiples of its steps and at no other
instant: which rows are there then is all that RSTREAM says. How long time is counted
matters only where rows outlive all windows, as those of a table do. Then the last rows
of the streams tell, so the windows must be over sources.

SteppedRstream(Filter(r)) → Filter(SteppedRstream(r)), and so for Project: both look at
one row at a time. RSTREAM so comes to lie on GROUP BY, which knows its own rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from thalweg.plan.nodes import (
    Aggregate,
    Distinct,
    Filter,
    Join,
    JoinGraph,
    JoinKind,
    Plan,
    Project,
    QueryScan,
    Rstream,
    SetKind,
    SetOperation,
    SlideWindow,
    StreamScan,
    Top,
    Window,
    subplans,
)
from thalweg.plan.placed import Lasting, SteppedRstream, is_local


def step_rstreams(plan: Plan) -> Plan:
    """Every RSTREAM of a plan, also of other queries that it reads."""
    if isinstance(plan, QueryScan):
        return replace(plan, plan=step_rstreams(plan.plan))
    if plan.inputs:
        plan = plan.with_inputs(tuple(map(step_rstreams, plan.inputs)))
    return _stepped(plan) if isinstance(plan, Rstream) else plan


def _stepped(plan: Rstream) -> Plan:
    windows = list(_windows(plan.input, 1))
    steps = {w.step * scale for w, scale in windows if isinstance(w, SlideWindow)}
    if not windows or not all(isinstance(window, SlideWindow) for window, _ in windows):
        return plan
    lasting: list[Lasting] = []
    if not _all_leave(plan.input):
        for window, scale in windows:
            source = _source(window)
            if not isinstance(window, SlideWindow) or source is None:
                return plan
            unit = source.scale * scale
            lasting.append(Lasting(source.name, unit, window.span * scale, window.step * scale))
    return _sunk(SteppedRstream(plan.input, tuple(sorted(steps)), tuple(lasting)))


def _sunk(plan: SteppedRstream) -> Plan:
    source = plan.input
    if isinstance(source, Filter | Project) and is_local(source):
        return source.with_inputs((_sunk(replace(plan, input=source.input)),))
    return plan


def _windows(plan: Plan, scale: int) -> Iterator[tuple[Window, int]]:
    """The windows that a relation is made of, with the length of their tick in ours."""
    if isinstance(plan, Window):
        yield plan, scale
    elif isinstance(plan, QueryScan):
        yield from _windows(plan.plan, scale * plan.scale)
    else:
        for child in (*plan.inputs, *(p for e in plan.expressions for p in subplans(e))):
            yield from _windows(child, scale)


def _source(window: Window) -> StreamScan | None:
    """The source stream that a window is over."""
    below = window.input
    while isinstance(below, Filter | Project):
        below = below.input
    return below if isinstance(below, StreamScan) else None


def _all_leave(plan: Plan) -> bool:
    """Whether a relation is empty once all its windows are."""
    match plan:
        case SlideWindow():
            return True
        case QueryScan(plan=inner):
            return _all_leave(inner)
        case Filter(input=source) | Project(input=source):
            return _all_leave(source)
        case Distinct(input=source) | Top(input=source):
            return _all_leave(source)
        case Aggregate(input=source, keys=keys):
            return bool(keys) and _all_leave(source)
        case JoinGraph(members=members):
            return any(map(_all_leave, members))
        case Join(left=left, right=right, kind=kind):
            return _sides_leave(kind, _all_leave(left), _all_leave(right))
        case SetOperation(left=left, right=right, kind=kind):
            return _sides_leave(kind, _all_leave(left), _all_leave(right))
    return False


def _sides_leave(kind: JoinKind | SetKind, left: bool, right: bool) -> bool:
    match kind:
        case JoinKind.LEFT | JoinKind.ANTI | SetKind.EXCEPT:
            return left
        case JoinKind.RIGHT:
            return right
        case JoinKind.FULL | SetKind.UNION:
            return left and right
    return left or right
