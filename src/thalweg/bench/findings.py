"""What a benchmark found: tables for people, and one JSON object for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.bench.compare import Runs, Spread, rates, spread
from thalweg.bench.plot import Chart
from thalweg.bench.trial import Run


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that is to be at least, or at most, so much."""

    key: str
    value: Spread | None
    least: float | None = None
    most: float | None = None

    @property
    def is_met(self) -> bool | None:
        if self.value is None:
            return None
        high_enough = self.least is None or self.value.median >= self.least
        return high_enough and (self.most is None or self.value.median <= self.most)

    @property
    def wanted(self) -> str:
        if self.least is not None:
            return f"at least {self.least:g}"
        return "" if self.most is None else f"at most {self.most:g}"


@dataclass(frozen=True, slots=True)
class Line:
    """A system with the conditions it ran under, and what was measured."""

    system: str
    rows: int
    rate: Spread


@dataclass
class Findings:
    """`wrong` lists answers that were not equal: then there are no figures."""

    question: str
    lines: list[Line] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    shares: list[tuple[str, str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    charts: dict[str, Chart] = field(default_factory=dict)
    # Names of columns, with > where cells stand at the right; and rows.
    tables: list[tuple[tuple[str, ...], list[tuple[str, ...]]]] = field(default_factory=list)

    def add_runs(self, runs: Runs) -> None:
        for name, some in runs.items():
            self.wrong += [f"{name}: {run.wrong}" for run in some if run.wrong]
            if some and not some[-1].wrong:
                self.lines.append(Line(name, some[0].rows, spread(rates(some))))

    def add_shares(self, name: str, runs: Sequence[Run]) -> None:
        """Where the time of a median run went, per batch."""
        run = sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]
        batches = max(1, len(run.batches))
        self.shares.append((name, f"{1e3 * run.seconds / batches:,.0f} ms", ""))
        for part, seconds in sorted(run.parts.items(), key=lambda p: -p[1]):
            cells = f"{1e3 * seconds / batches:,.0f} ms", f"{seconds / run.seconds:.0%}"
            self.shares.append((f"  {part}", *cells))
        self.more.setdefault("parts", {})[name] = {
            part: _rounded(seconds) for part, seconds in run.parts.items()
        }

    @property
    def answers_equal(self) -> bool:
        return not self.wrong

    def text(self) -> str:
        """The tables and notes."""
        parts = [self.question]
        if self.lines:
            parts.append(_table(_SYSTEMS, [_line_cells(line) for line in self.lines]))
        if self.bars:
            parts.append(_table(_FIGURES, [_bar_cells(bar) for bar in self.bars]))
        if self.shares:
            parts.append(_table(("where the time goes", ">a batch", ">of all"), self.shares))
        parts += [_table(*table) for table in self.tables]
        notes = [f"note: {note}" for note in self.notes]
        notes += [f"wrong: {wrong}" for wrong in self.wrong]
        notes.append(f"answers equal: {'yes' if self.answers_equal else 'no'}")
        return "\n\n".join([*parts, "\n".join(notes)])

    def to_json(self) -> dict[str, Any]:
        return {
            "answers_equal": self.answers_equal,
            **{bar.key: _rounded(bar.value.median if bar.value else None) for bar in self.bars},
            "spread": {
                bar.key: [_rounded(bar.value.lowest), _rounded(bar.value.highest)]
                for bar in self.bars
                if bar.value
            },
            "systems": [
                {
                    "system": line.system,
                    "rows": line.rows,
                    "rows_per_second": round(line.rate.median),
                }
                for line in self.lines
            ],
            **self.more,
        }


# Names of columns; those whose cells stand at the right begin with >.
_SYSTEMS = ("system", ">rows", ">rows/s", ">lowest", ">highest")
_FIGURES = ("figure", ">median", ">lowest", ">highest", "wanted", "")


def _line_cells(line: Line) -> tuple[str, ...]:
    rate = line.rate
    numbers = (line.rows, rate.median, rate.lowest, rate.highest)
    return (line.system, *(f"{number:,.0f}" for number in numbers))


def _bar_cells(bar: Bar) -> tuple[str, ...]:
    value = bar.value
    numbers = () if value is None else (value.median, value.lowest, value.highest)
    shown = [f"{number:.3g}" for number in numbers] or ["-"] * 3
    met = {True: "met", False: "not met", None: ""}[bar.is_met]
    return (bar.key, *shown, bar.wanted, met if bar.wanted else "")


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    titles = [name.removeprefix(">") for name in names]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if name.startswith(">") else cell.ljust(width)
            for name, cell, width in zip(names, cells, widths, strict=True)
        )
        for cells in (titles, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _rounded(number: float | None) -> float | None:
    return None if number is None else float(f"{number:.4g}")
