"""Numbers for the shards that Spark's hash spreads evenly over its partitions.

Spark sends a group to the partition that the hash of its key says. Shards called
0, 1, 2 … would crowd in some partitions and leave others without work.
"""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

_MASK = 0xFFFFFFFF


def labels(root: Path, shards: int, partitions: int) -> list[int]:
    """One label for each shard.

    State is found by them, and Spark keeps to the number of partitions that a
    checkpoint began with, so they are chosen once.
    """
    path = root / "labels.json"
    if not path.exists():
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(spread(shards, partitions)))
        partial.replace(path)
    known: list[int] = json.loads(path.read_text())
    return known


def spread(shards: int, partitions: int) -> list[int]:
    """The first numbers that fill the partitions evenly."""
    found: list[int] = []
    filled = [0] * partitions
    for number in count():
        if len(found) == shards:
            break
        owner = spark_hash(number) % partitions
        if filled[owner] == min(filled):
            filled[owner] += 1
            found.append(number)
    return found


def spark_hash(number: int) -> int:
    """Spark's `hash` of an INT: Murmur3 of four bytes, seed 42."""
    mixed = 42 ^ (_turned(number * 0xCC9E2D51, 15) * 0x1B873593 & _MASK)
    mixed = _turned(mixed, 13) * 5 + 0xE6546B64 & _MASK
    mixed ^= 4
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & _MASK
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & _MASK
    mixed ^= mixed >> 16
    return mixed - (1 << 32) if mixed >> 31 else mixed


def _turned(number: int, bits: int) -> int:
    number &= _MASK
    return (number << bits | number >> 32 - bits) & _MASK
