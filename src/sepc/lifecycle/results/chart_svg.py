"""Charts of results as SVG: names stand above their lines, so that long ones fit a narrow screen."""

from __future__ import annotations

from collections.abc import Callable

from sepc.lifecycle.results.charts import BarChart, Chart, Pair, PairChart
from sepc.reporting.markup import Markup, tag
from sepc.reporting.svg import LETTER, PlotArea, drawing, hatch, number, text_at, tick_text, ticks
from sepc.wording import percent, short

# Narrow, so that text is large enough on a phone.
WIDTH, LEFT, RIGHT = 400.0, 16.0, 376.0
# Space for the keys at the top and for the axis at the bottom; the height of an entry, and of its note.
TOP, BELOW, STEP, NOTE = 34.0, 42.0, 40.0, 15.0
LONGEST_NAME = int((WIDTH - LEFT) / LETTER)
HATCH = "hatch-result"

Marks = Callable[[Pair, float, PlotArea], list[Markup | None]]


def svg_of(chart: Chart) -> Markup:
    """The chart as an SVG drawing."""
    step = STEP + NOTE * any(pair.note for pair in chart.shown)
    bottom = TOP + step * len(chart.shown)
    plot = PlotArea(0.0, chart.largest * 1.04 or 1.0, 0.0, 1.0, LEFT, RIGHT, TOP, bottom)
    is_share = isinstance(chart, PairChart) and chart.is_share
    entry = _pair if isinstance(chart, PairChart) else _bar
    entries = [_entry(pair, TOP + step * i, plot, chart, entry) for i, pair in enumerate(chart.shown)]
    axis = text_at(chart.axis, (LEFT + RIGHT) / 2, bottom + 34, "middle", "axis")
    description = "; ".join(_describe(pair, chart) for pair in chart.shown)
    parts = [hatch(HATCH), _grid(plot, is_share), _keys(chart), entries, axis]
    return drawing("result", chart.title, description, WIDTH, bottom + BELOW, *parts)


def _grid(plot: PlotArea, is_share: bool) -> list[Markup]:
    drawn = []
    for value in ticks(plot.x_from, plot.x_to, 5):
        if is_share or value == round(value):
            x = number(plot.x(value))
            drawn.append(tag("line", x1=x, x2=x, y1=number(plot.top), y2=number(plot.bottom), class_="grid"))
            drawn.append(text_at(tick_text(value, is_share), plot.x(value), plot.bottom + 16, "middle"))
    return drawn


def _entry(pair: Pair, y: float, plot: PlotArea, chart: Chart, marks: Marks) -> Markup:
    """Name and note of an entry, and its marks below them."""
    name = text_at(short(pair.name, LONGEST_NAME), plot.left, y + 13, "start", "note")
    note = text_at(short(pair.note, LONGEST_NAME), plot.left, y + 13 + NOTE, "start") if pair.note else None
    return tag("g", tag("title", _describe(pair, chart)), name, note, marks(pair, y + NOTE * bool(pair.note), plot))


def _pair(pair: Pair, y: float, plot: PlotArea) -> list[Markup | None]:
    first, second, at = number(plot.x(pair.first)), number(plot.x(pair.second)), number(y + 27)
    return [
        tag("line", x1=first, x2=second, y1=at, y2=at, class_="whisker"),
        tag("circle", cx=first, cy=at, r=5, class_="here"),
        tag("circle", cx=second, cy=at, r=5.5, class_="dot"),
    ]


def _bar(pair: Pair, y: float, plot: PlotArea) -> list[Markup | None]:
    ends = plot.x(pair.first), plot.x(pair.first + pair.second)
    first, second = _part(plot.left, ends[0], y + 19, "first"), _part(*ends, y + 19, "second", f"url(#{HATCH})")
    return [first, second]


def _part(left: float, right: float, y: float, class_: str, fill: str | None = None) -> Markup | None:
    if right <= left:
        return None
    sides = {"x": number(left), "y": number(y), "width": number(max(right - left, 1.5)), "height": 14}
    return tag("rect", class_=class_, fill=fill, **sides)


def _keys(chart: Chart) -> list[Markup | None]:
    first, second = chart.keys
    across = LEFT + 34 + LETTER * len(first)
    texts = [text_at(first, LEFT + 17, 18, class_="note"), text_at(second, across + 17, 18, class_="note")]
    if isinstance(chart, BarChart):
        return [_part(LEFT, LEFT + 12, 6, "first"), _part(across, across + 12, 6, "second", f"url(#{HATCH})"), *texts]
    marks = [tag("circle", cx=number(x + 6), cy=14, r=5, class_=kind) for x, kind in ((LEFT, "here"), (across, "dot"))]
    return [*marks, *texts]


def _describe(pair: Pair, chart: Chart) -> str:
    values = (pair.first, pair.second)
    is_share = isinstance(chart, PairChart) and chart.is_share
    first, second = (percent(value) if is_share else f"{value:,.4g}" for value in values)
    return f"{pair.name_and_note}: {first} {chart.keys[0]}, {second} {chart.keys[1]}"
