"""What was decided while a job ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Something is done in another way, for some queries.

    `expected` and `measured` say how many times faster that was to be, and was. If it was
    not, it was taken back.
    """

    mechanism: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    expected: float
    measured: float
    is_kept: bool
    queries: tuple[str, ...] = ()

    def __str__(self) -> str:
        whose = f" of {', '.join(self.queries)}" if self.queries else ""
        return f"{self.mechanism}{whose}: {', '.join(self.after)} ({self.outcome})"

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        outcome = f"{self.measured:.2g} times as fast, expected {self.expected:.2g}"
        return outcome if self.is_kept else f"taken back: {outcome}"
