"""Charts as SVG."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from thalweg.bench.plot import Chart, Mark, Series, svg, write_charts

CHART = Chart(
    "a < b",
    "rows",
    "ns",
    [Series("one", [0, 1, 2], [5.0, 2.5, 10.0]), Series("two", [0, 2], [1.0, 1.0])],
    [Mark(1, "it changed", is_dashed=True)],
    ("change", "order"),
)


def test_a_chart_is_xml_with_a_line_for_each_series() -> None:
    root = ElementTree.fromstring(svg(CHART))
    space = "{http://www.w3.org/2000/svg}"
    lines = [line.get("points") or "" for line in root.iter(f"{space}polyline")]
    assert [len(points.split()) for points in lines] == [3, 2]
    texts = [text.text for text in root.iter(f"{space}text")]
    assert texts[0] == "a < b"
    assert {"0", "2", "10", "rows", "ns", "one", "two", "change", "order"} <= set(texts)
    # Twice as much is twice as high, from zero on.
    zero, five = (float(next(t for t in root.iter(f"{space}text") if t.text == s).get("y") or 0)
                  for s in ("0", "10"))  # fmt: skip
    heights = [float(point.split(",")[1]) for point in lines[0].split()]
    bottom = zero - 4
    assert abs((bottom - heights[0]) - 2 * (bottom - heights[1])) < 0.3
    assert abs(heights[2] - (five - 4)) < 0.3


def test_charts_are_written_by_name(tmp_path: Path) -> None:
    paths = write_charts({"filters": CHART, "empty": Chart("", "", "", [])}, tmp_path / "new")
    assert [path.name for path in paths] == ["filters.svg", "empty.svg"]
    for path in paths:
        ElementTree.parse(path)
