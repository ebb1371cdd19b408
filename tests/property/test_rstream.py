"""RSTREAM over windows that move in steps, against the reference."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from thalweg.dataflow import Dataflow
from thalweg.kernels.panes import show_groups
from thalweg.kernels.repeats import FOREVER, next_multiple, repeat_rows, repeat_rows_reference
from thalweg.operators.by_definition import ByDefinitionRun
from thalweg.operators.pane_aggregate import PaneStore
from thalweg.optimize.place import place as placed
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.testing.compare import differences
from thalweg.testing.engines import batched, reference
from thalweg.testing.feeds import FeedRow
from thalweg.testing.query_text import Relation
from thalweg.testing.strategies import Case, StreamCase, TableCase
from thalweg.types import BIGINT, DOUBLE, INT, STRING, Field
from thalweg.units import Unit

SHAPES = tuple((rows, shards) for rows in (1, 7, 1_000_000) for shards in (1, 4))
S = (Field("k", INT), Field("v", INT), Field("d", DOUBLE), Field("t", STRING))
R = (Field("k", INT), Field("w", BIGINT), Field("ts", BIGINT))
D = (Field("k", INT), Field("n", STRING))
QUERIES = (
    "SELECT RSTREAM(k, sum(v), count(*), avg(d)) FROM S {w} GROUP BY k",
    "SELECT RSTREAM(k + 1, max(v) - min(v)) FROM S {w} GROUP BY k HAVING count(*) > 1",
    "SELECT RSTREAM(count(v), max(t)) FROM S {w} GROUP BY k, t",
    "SELECT RSTREAM(count(*), sum(v)) FROM S {w}",
    "SELECT RSTREAM(count(*)) FROM S {w} WHERE v > 2",
    "SELECT RSTREAM(k, count(DISTINCT t)) FROM S {w} WHERE v > 0 GROUP BY k",
    "SELECT RSTREAM(*) FROM S {w}",
    "SELECT RSTREAM(k / 2, d) FROM S {w} WHERE k < 2",
    "SELECT RSTREAM(DISTINCT t) FROM S {w}",
    "SELECT RSTREAM(S.k, v, w) FROM S {w}, R {u} WHERE S.k = R.k",
    "SELECT RSTREAM(S.t, R.w) FROM S {w} LEFT JOIN R {u} ON S.k = R.k",
    "SELECT RSTREAM(S.k, sum(w)) FROM S {w}, R {u} WHERE S.k = R.k GROUP BY S.k",
    "SELECT RSTREAM(n, v) FROM S {w}, D WHERE S.k = D.k",
    "SELECT RSTREAM(n, v) FROM D LEFT JOIN S {w} ON S.k = D.k",
    "SELECT RSTREAM(n, count(v)) FROM D LEFT JOIN S {w} ON S.k = D.k GROUP BY n",
    "RSTREAM(SELECT k FROM S {w} UNION ALL SELECT k FROM D)",
    "RSTREAM(SELECT k FROM S {w} EXCEPT SELECT k FROM R {u})",
    "RSTREAM(SELECT k, v FROM S {w} ORDER BY v DESC LIMIT 2)",
    "SELECT RSTREAM(a.n, b.m) FROM (SELECT count(*) AS n FROM S {w}) AS a, "
    "(SELECT max(w) AS m FROM R {u}) AS b",
    "SELECT RSTREAM(k, v) FROM S {w} WHERE v >= (SELECT avg(w) FROM R {u})",
    "SELECT RSTREAM(x.c) FROM (SELECT RSTREAM(count(*) AS c) FROM S {w} GROUP BY k) {u} AS x",
    "SELECT ISTREAM(count(*)) FROM (SELECT RSTREAM(k) FROM S {w}) [ROWS 3]",
    "SELECT RSTREAM(count(*)) FROM (SELECT ISTREAM(k) FROM S [RANGE 2 SECONDS]) {w}",
)
# A subquery inside of an expression, the order of a derived stream, and one that has to
# wait for the last row of a stream that is no source.
BY_DEFINITION = {QUERIES[-4], *QUERIES[-2:]}


def window(rng: random.Random) -> str:
    span, step = rng.randrange(1, 8), rng.randrange(1, 5)
    return rng.choice(
        (
            f"[TUMBLE {step} SECONDS]",
            f"[HOP {span} SECONDS, {step} SECONDS]",
            f"[RANGE {span} SECONDS SLIDE {step} SECONDS]",
            "[RANGE 30 SECONDS SLIDE 1 SECOND]",
        )
    )


def some_case(seed: int) -> Case:
    rng = random.Random(seed)

    def cell(*values: Any) -> Any:
        return None if rng.random() < 0.1 else rng.choice(values)

    def times(slack: int) -> list[int]:
        time, found = rng.randrange(-5, 5), []
        for _ in range(rng.choice((0, 3, 8, 15))):
            time += rng.choice((0, 0, 1, 1, 2, 12))
            found.append(time - rng.randrange(slack + 1))
        return found

    s = tuple(
        FeedRow((cell(0, 1, 2), cell(1, 2, 3), cell(0.5, -0.0, 0.0, 2.0), cell("a", "b")), time)
        for time in times(2)
    )
    r = tuple(FeedRow((cell(0, 1, 2), cell(1, 2), 1000 * time + 300)) for time in times(0))
    d = tuple((cell(0, 1), cell("x", "y")) for _ in range(rng.randrange(3)))
    queries = tuple(
        (f"q{i}", text.format(w=window(rng), u=window(rng))) for i, text in enumerate(QUERIES)
    )
    return Case(
        (
            StreamCase(Relation("S", S, True, base=True), f"{_listing('S', S)} SLACK 2 SECONDS", s),
            StreamCase(
                Relation("R", R, True, Unit.MILLISECOND, base=True),
                f"{_listing('R', R)} TIMESTAMP BY ts UNIT MILLISECOND",
                r,
            ),
        ),
        (TableCase(Relation("D", D, False, base=True), _listing("D", D), d),),
        queries,
    )


def _listing(name: str, columns: tuple[Field, ...]) -> str:
    return f"{name}({', '.join(map(str, columns))})"


@pytest.mark.parametrize("part", range(8))
def test_rstreams_are_their_definition(part: int) -> None:
    for seed in range(part, 40, 8):
        case = some_case(seed)
        program, feeds = case.program(), case.feeds()
        expected = reference(program, feeds)
        for engine in (*(batched(*shape) for shape in SHAPES), batched(5, 2, restarts=True)):
            actual = engine(program, feeds)
            for query in program.catalog.queries():
                wrong = differences(
                    expected.answers[query.name], actual.answers[query.name], query.plan.schema
                )
                assert not wrong, f"seed {seed}, {query.name}: {case}\n" + "\n".join(wrong)


def test_they_run_as_operators() -> None:
    program = some_case(0).program()
    streams = {stream.name: stream for stream in program.catalog.streams()}
    for query, text in zip(program.catalog.queries(), QUERIES, strict=True):
        placement = placed({query.name: rewrite(query.plan, RULES).plan}, streams)
        tables = dict.fromkeys(("D",), ())
        shard = Dataflow(placement.queries_of(0), (), {}, tables, lambda path: None)
        operators = {type(node.operator) for node in shard._nodes}
        assert (ByDefinitionRun in operators) == (text in BY_DEFINITION), text


def test_they_are_spread_over_shards() -> None:
    """Equal rows need not meet, so columns that are not shown will do."""
    program = some_case(0).program()
    streams = {stream.name: stream for stream in program.catalog.streams()}
    queries = program.catalog.queries()
    placement = placed({q.name: rewrite(q.plan, RULES).plan for q in queries}, streams)
    spread = [query.spread for query in placement.queries]
    assert spread[:8] == [True, True, True, False, False, True, True, True]


entries = st.lists(
    st.tuples(st.integers(-5, 30), st.integers(0, 3), st.booleans()), max_size=20
).map(sorted)


@given(
    found=entries,
    steps=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    first=st.integers(-5, 10),
    length=st.integers(0, 40),
)
@example(found=[(0, 0, True), (7, 0, False), (29, 1, True)], steps=[2], first=0, length=30)
def test_rows_are_repeated_while_they_are_there(
    found: list[tuple[int, int, bool]], steps: list[int], first: int, length: int
) -> None:
    last: dict[int, int] = {}
    replaced = []
    for i, (_, slot, _) in enumerate(found):
        replaced.append(last.get(slot, -1))
        last[slot] = i
    starts = np.array([start for start, _, _ in found], np.int64)
    there = np.array([present for _, _, present in found], np.bool_)
    given = (starts, np.array(replaced, np.int64), there, np.array(steps, np.int64))
    end = first + length
    expected = repeat_rows_reference(*(array.tolist() for array in given), first, end)
    none = np.empty(0, np.int64)
    count = repeat_rows(*given, first, end, none, none)
    rows, times = np.empty(count, np.int64), np.empty(count, np.int64)
    if count:
        repeat_rows(*given, first, end, rows, times)
    assert times.tolist() == sorted(times.tolist())
    assert sorted(zip(times.tolist(), rows.tolist(), strict=True)) == sorted(expected)


panes = st.lists(
    st.tuples(
        st.integers(-5, 20),
        st.integers(1, 12),
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(-9, 9)), max_size=5),
    ),
    max_size=8,
)


@given(found=panes, step=st.integers(1, 6), cuts=st.lists(st.integers(-6, 40), max_size=3))
@example(found=[(0, 1, [(0, 1, 5)]), (1, 1, [(0, 2, 7)])], step=1, cuts=[1])
def test_groups_are_the_sums_of_the_panes_that_count(
    found: list[tuple[int, int, list[tuple[int, int, int]]]], step: int, cuts: list[int]
) -> None:
    """Panes are known from the start, and worked through up to one instant after the other."""
    store = PaneStore(3)
    for start, length, parts in found:
        rows = np.array(parts, np.int64).reshape(-1, 3)
        store.add(rows, np.array([[start, start + length, 0, len(parts)]], np.int64))
    totals, waiting = np.zeros((4, 2), np.int64), np.zeros(4, np.int32)
    live, place = np.zeros(4, np.int32), np.zeros(4, np.int32)
    steps, shown, there, first = np.array([step], np.int64), [], 0, -6
    for end in (*sorted(cuts), 60):
        at = np.array([0, 0, next_multiple(steps, first), 0, there], np.int64)
        slots, times, numbers = (np.empty(n, np.int64) for n in (400, 400, 800))
        given = (*store.due(end), store.parts, steps, end, totals, waiting, live, place, at)
        assert show_groups(*given, slots, times, numbers.reshape(2, -1))
        shown += list(zip(times, slots, *numbers.reshape(2, -1), strict=True))[: at[3]]
        there, first = int(at[4]), max(first, end)
    expected = []
    for now in range(-6, 60):
        for slot in range(4) if now % step == 0 else ():
            parts = [
                part
                for start, length, own in found
                for part in own
                if start <= now < start + length and part[0] == slot
            ]
            if parts:
                sums = (sum(part[i] for part in parts) for i in (1, 2))
                expected.append((now, slot, *sums))
    assert sorted(shown) == expected


def test_there_is_no_multiple_after_all_time() -> None:
    steps = np.array([10, 1 << 40], np.int64)
    assert next_multiple(steps, FOREVER - 10) == FOREVER - 7  # 2^63 - 8 is a multiple of 10
    assert next_multiple(steps, FOREVER - 6) == FOREVER
    assert next_multiple(steps, -7) == 0
