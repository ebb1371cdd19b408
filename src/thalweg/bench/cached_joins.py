"""Joins whose subresults recur: scripts, and rows for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from thalweg.bench.joined import SECOND, Keys, repeated
from thalweg.operators.delta import Delta
from thalweg.types import BIGINT, STRING, TIMESTAMP
from thalweg.vector.column import Vector

WINDOW = 5
# Seconds whose rows are not those of others.
DIFFERENT = 20
BURST_AFTER = 60
PAIRS = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))

# Rows of a second: columns by stream, in the order of the declaration.
Columns = dict[str, tuple[Vector, ...]]


@dataclass(frozen=True)
class Case:
    """A join, and the rows of each second."""

    name: str
    script: str
    second: Callable[[int, np.random.Generator], Columns]
    seconds: int = 200

    def batches(self, random: np.random.Generator) -> Iterator[dict[str, Delta]]:
        """Second by second; those that have left the windows long ago come again."""
        own = [self.batch(number, random) for number in range(DIFFERENT)]
        yield from repeated(own, self.seconds)

    def batch(self, number: int, random: np.random.Generator) -> dict[str, Delta]:
        return {
            stream: _stamped(columns, number, random)
            for stream, columns in self.second(number, random).items()
        }


def _stamped(columns: tuple[Vector, ...], second: int, random: np.random.Generator) -> Delta:
    count = len(columns[0])
    times = np.sort(random.integers(0, SECOND, count)) + second * SECOND
    weight = np.ones(count, np.int64)
    return Delta((*columns, Vector(TIMESTAMP, times)), times, times, weight, np.arange(count))


def numbers(keys: Keys) -> Vector:
    return Vector(BIGINT, keys.astype(np.int64))


def _script(streams: dict[str, str], where: str, select: str) -> str:
    parts = [
        f"CREATE STREAM {name} ({columns}, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();"
        for name, columns in streams.items()
    ]
    windows = ", ".join(f"{name} [RANGE {WINDOW} SECONDS]" for name in streams)
    return "\n".join([*parts, f"CREATE QUERY q AS SELECT {select} FROM {windows} WHERE {where};"])


def three_way(
    name: str,
    times_in_t: int = 5,
    partners: float = 1.0,
    matching: float = 1.0,
    update_rate: float = 1.0,
    rows: int = 4000,
    burst: bool = False,
) -> Case:
    """R(A) ⋈ S(A, B) ⋈ T(B). A value of B comes `times_in_t` times in a window of T, which has
    so many times the rows of the others; of S, `partners` rows have it. A part `matching` of
    the rows of S has a partner in R."""
    script = _script(
        {"R": "a BIGINT", "S": "a BIGINT, b BIGINT", "T": "b BIGINT"},
        "R.a = S.a AND S.b = T.b",
        "R.a, T.b",
    )
    values = max(1, int(WINDOW * rows / max(partners, 1e-9)))

    def second(number: int, random: np.random.Generator) -> Columns:
        own = int(rows * update_rate)
        asked = rows * times_in_t
        first = number * own
        many = 20 if burst and number >= BURST_AFTER else 1
        a_of_r = np.repeat(first + np.arange(own), many)
        a = first + np.arange(own)
        a = np.where(random.random(own) < matching, a, -a - 1)
        return {
            "R": (numbers(a_of_r),),
            "S": (numbers(random.permutation(a)), numbers(random.integers(0, values, own))),
            "T": (numbers(random.integers(0, values, asked)),),
        }

    return Case(name, script, second)


def same_key(members: int, rows: int = 4000) -> Case:
    """An n-way join on A: a value comes once in half of the streams, five times in the others.
    Every tenth value is in all of them."""
    streams = {f"R{i}": "a BIGINT" for i in range(members)}
    where = " AND ".join(f"R0.a = R{i}.a" for i in range(1, members))

    def second(number: int, random: np.random.Generator) -> Columns:
        first = number * rows
        columns: Columns = {}
        for i in range(members):
            own = first + np.arange(rows)
            own = np.where(own % 10 == 0, -own, own * 16 + i)
            copies = 1 if i < members // 2 else 5
            columns[f"R{i}"] = (numbers(random.permutation(np.repeat(own, copies))),)
        return columns

    return Case(f"{members}-way on one key", _script(streams, where, "R0.a"), second)


def dear_condition(rows: int = 300) -> Case:
    """R ⋈ S by a key and by how alike two texts are, which is dear to say; ⋈ T by another key."""
    script = _script(
        {"R": "a BIGINT, name STRING", "S": "a BIGINT, b BIGINT, name STRING", "T": "b BIGINT"},
        "R.a = S.a AND levenshtein(R.name, S.name) < 8 AND S.b = T.b",
        "R.a, T.b",
    )
    values = WINDOW * rows

    def texts(random: np.random.Generator, count: int) -> Vector:
        letters = random.integers(97, 123, (count, 24)).astype(np.uint8)
        return Vector(STRING, pa.array([bytes(row).decode() for row in letters], pa.string()))

    def second(number: int, random: np.random.Generator) -> Columns:
        a = number * rows + np.arange(rows)
        return {
            "R": (numbers(a), texts(random, rows)),
            "S": (
                numbers(random.permutation(a)),
                numbers(random.integers(0, values, rows)),
                texts(random, rows),
            ),
            "T": (numbers(random.integers(0, values, 10 * rows)),),
        }

    return Case("a dear condition", script, second, seconds=30)


def nested_loop(stored: int) -> Case:
    """R ⋈ S by a key, and S ⋈ T by how near two numbers are: every row of T is compared with all
    rows of S, of which so many are in the window."""
    script = _script(
        {"R": "a BIGINT", "S": "a BIGINT, b BIGINT", "T": "b BIGINT"},
        "R.a = S.a AND abs(S.b - T.b) < 1",
        "R.a, T.b",
    )
    rows = stored // WINDOW

    def second(number: int, random: np.random.Generator) -> Columns:
        a = number * rows + np.arange(rows)
        return {
            "R": (numbers(a),),
            "S": (numbers(random.permutation(a)), numbers(random.integers(0, stored, rows))),
            "T": (numbers(random.integers(0, stored // 5, stored)),),
        }

    return Case(f"nested loop over {stored} rows", script, second, seconds=100)


def few_at_the_end(members: int, rows: int = 500) -> Case:
    """A chain: each value of its last member has twenty rows in the one before, and each of
    these a partner in the next one, and so on, but few have one in the first."""
    streams = {f"R{i}": "a BIGINT, b BIGINT" for i in range(members)}
    where = " AND ".join(f"R{i - 1}.b = R{i}.a" for i in range(1, members))
    values = WINDOW * rows // 20

    def second(number: int, random: np.random.Generator) -> Columns:
        key = number * rows + np.arange(rows)
        columns: Columns = {}
        for i in range(members - 1):
            end = key if i < members - 2 else random.integers(0, values, rows)
            own = np.where(random.random(rows) < 0.02, key, -1 - key) if i == 0 else end
            order = random.permutation(rows)
            columns[f"R{i}"] = numbers(key[order]), numbers(own[order])
        asked = random.integers(0, values, 10 * rows)
        columns[f"R{members - 1}"] = numbers(asked), numbers(asked)
        return columns

    name = f"{members}-way chain, few at its end"
    return Case(name, _script(streams, where, "R0.a"), second, seconds=400)


def few_of_many(rows: int = 1000) -> Case:
    """Each value of B has twenty rows of S in the window, few of which have a partner in R."""
    return three_way("few of many", 20, 20.0, 0.02, 1.0, rows)


# Seconds of a point where one row of all streams together comes in each.
POINT_SECONDS = 1200

# The points D1 to D8: rates of R, S, T and U, and selectivities of the six pairs.
POINTS: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "D1": ((10, 1, 1, 1), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D2": ((8, 1, 1, 8), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D3": ((10, 15, 1, 5), (0.003, 0.005, 0.007, 0.0045, 0.006, 0.008)),
    "D4": ((1, 1, 1, 1), (0.003, 0.004, 0.0067, 0.002, 0.0023, 0.0027)),
    "D5": ((4, 1, 1, 4), (0.005, 0.007, 0.005, 0.006, 0.005, 0.002)),
    "D6": ((1, 1, 1, 1), (0.005, 0.0033, 0.0025, 0.0067, 0.005, 0.0075)),
    "D7": ((1, 1, 1, 1), (0.0,) * 6),
    "D8": ((1, 1, 1, 1), (0.001,) * 6),
}


def point(name: str) -> Case:
    """Every pair of four streams has a key of its own, whose values are as many as its
    selectivity says."""
    rates, selectivities = POINTS[name]
    finds_none = not any(selectivities)
    rows, seconds = 20_000 if finds_none else 600, POINT_SECONDS // sum(rates)
    streams = {
        f"R{i}": ", ".join(f"p{n} BIGINT" for n, pair in enumerate(PAIRS) if i in pair)
        for i in range(4)
    }
    where = " AND ".join(f"R{a}.p{n} = R{b}.p{n}" for n, (a, b) in enumerate(PAIRS))

    def second(number: int, random: np.random.Generator) -> Columns:
        columns: Columns = {}
        for i in range(4):
            count = rows * rates[i]
            own = []
            for n, pair in enumerate(PAIRS):
                if i in pair:
                    values = int(1 / selectivities[n]) if selectivities[n] else 1000
                    keys = random.integers(0, values, count)
                    own.append(numbers(keys if selectivities[n] or i == pair[0] else -1 - keys))
            columns[f"R{i}"] = tuple(own)
        return columns

    return Case(
        name, _script(streams, where, "R0.p0"), second, 4 * seconds if finds_none else seconds
    )
