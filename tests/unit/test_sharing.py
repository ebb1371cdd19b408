"""What several queries need is there once: scans, exchanges, window stores."""

from __future__ import annotations

from thalweg.cql.script import SourceText
from thalweg.dataflow import Dataflow
from thalweg.operators.stored import StoreRun
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.plan.placed import Placement
from thalweg.program import bind_script

STREAMS = """
CREATE STREAM A (k BIGINT, a INT, x INT, ts TIMESTAMP) TIMESTAMP BY ts FROM csv('a.csv');
CREATE STREAM B (k BIGINT, b INT, y INT, ts TIMESTAMP) TIMESTAMP BY ts FROM csv('b.csv');
CREATE STREAM C (k BIGINT, c INT, ts TIMESTAMP) TIMESTAMP BY ts FROM csv('c.csv');
"""


def placement_of(queries: str) -> Placement:
    catalog = bind_script(SourceText("shared.cql", STREAMS + queries)).catalog
    plans = {query.name: rewrite(query.plan, RULES).plan for query in catalog.queries()}
    return place(plans, {stream.name: stream for stream in catalog.streams()})


def stores_of(placement: Placement) -> list[StoreRun]:
    def no_python(path: str) -> object:
        raise AssertionError(path)

    derived = [exchange for exchange in placement.exchanges if exchange.stream is None]
    dataflow = Dataflow(placement.queries_of(0), derived, {}, {}, no_python)
    runs = (node.operator for node in dataflow._nodes)
    return [run for run in runs if isinstance(run, StoreRun)]


def test_joins_of_one_stream_by_one_key_share_its_store() -> None:
    """Whatever their windows and columns are."""
    placement = placement_of(
        """
        CREATE QUERY one AS SELECT A.k, A.a, B.b
          FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.k = B.k;
        CREATE QUERY other AS SELECT A.k, A.x, C.c
          FROM A [RANGE 60 SECONDS], C [RANGE 5 SECONDS] WHERE A.k = C.k;
        """
    )
    assert [exchange.stream for exchange in placement.exchanges] == ["A", "B", "C"]
    assert len(stores_of(placement)) == 3


def test_another_key_has_a_store_of_its_own() -> None:
    placement = placement_of(
        """
        CREATE QUERY one AS SELECT A.k, A.a, B.b
          FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.k = B.k;
        CREATE QUERY other AS SELECT A.x, A.k, B.b
          FROM A [RANGE 10 SECONDS], B [RANGE 10 SECONDS] WHERE A.x = B.y;
        """
    )
    assert len(placement.exchanges) == 4
    assert len(stores_of(placement)) == 4


def test_a_stream_joined_with_itself_is_stored_once() -> None:
    placement = placement_of(
        """
        CREATE QUERY pairs AS SELECT p.a, q.a AS other
          FROM A [RANGE 10 SECONDS] p, A [RANGE 3 SECONDS] q WHERE p.k = q.k;
        """
    )
    assert [e.stream for e in placement.exchanges if e.stream] == ["A"]
    assert len(stores_of(placement)) == 1
