"""The building blocks of charts in SVG, and the charts of partitions, outcomes and overlaps."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.sep_model import SEPModel
from sepc.reporting._held_out import N_BARS, Curves, HeldOut, Histogram
from sepc.reporting._model_figures import ClassOverlaps
from sepc.reporting._partitions import named_ellipsoid
from sepc.reporting.tables import Markup, tag
from sepc.views.log_odds import sample
from sepc.views.planes import (
    Plane,
    ellipsoid_plane,
    feature_plane,
    most_separating_pair,
    placed_names,
    principal_plane,
    separating_plane,
)
from sepc.wording import counted, decimal, name_of, percent, short

# Seven colours and four shapes: 28 classes differ in at least one of them. The colours are in `page_style`.
N_COLOURS = 7
SHAPES = ("circle", "square", "triangle", "diamond")
N_STYLES = N_COLOURS * len(SHAPES)
DASHES = (None, "6 3", "2 2")
# Drawings are scaled within this range; on a narrower screen they scroll, so that text stays readable.
SMALLEST, LARGEST = 0.72, 1.25
# The approximate width of a letter, in units of the drawing.
LETTER = 6.4


def number(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True)
class PlotArea:
    """The area of a chart, and the map from units of the data to units of the drawing."""

    x_from: float
    x_to: float
    y_from: float
    y_to: float
    left: float = 52.0
    right: float = 458.0
    top: float = 14.0
    bottom: float = 270.0

    def x(self, value: float) -> float:
        """The horizontal position of a value."""
        return self.left + (value - self.x_from) / (self.x_to - self.x_from) * (self.right - self.left)

    def y(self, value: float) -> float:
        """The vertical position of a value, counted from the top."""
        return self.bottom - (value - self.y_from) / (self.y_to - self.y_from) * (self.bottom - self.top)

    def line(self, xs: Sequence[float], ys: Sequence[float], class_: str) -> Markup:
        """A line through points."""
        points = " ".join(f"{number(self.x(x))},{number(self.y(y))}" for x, y in zip(xs, ys, strict=True))
        return tag("polyline", points=points, class_=class_)

    def area(self, **attributes: Any) -> Markup:
        """The rectangle inside the axes."""
        corner, size = (self.left, self.top), (self.right - self.left, self.bottom - self.top)
        (x, y), (width, height) = map(number, corner), map(number, size)
        return tag("rect", x=x, y=y, width=width, height=height, **attributes)

    def axes(
        self,
        x_name: str,
        y_name: str,
        *,
        shares: tuple[bool, bool] = (False, False),
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_least: float | None = None,
        about: int = 5,
    ) -> list[Markup]:
        """The axes with their names, and a faint line at every tick; `shares` are written as percentages."""
        drawn = [self.area(class_="frame")]
        if x_ticks is None:
            x_ticks = [(value, tick_text(value, shares[0])) for value in ticks(self.x_from, self.x_to, about)]
        for value, text in x_ticks:
            at = number(self.x(value))
            drawn.append(tag("line", x1=at, x2=at, y1=number(self.top), y2=number(self.bottom), class_="grid"))
            drawn.append(text_at(text, self.x(value), self.bottom + 16, "middle"))
        for value in ticks(self.y_from if y_least is None else y_least, self.y_to, about):
            at, text = number(self.y(value)), tick_text(value, shares[1])
            drawn.append(tag("line", x1=number(self.left), x2=number(self.right), y1=at, y2=at, class_="grid"))
            drawn.append(text_at(text, self.left - 6, self.y(value) + 4, "end"))
        middle = (self.top + self.bottom) / 2
        drawn.append(text_at(x_name, (self.left + self.right) / 2, self.bottom + 34, "middle", "axis"))
        drawn.append(text_at(y_name, 12, middle, "middle", "axis", transform=f"rotate(-90 12 {number(middle)})"))
        return drawn


def drawing(
    name: str, title: str, description: str, width: float, height: float, *parts: Any, role: str = "img"
) -> Markup:
    """An SVG with a title and a description for screen readers; its `role` is "group" if it holds links."""
    return tag(
        "svg",
        tag("title", title, id=f"{name}-title"),
        tag("desc", description, id=f"{name}-desc"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(width)} {number(height)}",
        role=role,
        aria_labelledby=f"{name}-title {name}-desc",
        style=f"min-width:{number(SMALLEST * width)}px;max-width:{number(LARGEST * width)}px",
    )


def text_at(text: str, x: float, y: float, anchor: str = "start", class_: str = "tick", **more: Any) -> Markup:
    """A line of text."""
    return tag("text", text, x=number(x), y=number(y), text_anchor=anchor, class_=class_, **more)


def hatch(name: str) -> Markup:
    """A pattern of slanted lines, so that wrong rows stand out without colour too."""
    line = tag("line", x1=0, y1=0, x2=0, y2=5, class_="hatch-line")
    under = tag("rect", width=5, height=5, class_="hatch-under")
    pattern = tag(
        "pattern", under, line, id=name, width=5, height=5, patternUnits="userSpaceOnUse", patternTransform="rotate(45)"
    )
    return tag("defs", pattern)


def mark(shape: int, x: float, y: float, r: float = 2.6) -> str:
    """The outline of a mark, as part of an SVG path."""
    at = f"M{number(x)} {number(y)}"
    if SHAPES[shape] == "circle":
        return f"{at}m-{r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0-{2 * r} 0z"
    if SHAPES[shape] == "square":
        half = 0.88 * r
        return f"{at}m-{half:.2g}-{half:.2g}h{2 * half:.2g}v{2 * half:.2g}h-{2 * half:.2g}z"
    if SHAPES[shape] == "triangle":
        return f"{at}m0-{1.25 * r:.2g}l{1.15 * r:.2g} {2.05 * r:.2g}h-{2.3 * r:.2g}z"
    return f"{at}m0-{1.3 * r:.2g}l{1.3 * r:.2g} {1.3 * r:.2g}-{1.3 * r:.2g} {1.3 * r:.2g}-{1.3 * r:.2g}-{1.3 * r:.2g}z"


def ticks(start: float, end: float, about: int = 5) -> list[float]:
    """Round numbers from `start` to `end`."""
    raw = (end - start) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= 0.999 * raw)
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_text(value: float, share: bool) -> str:
    """A tick as text."""
    if share:
        return percent(round(value, 9), 3)
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


N_POINTS = 1500
N_SHADOWS = 120
# More projected ellipsoids than this hide one another.
MOST_SHADOWS = 12
# Rows hide one another along features with fewer distinct values than this, or with one value in more than this share
# of the rows.
N_VALUES, MOST_EQUAL = 20, 0.5
# On each side, at most this share of the rows lies beyond the edge of the picture.
BEYOND = 0.005
# Ellipses may enlarge the picture by this share of the rows' range, on each side.
MARGIN = 0.35


@dataclass(frozen=True)
class Shadow:
    """A projected ellipsoid: all ``center + axes @ u`` with u in the unit circle; `axes` row by row."""

    number: int
    name: str
    owner: int
    center: tuple[float, float]
    axes: tuple[float, float, float, float]
    n_rows: int


@dataclass(frozen=True)
class Point:
    """A held-out row; `owner` is the position of its label among the classes, -1 if it is not among them."""

    x: float
    y: float
    owner: int
    accepted: bool
    right: bool | None
    region: int = -1
    position: int = -1


@dataclass(frozen=True)
class Picture:
    """What is drawn, in the units of the axes."""

    axes: tuple[str, str]
    is_exact: bool
    classes: tuple[str, ...]
    by_true_label: bool
    box: tuple[float, float, float, float]
    shadows: tuple[Shadow, ...]
    n_ellipsoids: int
    points: tuple[Point, ...]
    n_rows: int

    @property
    def has_many_classes(self) -> bool:
        """Whether there are too many classes for colours; their names are written among the rows instead."""
        return len(self.classes) > N_COLOURS

    @property
    def shows_ellipses(self) -> bool:
        """Whether all ellipses are drawn; if there are many, only those of a region that the reader selects."""
        return _are_few(len(self.classes), len(self.shadows), self.is_exact)


def picture(
    decisions: SEPDecisions,
    accepted: BoolArray,
    right: BoolArray | None,
    y: NDArray[Any] | None,
    label: NDArray[Any],
    listed: Sequence[int] = (),
    categories: Collection[int] = (),
) -> Picture | None:
    """The picture of a partition and of rows it decided on; None for a single feature."""
    model = decisions.model
    if len(model.placed) < 2:
        return None
    is_exact = len(model.feature_names) == 2
    plane = plane_of(decisions, categories)
    shadows = _shadows(model, plane)
    chosen = _sample(len(decisions), listed)
    places = plane.place(decisions.features[chosen][:, model.placed])
    owners = _positions(model.classes, (label if y is None else y)[chosen])
    marks = [None] * len(chosen) if right is None else right[chosen].tolist()
    return Picture(
        axes=(name_of(plane.names[0]), name_of(plane.names[1])),
        is_exact=is_exact,
        classes=tuple(map(name_of, model.classes)),
        by_true_label=y is not None,
        box=_box(places, shadows if _are_few(len(model.classes), len(shadows), is_exact) else ()),
        shadows=shadows,
        n_ellipsoids=model.n_ellipsoids,
        points=tuple(
            map(
                Point,
                *places.T.tolist(),
                owners,
                accepted[chosen].tolist(),
                marks,
                decisions.region[chosen].tolist(),
                chosen.tolist(),
            )
        ),
        n_rows=len(decisions),
    )


def _are_few(n_classes: int, n_shadows: int, is_exact: bool) -> bool:
    return n_classes <= N_COLOURS and (is_exact or n_shadows <= MOST_SHADOWS)


def _shadows(model: SEPModel, plane: Plane) -> tuple[Shadow, ...]:
    held = model.place_rows[: model.n_ellipsoids]
    largest = np.sort(np.argsort(-held, kind="stable")[:N_SHADOWS]).tolist()
    shadows = []
    for k in largest:
        shadow = plane.shadow(model.ellipsoid(k))
        (x, y), (a, b, c, d) = shadow.center.tolist(), shadow.inverse_root.ravel().tolist()
        shadows.append(Shadow(k, named_ellipsoid(model, k), int(model.owners[k]), (x, y), (a, b, c, d), int(held[k])))
    return tuple(shadows)


def plane_of(decisions: SEPDecisions, categories: Collection[int] = ()) -> Plane:
    """The plane to draw in: the two continuous features that separate the labels best."""
    model = decisions.model
    if len(model.placed) == 2:
        return feature_plane(placed_names(model), (0, 1))
    rows, labels = sample(decisions.features), sample(decisions.label)
    hidden = {*categories, *np.flatnonzero(~model.is_placed).tolist()}
    continuous = [j for j, values in enumerate(rows.T) if j not in hidden and _is_continuous(values)]
    if len(continuous) > 1 and len(np.unique(labels)) > 1:
        first, second = most_separating_pair(rows[:, continuous], labels)
        return ellipsoid_plane(model, (continuous[first], continuous[second]))
    return separating_plane(model, rows, labels) or principal_plane(model)


def _is_continuous(values: FloatArray) -> bool:
    _, counts = np.unique(values, return_counts=True)
    return len(counts) >= N_VALUES and bool(counts.max() <= MOST_EQUAL * len(values))


def _sample(n: int, listed: Sequence[int]) -> NDArray[np.int64]:
    """Positions of the rows to draw, in order."""
    if n <= N_POINTS:
        return np.arange(n)
    random = np.random.default_rng(0).choice(n, size=N_POINTS, replace=False)
    others = random[~np.isin(random, listed)][: N_POINTS - len(listed)]
    return np.sort(np.concatenate([others, np.asarray(listed, dtype=np.int64)]))


def _positions(classes: NDArray[Any], labels: NDArray[Any]) -> list[int]:
    known = {label: k for k, label in enumerate(classes.tolist())}
    return [known.get(label, -1) for label in labels.tolist()]


def _box(places: FloatArray, shadows: tuple[Shadow, ...]) -> tuple[float, float, float, float]:
    """Limits that show most rows, and as much of the ellipses as leaves the rows large enough."""
    low, high = np.quantile(places, [BEYOND, 1.0 - BEYOND], axis=0)
    middle = np.array([shadow.center for shadow in shadows]).reshape(-1, 2)
    reach = np.array([np.hypot(*np.reshape(shadow.axes, (2, 2)).T) for shadow in shadows]).reshape(-1, 2)
    range_ = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    low = np.maximum(low - MARGIN * range_, np.minimum(low, (middle - reach).min(axis=0, initial=np.inf)))
    high = np.minimum(high + MARGIN * range_, np.maximum(high, (middle + reach).max(axis=0, initial=-np.inf)))
    pad = 0.03 * (high - low) + 1e-12 * range_ + np.where(high > low, 0.0, 0.5 * range_)
    (left, bottom), (right, top) = (low - pad).tolist(), (high + pad).tolist()
    return left, right, bottom, top


WIDTH, HEIGHT = 480.0, 312.0
# With more classes than this, the table of overlaps is not drawn.
N_CLASSES = 30
# Cells of at least this size have room for a number.
TEXT_ROOM = 32.0
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
    text = text_at(percent(share, 0), x + size / 2, y + size / 2 + 4, "middle") if size >= TEXT_ROOM else None
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
