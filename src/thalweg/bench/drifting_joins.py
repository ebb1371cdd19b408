"""Joins whose selectivities and rates drift: graphs, and rows for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg.bench.joined import SECOND, Keys, rows_of
from thalweg.operators.delta import Delta

# Values of a key. Each value of a child's is in its window once.
VALUES = 20_000
# Values of the key that closes a cycle.
FEW_VALUES = 20
WINDOW = 20


@dataclass(frozen=True)
class Graph:
    """A tree of members, from the first one outward; with `closed`, its last two are joined
    too. An edge is a pair of a member and one that is farther out."""

    name: str
    edges: tuple[tuple[int, int], ...]
    closed: bool = False

    @property
    def members(self) -> int:
        return len(self.edges) + 1

    def columns(self, member: int) -> list[str]:
        own = [f"e{number}" for number, edge in enumerate(self.edges) if member in edge]
        return own + (["z"] if self.closed and member in self.edges_end else [])

    @property
    def edges_end(self) -> tuple[int, int]:
        return self.members - 2, self.members - 1

    def script(self) -> str:
        parts = []
        for member in range(self.members):
            columns = ", ".join(f"{name} BIGINT" for name in self.columns(member))
            parts.append(
                f"CREATE STREAM R{member} ({columns}, ts TIMESTAMP) TIMESTAMP BY ts FROM memory();"
            )
        windows = ["R0 [RANGE 100 MILLISECONDS]"]
        windows += [f"R{m} [RANGE {WINDOW} SECONDS]" for m in range(1, self.members)]
        where = [f"R{a}.e{number} = R{b}.e{number}" for number, (a, b) in enumerate(self.edges)]
        if self.closed:
            a, b = self.edges_end
            where.append(f"R{a}.z = R{b}.z")
        parts.append(
            f"CREATE QUERY q AS SELECT R0.e0 FROM {', '.join(windows)} WHERE {' AND '.join(where)};"
        )
        return "\n".join(parts)


def star(members: int) -> Graph:
    return Graph(f"star of {members}", tuple((0, m) for m in range(1, members)))


def chain(members: int) -> Graph:
    """The first member is in the middle of it."""
    edges = [(max(0, m - 2), m) for m in range(1, members)]
    return Graph(f"chain of {members}", tuple(edges))


def cycle(members: int) -> Graph:
    return Graph(f"cycle of {members}", chain(members).edges, closed=True)


def batches(
    graph: Graph, passing: Sequence[float], rows: int, seconds: range, random: np.random.Generator
) -> Iterator[dict[str, Delta]]:
    """Second by second: `rows` of the first member, and so many of the others that their
    windows have, by edge, a given part of the values of its key."""
    for second in seconds:
        batch = {}
        for member in range(graph.members):
            count = rows
            if member:
                share = passing[_edge_to(graph, member)]
                count = int(share * VALUES / WINDOW)
            times = np.sort(random.integers(0, SECOND, count)) + second * SECOND
            keys = [
                _key(graph, name, member, second, count, random) for name in graph.columns(member)
            ]
            batch[f"R{member}"] = rows_of(times, *keys)
        yield batch


def _edge_to(graph: Graph, member: int) -> int:
    return next(number for number, edge in enumerate(graph.edges) if edge[1] == member)


def _key(
    graph: Graph,
    name: str,
    member: int,
    second: int,
    count: int,
    random: np.random.Generator,
) -> Keys:
    if name == "z":
        return random.integers(0, FEW_VALUES, count)
    if graph.edges[int(name[1:])][1] != member:
        return random.integers(0, VALUES, count)
    return random.permutation(np.arange(count) + second % WINDOW * count)
