"""The statements of spec/streamon.md section 9 that the language itself must show."""

from __future__ import annotations

import random

import pytest

from thalweg.answers import Change
from thalweg.catalog import Stream
from thalweg.errors import SourceText
from thalweg.optimize.rules import optimized
from thalweg.plan.nodes import Filter, Plan, RangeWindow, RowsWindow
from thalweg.program import Program, bind_script
from thalweg.reference import Inputs, Reference
from thalweg.testing.compare import differences
from thalweg.testing.engines import reference
from thalweg.testing.feeds import FeedRow, Feeds, accepted
from thalweg.testing.strategies import Case, random_case

TRADES = "CREATE STREAM Trades (symbol STRING, price INT) FROM memory();"


def program_of(*queries: str) -> Program:
    statements = [f"CREATE QUERY q{i} AS {text}" for i, text in enumerate(queries)]
    return bind_script(SourceText("test", TRADES + ";\n".join(statements)))


def trades(*rows: tuple[int, str, int]) -> Feeds:
    return Feeds({"Trades": [FeedRow((symbol, price), time) for time, symbol, price in rows]})


def answers(query: str, *rows: tuple[int, str, int]) -> list[tuple[object, ...]]:
    ran = reference(program_of(query), trades(*rows))
    return [(c.time, c.sign, *c.values) for c in ran.answers["q0"]]


