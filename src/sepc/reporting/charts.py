"""Charts of how decisions turned out: by coverage and by trust; and of how classes overlap."""

from __future__ import annotations

import math

from sepc.reporting.class_overlaps import ClassOverlaps
from sepc.reporting.held_out import N_BARS, Curves, HeldOut, Histogram
from sepc.reporting.markup import Markup, tag
from sepc.reporting.svg import LETTER, PlotArea, drawing, hatch, number, text_at
from sepc.wording import counted, decimal, percent, short

WIDTH, HEIGHT = 480.0, 312.0
# With more classes than this, the table of overlaps is not drawn.
N_CLASSES = 30
# Cells of at least this size have room for a number.
ROOM = 32.0
# The darkest shade stands for the largest share, or for this one if all are smaller.
LEAST_SHADED = 0.05
# Below this coverage the risk is mostly noise, and the curve may leave the chart.
SETTLED = 0.05


def risk_coverage_chart(curves: Curves, figures: HeldOut) -> Markup:
    """The risk-coverage curve: the error rate among accepted rows, for every share of rows accepted."""
    settled = [risk for at, risk in zip(curves.coverage, curves.risk, strict=True) if at >= SETTLED]
    plot = PlotArea(0.0, 1.0, 0.0, min(max(1.25 * max(settled), 0.01), 1.0))
    clip = tag("defs", tag("clipPath", plot.area(), id="risk-area"))
    line = tag("g", plot.line(curves.coverage, curves.risk, "curve"), clip_path="url(#risk-area)")
    marked: list[Markup] = []
    if figures.n_accepted and figures.n_right_accepted is not None:
        coverage = figures.n_accepted / figures.n_rows
        risk = 1.0 - figures.n_right_accepted / figures.n_accepted
        x, y = number(plot.x(coverage)), number(plot.y(min(risk, plot.y_to)))
        side = "end" if coverage > 0.5 else "start"
        note = text_at("accepted now", plot.x(coverage) + (-6 if side == "end" else 6), plot.top + 13, side, "note")
        line_down = tag("line", x1=x, x2=x, y1=number(plot.top), y2=number(plot.bottom), class_="now")
        marked = [line_down, tag("circle", cx=x, cy=y, r=5, class_="here"), note]
    description = (
        f"At full coverage, {percent(curves.risk[-1])} are wrong; the mean over all coverages, "
        f"the AURC, is {figures.aurc:.4f}."
    )
    axes = plot.axes("coverage: share of rows accepted", "selective risk", shares=(True, True))
    return drawing("risk", "Risk-coverage curve", description, WIDTH, HEIGHT, clip, axes, line, marked)


def reliability_chart(curves: Curves) -> Markup:
    """The reliability diagram: how often labels are right, by their trust."""
    least = min(*curves.bin_trust, *curves.bin_low, 0.9)
    start = math.floor(10.0 * least) / 10.0
    plot = PlotArea(start, 1.0, start, 1.0)
    drawn = [plot.line([start, 1.0], [start, 1.0], "diagonal")]
    columns = (curves.bin_trust, curves.bin_right, curves.bin_low, curves.bin_high, curves.bin_rows)
    for trust, right, low, high, n_rows in zip(*columns, strict=True):
        x = number(plot.x(trust))
        title = tag("title", f"{counted(n_rows, 'row')}: trust {decimal(trust)}, right {percent(right)}")
        bar = tag("line", x1=x, x2=x, y1=number(plot.y(low)), y2=number(plot.y(high)), class_="whisker")
        drawn.append(tag("g", title, bar, tag("circle", cx=x, cy=number(plot.y(right)), r=4.5, class_="dot")))
    description = (
        f"{len(curves.bin_rows)} bins of rows by trust, with 95 % intervals. On the dashed line, "
        "labels are right as often as trust says; below it, less often."
    )
    axes = plot.axes("mean trust", "accuracy", shares=(False, True))
    return drawing("reliability", "Reliability diagram", description, WIDTH, HEIGHT, axes, drawn)


