"""Line charts as SVG text: enough for what the benchmarks draw, and readable on any ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import floor, log10
from pathlib import Path

_WIDTH, _HEIGHT = 900, 360
# Free around the drawing area: left, right, top, bottom.
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 56, 48
_COLOURS = ("#1f77b4", "#d95f02", "#7f7f7f", "#2a9d4a", "#9467bd", "#b8860b")
_INK, _GRID = "#666", "#8884"


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points, by rising x."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at x: a line across the chart; the text shows on pointing at it."""

    x: float
    text: str
    is_dashed: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    title: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    marks: Sequence[Mark] = ()
    # What marks stand for, for the legend: those that are dashed, and the others.
    mark_names: tuple[str, str] | None = None


@dataclass
class _Scale:
    """Numbers on an axis as places in the picture."""

    low: float
    high: float
    first: float
    last: float
    ticks: list[float] = field(init=False)

    def __post_init__(self) -> None:
        step = _step((self.high - self.low) / 6 or 1.0)
        at = floor(self.low / step)
        self.ticks = []
        while at * step <= self.high + step / 1e6:
            if at * step >= self.low - step / 1e6:
                self.ticks.append(at * step)
            at += 1

    def __call__(self, number: float) -> float:
        part = (number - self.low) / ((self.high - self.low) or 1.0)
        return round(self.first + part * (self.last - self.first), 1)


def _step(rough: float) -> float:
    """The next larger one of 1, 2, 5, 10, 20, …"""
    power: float = 10.0 ** floor(log10(rough))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= rough * 0.999)


def write_charts(charts: Mapping[str, Chart], folder: Path) -> list[Path]:
    """One file for each, by its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, chart in charts.items():
        (folder / f"{name}.svg").write_text(svg(chart))
    return [folder / f"{name}.svg" for name in charts]


def svg(chart: Chart) -> str:
    xs = [x for line in chart.series for x in line.xs] or [0.0]
    ys = [y for line in chart.series for y in line.ys] or [0.0]
    # From zero on: a chart shows how much of a cost is left.
    across = _Scale(min(xs), max(xs), _LEFT, _WIDTH - _RIGHT)
    up = _Scale(0.0, 1.08 * max(ys), _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}">',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="bold">{escape(chart.title)}</text>',
        *_axes(chart, across, up),
        *(_mark(mark, across(mark.x)) for mark in chart.marks),
        *(
            f'<polyline points="{_points(line, across, up)}" fill="none" '
            f'stroke="{_COLOURS[i % len(_COLOURS)]}" stroke-width="1.6"/>'
            for i, line in enumerate(chart.series)
        ),
        *_legend(chart),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _points(line: Series, across: _Scale, up: _Scale) -> str:
    return " ".join(f"{across(x)},{up(y)}" for x, y in zip(line.xs, line.ys, strict=True))


def _axes(chart: Chart, across: _Scale, up: _Scale) -> list[str]:
    bottom, middle = _HEIGHT - _BOTTOM, (_TOP + _HEIGHT - _BOTTOM) / 2
    parts = []
    for tick in up.ticks:
        parts += [
            f'<path d="M{_LEFT} {up(tick)}H{_WIDTH - _RIGHT}" stroke="{_GRID}"/>',
            f'<text x="{_LEFT - 6}" y="{up(tick) + 4}" text-anchor="end">{tick:g}</text>',
        ]
    parts += [
        f'<text x="{across(tick)}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        for tick in across.ticks
    ]
    x_label, y_label = escape(chart.x_label), escape(chart.y_label)
    return [
        *parts,
        f'<path d="M{_LEFT} {bottom}H{_WIDTH - _RIGHT}" stroke="{_INK}"/>',
        f'<text x="{_WIDTH - _RIGHT}" y="{bottom + 36}" text-anchor="end">{x_label}</text>',
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">'
        f"{y_label}</text>",
    ]


def _mark(mark: Mark, x: float) -> str:
    dashes = ' stroke-dasharray="4 4"' if mark.is_dashed else ""
    return (
        f'<path d="M{x} {_TOP}V{_HEIGHT - _BOTTOM}" stroke="{_INK}"{dashes}>'
        f"<title>{escape(mark.text)}</title></path>"
    )


def _legend(chart: Chart) -> list[str]:
    strokes = [f'stroke="{colour}" stroke-width="3"' for colour in _COLOURS]
    entries = [(line.name, strokes[i % len(strokes)]) for i, line in enumerate(chart.series)]
    if chart.mark_names is not None:
        dashed, full = chart.mark_names
        entries += [(dashed, f'stroke="{_INK}" stroke-dasharray="4 4"'), (full, f'stroke="{_INK}"')]
    parts, x = [], _LEFT
    for name, stroke in entries:
        parts.append(
            f'<path d="M{x} 38h18" {stroke}/><text x="{x + 24}" y="42">{escape(name)}</text>'
        )
        x += 42 + 6 * len(name)
    return parts
