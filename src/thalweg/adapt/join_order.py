"""From an order of logical filters to an order of look-ups.

A row of one input of a join meets each other input along a path of the join's graph. "There
is something along the path to R" is a filter on the row, and an order of such filters is
found as for any others. Look-ups follow it: whatever lies on the path to a filter's input
and was not looked up yet comes first, so no look-up is without something to look up by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

# By member: the one before it on the path from the root, whose own is missing.
Tree = Mapping[int, int]


def path_to(member: int, tree: Tree) -> tuple[int, ...]:
    """The members from the root to this one, without the root."""
    path: list[int] = []
    while member in tree:
        path.append(member)
        member = tree[member]
    return tuple(reversed(path))


def look_ups(filters: Iterable[int], tree: Tree) -> tuple[int, ...]:
    """The order in which members are looked up, for an order of filters by their members."""
    order: dict[int, None] = {}
    for member in filters:
        order.update(dict.fromkeys(path_to(member, tree)))
    return tuple(order)


def spanning_tree(
    root: int,
    neighbours: Mapping[int, Sequence[int]],
    fan_out: Callable[[int, int], float] = lambda _, __: 1.0,
) -> dict[int, int]:
    """The paths to follow where there are several: each next member is the one with the fewest
    partners for a row of its predecessor. Between equals, the first of those nearest wins."""
    tree: dict[int, int] = {}
    reached = [root]
    while True:
        open_edges = [
            (fan_out(near, far), at, near, far)
            for at, near in enumerate(reached)
            for far in neighbours[near]
            if far not in tree and far != root
        ]
        if not open_edges:
            return tree
        _, _, near, far = min(open_edges, key=lambda edge: edge[:2])
        tree[far] = near
        reached.append(far)
