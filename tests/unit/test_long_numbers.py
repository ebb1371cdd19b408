"""Numbers of more digits than Python reads: a clear error wherever they stand."""

from __future__ import annotations

import pytest

from thalweg.errors import QueryErrors, SourceText
from thalweg.program import bind_script

STREAM = "CREATE STREAM S (a INT) FROM memory();"
LONG = "9" * 5000


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE QUERY q AS SELECT {LONG} FROM S",
        f"CREATE QUERY q AS SELECT -{LONG} FROM S",
        f"CREATE QUERY q AS SELECT 0.{LONG} FROM S",
        f"CREATE QUERY q AS SELECT {LONG}e1 FROM S",
        f"CREATE QUERY q AS SELECT {LONG}L FROM S",
        f"CREATE QUERY q AS SELECT a FROM S [ROWS {LONG}]",
        f"CREATE QUERY q AS SELECT a FROM S [RANGE {LONG}]",
        f"CREATE QUERY q AS SELECT a FROM S [RANGE '{LONG}' SECONDS]",
        f"CREATE QUERY q AS SELECT a FROM S [NOW] LIMIT {LONG}",
        f"CREATE QUERY q AS SELECT a FROM S [NOW] ORDER BY {LONG} LIMIT 1",
        f"CREATE QUERY q AS SELECT a FROM S [NOW] GROUP BY {LONG}",
        f"CREATE QUERY q AS SELECT CAST(a AS DECIMAL({LONG},2)) FROM S",
        f"CREATE QUERY q AS SELECT INTERVAL '{LONG}' DAY FROM S",
        f"CREATE QUERY q AS SELECT INTERVAL '{LONG}-1' YEAR TO MONTH FROM S",
        f"CREATE STREAM R (a DECIMAL({LONG})) FROM memory()",
        f"CREATE STREAM R (t INT) TIMESTAMP BY t FROM generator('trades', rows = {LONG})",
        "CREATE STREAM R (t INT) TIMESTAMP BY t FROM generator('trades', rows = 1e999999999)",
        f"SET timezone = {LONG}",
    ],
)
def test_a_long_number_is_an_error(statement: str) -> None:
    with pytest.raises(QueryErrors) as caught:
        bind_script(SourceText("test", f"{STREAM} {statement}"))
    [error] = caught.value.errors
    assert error.span is not None
    assert len(error.message) < 150
