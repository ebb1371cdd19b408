"""Values in groups, counted: which are there, and which is the least or the greatest.

A member is a value of a group. Members that are there form a heap per group: a
pairing heap, whose links are arrays. One that leaves stays in the heap until it
would be the first; then it is taken out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thalweg.kernels import kernel

# Tallies: members that are there, members in a heap that are not, and the first member
# that is gone for good (or -1); the others follow as siblings.
LIVE, IDLE, GONE = range(3)


@kernel
def add_distinct(
    events: Any, column: int, counts: Any, waiting: Any, weights: Any, gone: Any
) -> int:
    """For each event, whether its member comes to be there (1) or to be missing (-1).

    Gives how many members are in `gone`, for good.
    """
    found = 0
    for i in range(len(events)):
        weights[i] = 0
        member = events[i, column]
        if member < 0:
            continue
        old = counts[member]
        new = old + events[i, 2]
        counts[member] = new
        waiting[member] -= 1
        weights[i] = (1 if new > 0 else 0) - (1 if old > 0 else 0)
        if new == 0 and waiting[member] == 0:
            gone[found] = member
            found += 1
    return found


@kernel
def precedes(a: int, b: int, order: Any, pool: Any, places: Any, greatest: bool) -> Any:
    """Whether member a comes before b: by `order`, then by text where there are any."""
    if order[a] != order[b]:
        return (order[a] < order[b]) != greatest
    if len(places) == 0:
        return False
    for i in range(min(places[a, 1], places[b, 1])):
        mine = pool[places[a, 0] + i]
        other = pool[places[b, 0] + i]
        if mine != other:
            return (mine < other) != greatest
    return (places[a, 1] < places[b, 1]) != greatest


@kernel
def meld(
    a: int, b: int, child: Any, sibling: Any, order: Any, pool: Any, places: Any, greatest: bool
) -> int:
    """The root of two heaps as one."""
    if precedes(b, a, order, pool, places, greatest):
        a, b = b, a
    sibling[b] = child[a]
    child[a] = b
    return a


@kernel
def without_root(
    root: int, child: Any, sibling: Any, order: Any, pool: Any, places: Any, greatest: bool
) -> int:
    """The root of what remains of a heap, or -1: children in pairs, then pair by pair."""
    at = child[root]
    child[root] = -1
    pairs = -1
    while at >= 0:
        partner = sibling[at]
        rest = -1
        sibling[at] = -1
        if partner >= 0:
            rest = sibling[partner]
            sibling[partner] = -1
            at = meld(at, partner, child, sibling, order, pool, places, greatest)
        sibling[at] = pairs
        pairs = at
        at = rest
    result = -1
    while pairs >= 0:
        rest = sibling[pairs]
        sibling[pairs] = -1
        if result < 0:
            result = pairs
        else:
            result = meld(result, pairs, child, sibling, order, pool, places, greatest)
        pairs = rest
    return result


@kernel
def fold_extremes(
    events: Any,
    column: int,
    entry: Any,
    counts: Any,
    waiting: Any,
    inside: Any,
    child: Any,
    sibling: Any,
    roots: Any,
    order: Any,
    pool: Any,
    places: Any,
    greatest: bool,
    tally: Any,
    now: Any,
) -> None:
    """Count members; `now` is the first member of the group at each entry, or -1."""
    for i in range(len(events)):
        slot = events[i, 1]
        member = events[i, column]
        if member >= 0:
            old = counts[member]
            new = old + events[i, 2]
            counts[member] = new
            waiting[member] -= 1
            tally[0] += (1 if new > 0 else 0) - (1 if old > 0 else 0)
            if inside[member]:
                tally[1] += (1 if new <= 0 else 0) - (1 if old <= 0 else 0)
            elif new > 0:
                inside[member] = True
                child[member] = -1
                sibling[member] = -1
                if roots[slot] < 0:
                    roots[slot] = member
                else:
                    roots[slot] = meld(
                        roots[slot], member, child, sibling, order, pool, places, greatest
                    )
            elif new == 0 and waiting[member] == 0:
                sibling[member] = tally[2]
                tally[2] = member
            while roots[slot] >= 0 and counts[roots[slot]] <= 0:
                root = roots[slot]
                roots[slot] = without_root(root, child, sibling, order, pool, places, greatest)
                inside[root] = False
                tally[1] -= 1
                if counts[root] == 0 and waiting[root] == 0:
                    sibling[root] = tally[2]
                    tally[2] = root
        now[entry[i]] = roots[slot]


@kernel
def renew_heaps(
    members: Any,
    groups: Any,
    counts: Any,
    waiting: Any,
    inside: Any,
    child: Any,
    sibling: Any,
    roots: Any,
    order: Any,
    pool: Any,
    places: Any,
    greatest: bool,
    tally: Any,
) -> None:
    """Make all heaps anew, of the members that are there."""
    for i in range(len(members)):
        if inside[members[i]]:
            roots[groups[i]] = -1
    for i in range(len(members)):
        member = members[i]
        if not inside[member]:
            continue
        child[member] = -1
        sibling[member] = -1
        if counts[member] > 0:
            if roots[groups[i]] < 0:
                roots[groups[i]] = member
            else:
                roots[groups[i]] = meld(
                    roots[groups[i]], member, child, sibling, order, pool, places, greatest
                )
        else:
            inside[member] = False
            if counts[member] == 0 and waiting[member] == 0:
                sibling[member] = tally[2]
                tally[2] = member
    tally[1] = 0


@kernel
def count_listed(
    events: Any,
    column: int,
    counts: Any,
    waiting: Any,
    heads: Any,
    following: Any,
    preceding: Any,
    gone: Any,
    found: int,
) -> int:
    """Count members, and keep those that are there in a list per group."""
    for i in range(len(events)):
        slot = events[i, 1]
        member = events[i, column]
        if member < 0:
            continue
        old = counts[member]
        new = old + events[i, 2]
        counts[member] = new
        waiting[member] -= 1
        if old == 0 and new != 0:
            following[member] = heads[slot]
            preceding[member] = -1
            if heads[slot] >= 0:
                preceding[heads[slot]] = member
            heads[slot] = member
        elif old != 0 and new == 0:
            if preceding[member] >= 0:
                following[preceding[member]] = following[member]
            else:
                heads[slot] = following[member]
            if following[member] >= 0:
                preceding[following[member]] = preceding[member]
        if new == 0 and waiting[member] == 0:
            gone[found] = member
            found += 1
    return found


@kernel
def linked(first: int, following: Any) -> Any:
    """A member and those that follow it."""
    count = 0
    at = first
    while at >= 0:
        count += 1
        at = following[at]
    found = np.empty(count, np.int64)
    at = first
    for i in range(count):
        found[i] = at
        at = following[at]
    return found


@kernel
def text_prefixes(content: Any, offsets: Any) -> Any:
    """The first eight bytes of texts as numbers that are ordered as they are."""
    prefixes = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(prefixes)):
        # The first byte counts from -128, so that all fits a word with its sign.
        prefix = 0
        for at in range(8):
            byte = 0
            if offsets[i] + at < offsets[i + 1]:
                byte = int(content[offsets[i] + at])
            prefix = prefix * 256 + (byte - 128 if at == 0 else byte)
        prefixes[i] = prefix
    return prefixes
