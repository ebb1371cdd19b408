"""The random cases leave nothing out: every operator above every window, and more.

If something is missing here, a change of the generator has lost it or made it rare.
"""

from __future__ import annotations

from plan_pairs import every_pair, pairs
from test_random_queries import PAIRS

from thalweg.testing.expression_text import DOUBLES, INTS, PAIR
from thalweg.testing.golden import bind_golden
from thalweg.testing.sections import parse_golden
from thalweg.testing.strategies import random_case
from thalweg.types import Type

# What plans do not show: how the text says it.
SPELLINGS = (
    "WITH w AS (", " USING (", " NATURAL ", "LEFT SEMI JOIN", "LEFT ANTI JOIN", " HAVING ",
    " DESC ", " NULLS LAST", " OFFSET ", " FILTER (", "(DISTINCT ", " NOT IN (SELECT",
    "NOT EXISTS (", " IN (SELECT", ") IN (SELECT", "array(", "named_struct(",
    "collect_list(", "[0]", ".i ", "FROM v ", "FROM q2 ", "FROM D ", "[HOP ", "[TUMBLE ", " SLIDE ",
)  # fmt: skip
TYPES: set[Type] = {INTS, DOUBLES, PAIR}


def test_everything_comes_up() -> None:
    missing = every_pair()
    spellings, types, answered = set(SPELLINGS), set(TYPES), set(TYPES)
    for seed in range(PAIRS):
        case = random_case(seed)
        program = case.program()
        texts = [text for _, text in (*case.views, *case.queries)]
        spellings -= {part for part in spellings if any(part in text for text in texts)}
        types -= {column.type for stream in case.streams for column in stream.relation.columns}
        for query in program.catalog.queries():
            missing -= pairs(query.plan)
            answered -= {column.type for column in query.plan.schema}
        if not (missing or spellings or types or answered):
            return
    assert not missing
    assert not spellings
    assert not types
    assert not answered


def test_a_seed_is_a_case_and_a_case_a_script() -> None:
    for seed in range(0, PAIRS, 20):
        case = random_case(seed)
        assert str(random_case(seed)) == str(case)
        program, feeds, errors = bind_golden(parse_golden(str(case)))
        assert not errors
        expected = {query.name: query.plan for query in case.program().catalog.queries()}
        assert {query.name: query.plan for query in program.catalog.queries()} == expected
        # By their text: a NaN does not equal itself.
        given = case.feeds()
        assert repr({k: list(v) for k, v in given.streams.items() if v}) == repr(
            {k: v for k, v in feeds.streams.items() if v}
        )
        assert repr({k: list(v) for k, v in given.tables.items()}) == repr(feeds.tables)
