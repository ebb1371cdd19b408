"""What a window says, as written: lengths are not yet ticks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from thalweg.errors import QueryError, Span
from thalweg.units import Unit, describe

# Instants are 64-bit numbers of ticks; a window must leave room for them to move.
LONGEST_TICKS = 2**62

# Rows are counted in 64 bits.
MOST_ROWS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Length:
    """A length of time as written. Without a unit it counts the stream's own."""

    amount: Fraction
    has_unit: bool
    span: Span

    def ticks(self, tick: Unit, own: Unit | None, what: str) -> int:
        """In ticks; `own` is the stream's declared unit, None for SQL timestamps."""
        if self.has_unit:
            nanos = self.amount
        elif own is not None:
            nanos = self.amount * own.value
        else:
            raise QueryError(
                f"the {what} has no unit",
                self.span,
                detail="The stream's event time is a TIMESTAMP.",
                hint="say for instance 10 SECONDS",
            )
        ticks = nanos / tick.value
        if ticks.denominator != 1:
            written = describe(int(nanos)) if nanos.denominator == 1 else f"{float(nanos)} ns"
            raise QueryError(
                f"a {what} of {written} is no whole number of ticks",
                self.span,
                detail=f"Time moves in steps of one {tick} here.",
                hint="declare the stream with a finer UNIT, or use a TIMESTAMP column",
            )
        if ticks > LONGEST_TICKS:
            raise QueryError(f"the {what} is longer than time itself", self.span)
        return int(ticks)


@dataclass(frozen=True, slots=True)
class RangeSpec:
    """`[RANGE length]`; `[NOW]` is a range of nothing."""

    length: Length
    span: Span


@dataclass(frozen=True, slots=True)
class SlideSpec:
    """`[RANGE length SLIDE step]`, also written TUMBLE and HOP."""

    length: Length
    step: Length
    span: Span


@dataclass(frozen=True, slots=True)
class RowsSpec:
    """`[ROWS n]`, or with keys `[PARTITION BY keys ROWS n]`."""

    rows: int
    span: Span
    keys: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class UnboundedSpec:
    """`[UNBOUNDED]`, `[RANGE UNBOUNDED]` and `[ROWS UNBOUNDED]`."""

    span: Span


WindowSpec = RangeSpec | SlideSpec | RowsSpec | UnboundedSpec