def final_before(program: Program, inputs: Inputs) -> int | None:
    """The instant below which nothing can change any more, by the rows seen so far."""
    promises = []
    for stream in program.catalog.streams():
        times = [arrival.time for arrival in inputs.streams[stream.name]]
        if not times:
            return None
        finest = min(q.tick.value for q in program.catalog.queries())
        promises.append((max(times) - stream.slack) * stream.tick.value // finest)
    return min(promises)


def inputs_after(program: Program, case: Case, share: float) -> Inputs:
    """What has been accepted once the given share of each feed has arrived."""
    feeds = case.feeds()
    streams = {}
    for stream in program.catalog.streams():
        rows = feeds.streams[stream.name]
        seen = rows[: round(len(rows) * share)]
        streams[stream.name] = accepted(stream, seen).arrivals
    ranks = {stream.name: stream.rank for stream in program.catalog.streams()}
    return Inputs(streams, feeds.tables, ranks)


@pytest.mark.parametrize("seed", range(150))
def test_the_grouping_of_arrivals_does_not_show(seed: int) -> None:
    # spec: streamon 9.1
    case = random_case(20_000 + seed)
    program = case.program()
    whole = Reference(inputs_after(program, case, 1.0), lambda path: None)
    for share in (0.3, 0.5, 0.8):
        inputs = inputs_after(program, case, share)
        end = final_before(program, inputs)
        if end is None:
            continue
        part = Reference(inputs, lambda path: None)
        for query in program.catalog.queries():
            limit = end * min(q.tick.value for q in program.catalog.queries()) // query.tick.value

            def final(changes: object, limit: int = limit) -> list[Change]:
                return [c for c in changes if c.time < limit]  # type: ignore[attr-defined]

            wrong = differences(
                final(whole.answers(query.plan)),
                final(part.answers(query.plan)),
                query.plan.schema,
            )
            assert not wrong, f"{case}\nafter {share}:\n" + "\n".join(wrong)


def test_row_window_overflow_enters_and_leaves_at_one_instant() -> None:
    # spec: streamon 9.2
    rows = [(1, "IBM", 12), (5, "SUN", 9), (7, "DEC", 3)]
    assert answers("SELECT symbol FROM Trades [ROWS 2]", *rows) == [
        (1, "+", "IBM"),
        (5, "+", "SUN"),
        (7, "-", "IBM"),
        (7, "+", "DEC"),
    ]


def test_range_includes_both_ends() -> None:
    # spec: streamon 9.3
    rows = [(10, "IBM", 1), (15, "SUN", 2)]
    assert answers("SELECT symbol FROM Trades [RANGE 5]", *rows) == [
        (10, "+", "IBM"),
        (15, "+", "SUN"),
        (16, "-", "IBM"),
        (21, "-", "SUN"),
    ]


def test_now_is_a_range_of_nothing() -> None:
    # spec: streamon 9.3
    rows = [(1, "IBM", 1), (1, "SUN", 2), (3, "DEC", 1)]
    now = answers("SELECT * FROM Trades [NOW]", *rows)
    assert now == answers("SELECT * FROM Trades [RANGE 0]", *rows)
    assert now[-1] == (4, "-", "DEC", 1)


def test_partition_windows_keep_rows_per_key() -> None:
    # spec: streamon 9.3
    rows = [(1, "IBM", 1), (2, "SUN", 2), (3, "IBM", 3), (4, "IBM", 4)]
    assert answers("SELECT * FROM Trades [PARTITION BY symbol ROWS 2]", *rows) == [
        (1, "+", "IBM", 1),
        (2, "+", "SUN", 2),
        (3, "+", "IBM", 3),
        (4, "-", "IBM", 1),
        (4, "+", "IBM", 4),
    ]


@pytest.mark.parametrize("operator", ["ISTREAM", "DSTREAM"])
def test_equal_insert_and_delete_at_one_instant_emit_nothing(operator: str) -> None:
    # spec: streamon 9.4
    rows = [(1, "IBM", 12), (2, "IBM", 12)]
    only_first = [(1, "+", "IBM", 12)] if operator == "ISTREAM" else []
    assert answers(f"SELECT {operator}(*) FROM Trades [ROWS 1]", *rows) == only_first


def test_differences_are_differences_of_bags() -> None:
    # spec: streamon 9.4
    rows = [(1, "IBM", 1), (1, "IBM", 1), (2, "IBM", 1)]
    # At 2 the window [ROWS 2] still holds two equal rows: nothing changed.
    assert answers("SELECT ISTREAM(*) FROM Trades [ROWS 2]", *rows) == [
        (1, "+", "IBM", 1),
        (1, "+", "IBM", 1),
    ]


def test_an_unwindowed_filter_is_an_istream_of_everything() -> None:
    # spec: streamon 9.5
    rows = [(1, "IBM", 12), (1, "IBM", 12), (2, "SUN", 9), (5, "DEC", 30)]
    implied = program_of("SELECT * FROM Trades WHERE price > 10")
    written = program_of("SELECT ISTREAM(*) FROM Trades [ROWS UNBOUNDED] WHERE price > 10")
    assert implied.query("q0").plan == written.query("q0").plan
    assert implied.query("q0").plan.is_stream
    feeds = trades(*rows)
    assert reference(implied, feeds).answers == reference(written, feeds).answers


def below(plan: Plan, kind: type[Plan]) -> Plan:
    [window] = [node for node in plan.walk() if isinstance(node, kind)]
    return window.inputs[0]


def test_a_filter_goes_below_a_range_window_and_never_below_rows() -> None:
    # spec: streamon 9.6
    program = program_of(
        "SELECT * FROM Trades [RANGE 5] WHERE price > 10",
        "SELECT * FROM Trades [ROWS 5] WHERE price > 10",
    )
    ranged, rows = (optimized(program.query(name).plan).plan for name in ("q0", "q1"))
    assert isinstance(below(ranged, RangeWindow), Filter)
    assert not isinstance(below(rows, RowsWindow), Filter)
    assert any(isinstance(node, Filter) for node in rows.walk())


def disordered(rows: list[FeedRow], times: list[int], slack: int, seed: int) -> list[FeedRow]:
    """The rows in an order in which none is late; rows of one instant keep theirs."""
    rng = random.Random(seed)
    delays = {time: time + rng.randint(0, slack) for time in sorted(set(times))}
    order = sorted(range(len(rows)), key=lambda i: (delays[times[i]], times[i], i))
    return [rows[i] for i in order]


def event_times(stream: Stream, rows: list[FeedRow]) -> list[int]:
    column = stream.time_column
    return [row.time if column is None else row.values[column] for row in rows]  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(100))
def test_disorder_within_the_slack_gives_the_answer_in_order(seed: int) -> None:
    # spec: streamon 9.9
    case = random_case(30_000 + seed)
    program, feeds = case.program(), case.feeds()
    ordered, shuffled = {}, {}
    for stream in program.catalog.streams():
        rows = list(feeds.streams[stream.name])
        times = event_times(stream, rows)
        order = sorted(range(len(rows)), key=times.__getitem__)
        ordered[stream.name] = [rows[i] for i in order]
        shuffled[stream.name] = disordered(ordered[stream.name], sorted(times), stream.slack, seed)
        assert not accepted(stream, shuffled[stream.name]).late
    expected = reference(program, Feeds(ordered, feeds.tables)).answers
    actual = reference(program, Feeds(shuffled, feeds.tables)).answers
    for query in program.catalog.queries():
        wrong = differences(expected[query.name], actual[query.name], query.plan.schema)
        assert not wrong, f"{case}\n" + "\n".join(wrong)
