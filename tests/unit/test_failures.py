"""A call that fails is reported by the queries whose answers need it, and by no other."""

from __future__ import annotations

from functools import partial

import pytest

from thalweg.errors import SourceText
from thalweg.evaluate import Failures
from thalweg.local import LocalEngine
from thalweg.optimize.place import place
from thalweg.optimize.rewrite import rewrite
from thalweg.optimize.rules import RULES
from thalweg.program import bind_script, load_python
from thalweg.reference import Reference
from thalweg.testing.feeds import FeedRow, Feeds, inputs_of

SCRIPT = """
CREATE STREAM A (k INT, s STRING) FROM memory();
CREATE STREAM B (k INT, s STRING) FROM memory();
CREATE QUERY fails AS SELECT k, CAST(s AS INT) AS n FROM A [RANGE 2 SECONDS];
CREATE QUERY same AS SELECT k, CAST(s AS INT) AS n FROM A [RANGE 2 SECONDS];
CREATE QUERY works AS SELECT k, CAST(s AS INT) AS n FROM B [RANGE 2 SECONDS];
CREATE QUERY above AS SELECT sum(n) AS total FROM fails;
CREATE QUERY joined AS SELECT a.k, count(*) AS n FROM A [RANGE 1 SECOND] a, B [ROWS 1] b
  WHERE a.k = b.k AND CAST(a.s AS INT) < 5 GROUP BY a.k;
CREATE QUERY inside AS SELECT k FROM B [RANGE 1 SECOND]
  WHERE k > (SELECT max(CAST(s AS INT)) FROM A [RANGE 1 SECOND]);
CREATE QUERY divided AS SELECT ISTREAM(1 / k AS n) FROM B [NOW];
"""
FEEDS = Feeds(
    {
        "A": [FeedRow((1, "1"), 1), FeedRow((1, "x"), 2), FeedRow((2, "2"), 3)],
        "B": [FeedRow((1, "7"), 1), FeedRow((0, "8"), 3)],
    }
)


@pytest.mark.parametrize("rows", [1, 1000])
def test_failures_by_query(rows: int) -> None:
    program = bind_script(SourceText("script", SCRIPT))
    inputs = inputs_of(program, FEEDS)
    load = partial(load_python, folders=program.folders, aggregate=False)
    reference = Reference(inputs, load)
    expected, plans = {}, {}
    for query in program.catalog.queries():
        reference.failures = Failures()
        list(reference.answers(query.plan))
        if reference.failures.noted:
            expected[query.name] = set(reference.failures.noted)
        plans[query.name] = rewrite(query.plan, RULES).plan
    assert expected.keys() == {"fails", "same", "above", "joined", "inside", "divided"}
    streams = {stream.name: stream for stream in program.catalog.streams()}
    engine = LocalEngine(place(plans, streams), streams, inputs, load, shards=2)
    for _ in engine.run(rows):
        pass
    assert {name: set(noted) for name, noted in engine.failures.items()} == expected
