"""Charts of shape functions: a curve for each feature."""

from __future__ import annotations

from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import colour_of
from sepc.reporting.svg import PlotArea, drawing, number, tick_text
from sepc.reporting.what_counts import FeatureCurve, WhatCounts
from sepc.wording import counted, short

WIDTH, HEIGHT = 330.0, 226.0
# The share of a chart's height, at its foot, for the histogram of rows.
FOOT = 0.17
# Of a discrete feature with more values than this, only some get a tick.
MOST_WRITTEN = 8
# Names of categories are longer than numbers, so fewer are written, each shortened to this many letters.
FEW_WRITTEN, LONGEST_TICK = 4, 8
LONGEST_AXIS = 46


def curve_charts(weights: WhatCounts) -> list[Markup]:
    """The curves, all on one scale."""
    terms = [0.0, *(term for curve in weights.curves for term in curve.term)]
    room = 0.08 * (max(terms) - min(terms)) or 0.1
    low, high = min(terms) - room, max(terms) + room
    return [_curve(i, curve, weights, low, high) for i, curve in enumerate(weights.curves)]


def _curve(i: int, curve: FeatureCurve, weights: WhatCounts, low: float, high: float) -> Markup:
    n = len(curve.x)
    start, end = (-0.6, n - 0.4) if curve.is_discrete else (curve.x[0], curve.x[-1])
    foot = FOOT / (1.0 - FOOT) * (high - low)
    plot = PlotArea(start, end, low - foot, high, 46.0, WIDTH - 8.0, 8.0, HEIGHT - 42.0)
    written = None
    if curve.is_discrete:
        texts = [short(name, LONGEST_TICK) for name in curve.categories]
        texts = texts or [tick_text(value, False) for value in curve.x]
        most = FEW_WRITTEN if curve.categories else MOST_WRITTEN
        written = [(k, texts[k]) for k in range(0, n, 1 + (n - 1) // most)]
    proved = f" ({curve.proved})" if curve.proved else ""
    axes = plot.axes(
        f"{short(curve.name, LONGEST_AXIS - len(proved))}{proved}", "log-odds", x_ticks=written, y_least=low, about=4
    )
    drawn = _bars(plot, curve, weights) if curve.is_discrete else _area(i, plot, curve, weights)
    zero = number(plot.y(0.0))
    line = tag("line", x1=number(plot.left), x2=number(plot.right), y1=zero, y2=zero, class_="zero")
    least, most = min(range(n), key=lambda k: curve.term[k]), max(range(n), key=lambda k: curve.term[k])
    description = (
        f"From {curve.term[least]:+.2f} at {curve.value(least)} to {curve.term[most]:+.2f} at {curve.value(most)}; "
        "at the foot, a histogram of the held-out rows."
    )
    return drawing(
        f"curve-{i}", f"What {curve.name} adds", description, WIDTH, HEIGHT, axes, _foot(plot, curve), drawn, line
    )


def _bars(plot: PlotArea, curve: FeatureCurve, weights: WhatCounts) -> list[Markup]:
    """A bar for each value."""
    bars = []
    for k, term in enumerate(curve.term):
        colour = colour_of(weights.positions[0 if term > 0.0 else 1])
        title = tag("title", f"{curve.value(k, 6)}: {term:+.2f}, {counted(curve.n_rows[k], 'row')}")
        bars.append(_rect(plot, (k - 0.4, k + 0.4), (min(term, 0.0), max(term, 0.0)), f"term {colour}", title))
    return bars


def _area(i: int, plot: PlotArea, curve: FeatureCurve, weights: WhatCounts) -> list[Markup]:
    """The curve, with the area down to zero filled in the colours of the two sides."""
    zero = plot.y(0.0)
    points = " ".join(f"{number(plot.x(x))},{number(plot.y(y))}" for x, y in zip(curve.x, curve.term, strict=True))
    path = f"M{number(plot.left)},{number(zero)} {points} {number(plot.right)},{number(zero)}z"
    sides = {"for": (plot.top, zero), "against": (zero, plot.bottom)}
    parts = []
    for (side, (top, bottom)), position in zip(sides.items(), weights.positions, strict=True):
        name = f"curve-{i}-{side}"
        box = tag("rect", x=0, y=number(top), width=number(WIDTH), height=number(bottom - top))
        parts.append(tag("defs", tag("clipPath", box, id=name)))
        parts.append(tag("path", d=path, class_=f"area {colour_of(position)}", clip_path=f"url(#{name})"))
    return [*parts, plot.line(curve.x, curve.term, "term-line")]


def _foot(plot: PlotArea, curve: FeatureCurve) -> list[Markup]:
    """The histogram of the rows."""
    most, unit = max(curve.n_rows), 0.85 * FOOT * (plot.y_to - plot.y_from)
    edges = [(k - 0.4, k + 0.4) for k in range(len(curve.x))]
    if not curve.is_discrete:
        edges = list(zip(curve.edges[:-1], curve.edges[1:], strict=True))
    return [
        _rect(plot, (max(left, plot.x_from), right), (plot.y_from, plot.y_from + unit * n / most), "density")
        for (left, right), n in zip(edges, curve.n_rows, strict=True)
        if n
    ]


def _rect(
    plot: PlotArea, across: tuple[float, float], up: tuple[float, float], class_: str, *children: Markup
) -> Markup:
    """A rectangle given by its x and y ranges, in units of the data."""
    left, right = plot.x(across[0]), plot.x(across[1])
    bottom, top = plot.y(up[0]), plot.y(up[1])
    sides = {"x": number(left), "y": number(top), "width": number(right - left)}
    return tag("rect", *children, class_=class_, height=number(max(bottom - top, 0.5)), **sides)