def histogram_chart(histogram: Histogram) -> Markup:
    """A histogram of trust."""
    highest = max(a + b for a, b in zip(histogram.first, histogram.second, strict=True))
    plot = PlotArea(0.0, 1.0, 0.0, 1.08 * highest, top=34.0)
    bars = []
    for i, (first, second) in enumerate(zip(histogram.first, histogram.second, strict=True)):
        x, width = plot.x(i / N_BARS) + 1.0, (plot.right - plot.left) / N_BARS - 2.0
        tall, more = _bar_height(plot, first), _bar_height(plot, second)
        text = f"trust {i / N_BARS:.2f} to {(i + 1) / N_BARS:.2f}: {first:,} {histogram.names[0]}, "
        title = tag("title", f"{text}{second:,} {histogram.names[1]}")
        bars.append(
            tag(
                "g",
                title,
                _bar(x, plot.bottom - tall, width, tall, "first"),
                _bar(x, plot.bottom - tall - more, width, more, "second", "url(#hatch-trust)"),
            )
        )
    total = f"{sum(histogram.first):,} {histogram.names[0]}, {sum(histogram.second):,} {histogram.names[1]}"
    legend = _legend(histogram.names, "url(#hatch-trust)", plot.left)
    axes = plot.axes("trust", "held-out rows")
    return drawing("trust", "Rows by trust", f"{total}.", WIDTH, HEIGHT, hatch("hatch-trust"), axes, bars, legend)


def _bar_height(plot: PlotArea, n: int) -> float:
    """The height of a bar of `n` rows; even a single row is visible."""
    return max(plot.bottom - plot.y(n), 1.5) if n else 0.0


def overlap_chart(classes: ClassOverlaps) -> Markup | None:
    """For each class, the share of its rows in every other class's ellipsoid; None for two classes or too many."""
    n = len(classes.names)
    if not 2 < n <= N_CLASSES:
        return None
    size, left, top = min(40.0, 460.0 / n), 96.0, 26.0
    middles = [size * (i + 0.5) for i in range(n)]
    cells = [_overlap(classes, i, j, left, top, size) for i in range(n) for j in range(n) if i != j]
    down = [
        text_at(short(name, 14), left - 6, top + y + 4, "end") for name, y in zip(classes.names, middles, strict=True)
    ]
    letters = max(2, int(size / LETTER))
    over = [
        text_at(short(name, letters), left + x, top - 8, "middle")
        for name, x in zip(classes.names, middles, strict=True)
    ]
    description = (
        "One row of cells per class: the darker, the more of its rows also lie in the other class's ellipsoid."
    )
    width, height = left + size * n + 6, top + size * n + 6
    return drawing("overlap", "How classes overlap", description, width, height, cells, down, over)


def _overlap(classes: ClassOverlaps, i: int, j: int, left: float, top: float, size: float) -> Markup:
    """The cell of two classes, with its number if there is room."""
    share, x, y = classes.inside[i][j], left + size * j, top + size * i
    title = tag("title", f"{percent(share)} of {classes.names[i]} lie in the ellipsoid of {classes.names[j]}")
    box = tag("rect", x=number(x), y=number(y), width=number(size - 1), height=number(size - 1))
    text = text_at(percent(share, 0), x + size / 2, y + size / 2 + 4, "middle") if size >= ROOM else None
    shade = 0.6 * share / max(classes.most_inside, LEAST_SHADED)
    return tag("g", title, box, text, class_="cell", style=f"--share:{shade:.3f}")


def _bar(x: float, y: float, width: float, height: float, class_: str, fill: str | None = None) -> Markup | None:
    if width <= 0.0 or height <= 0.0:
        return None
    sides = {"x": number(x), "y": number(y), "width": number(width), "height": number(height)}
    return tag("rect", class_=class_, fill=fill, **sides)


def _legend(names: tuple[str, str], fill: str, left: float) -> list[Markup | None]:
    return [
        _bar(left, 8, 12, 12, "first"),
        text_at(names[0], left + 17, 18, class_="note"),
        _bar(left + 90, 8, 12, 12, "second", fill),
        text_at(names[1], left + 107, 18, class_="note"),
    ]
