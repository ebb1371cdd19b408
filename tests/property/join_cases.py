"""Random joins of three to six streams: stars, chains, cycles, one key for all, and a chain at
whose end nothing is equal."""

from __future__ import annotations

import random
from dataclasses import dataclass

from thalweg.cql.script import SourceText
from thalweg.program import Program, bind_script
from thalweg.testing.feeds import FeedRow, Feeds

SHAPES = ("star", "chain", "cycle", "one key", "two keys", "compared")
_WINDOWS = (
    "[RANGE 3 SECONDS]",
    "[RANGE 8 SECONDS]",
    "[ROWS 3]",
    "[UNBOUNDED]",
    "[RANGE 20 SECONDS]",
)


@dataclass(frozen=True)
class JoinCase:
    script: str
    feeds: Feeds
    members: int

    def program(self) -> Program:
        return bind_script(SourceText("join.cql", self.script))


def join_case(seed: int, most_members: int = 5, row_counts: tuple[int, int] = (3, 9)) -> JoinCase:
    """Many rows have many keys, so that there are not too many combinations of them."""
    chance = random.Random(seed)
    members = chance.randint(3, most_members)
    text = chance.random() < 0.2
    type_ = "STRING" if text else "BIGINT"
    streams = [
        f"CREATE STREAM R{i} (a {type_}, b {type_}, c BIGINT, ts TIMESTAMP) "
        f"TIMESTAMP BY ts FROM memory();"
        for i in range(members)
    ]
    # What is compared only is found too often among many rows.
    shapes = SHAPES if row_counts[1] < 100 else SHAPES[:-1]
    where = conditions(chance, chance.choice(shapes), members)
    windows = ", ".join(f"R{i} {chance.choice(_WINDOWS)}" for i in range(members))
    columns = ", ".join(f"R{i}.c AS c{i}" for i in range(members) if chance.random() < 0.7)
    query = f"CREATE QUERY q AS SELECT R0.a, {columns or 'R1.c'} FROM {windows} WHERE {where};"
    feeds = {f"R{i}": rows(chance, chance.randint(*row_counts), text) for i in range(members)}
    return JoinCase("\n".join([*streams, query]), Feeds(feeds), members)


def conditions(chance: random.Random, shape: str, members: int) -> str:
    others = range(1, members)
    match shape:
        case "star":
            parts = [f"R0.{chance.choice('ab')} = R{i}.a" for i in others]
        case "chain":
            parts = [f"R{i - 1}.b = R{i}.a" for i in others]
        case "cycle":
            parts = [f"R{i - 1}.b = R{i}.a" for i in others] + [f"R{members - 1}.b = R0.a"]
        case "one key":
            parts = [f"R0.a = R{i}.a" for i in others]
        case "compared":
            before, last = f"R{members - 2}", f"R{members - 1}"
            parts = [f"R{i - 1}.b = R{i}.a" for i in others[:-1]]
            parts.append(
                chance.choice(
                    (
                        f"abs({before}.c - {last}.c) < 2",
                        f"({last}.a IS NULL OR {before}.c < {last}.c)",
                        f"R0.c < {last}.c AND {before}.b <= {last}.b",
                    )
                )
            )
        case _:
            parts = [f"R0.a = R{i}.a" for i in others] + ["R0.b = R1.b"]
    if chance.random() < 0.3:
        one, other = chance.sample(range(members), 2)
        parts.append(f"R{one}.c <= R{other}.c + 2")
    return " AND ".join(parts)


def rows(chance: random.Random, count: int, text: bool) -> list[FeedRow]:
    def key() -> object:
        if chance.random() < 0.05:
            return None
        number = chance.randint(0, 2 if count < 20 else count // 3)
        return f"key {number}" if text else number

    times = sorted(chance.randint(0, 15) for _ in range(count))
    return [FeedRow((key(), key(), chance.randint(0, 4), time * 1_000_000)) for time in times]
