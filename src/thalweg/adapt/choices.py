"""What a query lets the engine change while it runs."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_CACHE_BYTES = 64_000_000

JOIN_POLICIES = ("a-greedy", "independent", "off")
CACHE_CHOICES = ("on", "off")


@dataclass(frozen=True, slots=True)
class Adaptation:
    """By which policies filters and joins find their order, whether joins keep caches, and how
    much memory those may have in one process.

    What several queries share goes by the first of them.
    """

    filters: str = "a-greedy"
    joins: str = "a-greedy"
    caches: str = "on"
    cache_memory_bytes: int = DEFAULT_CACHE_BYTES


DEFAULT = Adaptation()
