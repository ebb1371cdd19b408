"""What SQL has and CQL has not, and why."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from thalweg.errors import QueryError, shortened

_NEEDS_REPLAY = (
    "Answers must be the same when a stream is replayed, so nothing may depend on the "
    "clock or on chance."
)
NOT_REPLAYABLE = {
    "rand": "sample by a hash of a key instead: pmod(crc32(key), 100) < 10",
    "random": "sample by a hash of a key instead: pmod(crc32(key), 100) < 10",
    "randn": "bring random numbers in as a column",
    "uuid": "bring an identifier in as a column",
    "shuffle": "sort the array instead: sort_array(…)",
    "now": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_timestamp": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "localtimestamp": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_time": "use the stream's time column, or a window such as [RANGE 1 HOUR]",
    "current_date": "use the stream's time column, or a window such as [RANGE 1 DAY]",
    "curdate": "use the stream's time column, or a window such as [RANGE 1 DAY]",
    "monotonically_increasing_id": "bring an identifier in as a column",
    "spark_partition_id": "answers do not depend on how the work is split",
    "input_file_name": "put the name into a column of the file",
}


def not_replayable(name: str) -> QueryError:
    return QueryError(
        f"{name} is not allowed in a continuous query",
        detail=_NEEDS_REPLAY,
        hint=NOT_REPLAYABLE.get(name, "bring the value in as a column"),
    )


def unsupported(node: exp.Expr) -> QueryError:
    return QueryError(f"this is not supported in CQL: {shortened(node.sql(dialect='spark'))}")


def _clock(node: exp.Expr) -> QueryError:
    clock = isinstance(node, exp.CurrentTimestamp)
    return not_replayable("current_timestamp" if clock else "current_date")


REFUSED: dict[type[exp.Expr], Callable[[exp.Expr], QueryError]] = {
    exp.Window: lambda node: QueryError(
        "OVER (…) is not supported",
        hint="window the stream instead, as in FROM S [RANGE 1 MINUTE], and aggregate",
    ),
    exp.CurrentTimestamp: _clock,
    exp.CurrentDate: _clock,
    exp.Any: lambda node: _quantified(),
    exp.All: lambda node: _quantified(),
    exp.Star: lambda node: QueryError("* cannot stand here"),
    exp.Tuple: lambda node: QueryError(
        "a list of values cannot stand here", hint="make a struct with struct(a, b)"
    ),
    exp.Lambda: lambda node: QueryError("lambda functions are not supported"),
    exp.Parameter: lambda node: QueryError("parameters are not supported"),
    exp.SessionParameter: lambda node: QueryError("parameters are not supported"),
    exp.Placeholder: lambda node: QueryError("parameters are not supported"),
}


def _quantified() -> QueryError:
    return QueryError(
        "ANY and ALL are not supported", hint="use IN, EXISTS, or min and max in a subquery"
    )
