"""The chart of the partition, and a curve for each feature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from sepc.reporting._model_figures import FeatureCurve, WhatCounts
from sepc.reporting.svg import (
    DASHES,
    LETTER,
    N_COLOURS,
    N_STYLES,
    SHAPES,
    Picture,
    PlotArea,
    Point,
    Shadow,
    drawing,
    mark,
    number,
    text_at,
    tick_text,
)
from sepc.reporting.tables import Markup, tag
from sepc.wording import counted, short

PARTITION_WIDTH = 552.0
PLOT_AREA = {"left": 64.0, "right": 540.0, "top": 12.0, "bottom": 412.0}
LONGEST_KEY = 22
# Half the width of a cross; where there are many of them they are smaller.
CROSS = 4.2
MANY_CROSSES = 100


def partition_chart(
    picture: Picture,
    rows: Mapping[int, str] | None = None,
    regions: Mapping[int, tuple[str, tuple[int, ...]]] | None = None,
) -> Markup:
    """Ellipses and rows in the plane of the picture, with a legend below."""
    rows, regions = rows or {}, regions or {}
    plot = PlotArea(*picture.box, **PLOT_AREA)
    clip = tag("defs", tag("clipPath", plot.area(), id="partition-area"))
    is_plain = picture.has_many_classes
    ellipses = [_ellipse(plot, shadow, is_plain) for shadow in picture.shadows]
    inside = [point for point in picture.points if _is_inside(plot, point)]
    # Many ellipses on top of one another would hide the rows.
    n = max(len(ellipses), 1)
    faint = f"--fill:{min(0.07, 0.5 / n):.3f};--stroke:{min(0.9, max(0.35, 20 / n)):.2f}"
    drawn = [
        ellipses if picture.shows_ellipses else tag("defs", ellipses),
        _places(plot, inside, regions, picture, is_plain),
    ]
    if is_plain:
        drawn.append(_class_names(plot, inside, picture.classes))
    spots = [_spot(plot, point, rows[point.position]) for point in picture.points if point.position in rows]
    legend, height = _legend(picture, plot.bottom + 54.0, is_plain)
    description = f"{len(picture.shadows)} ellipses and {len(inside)} held-out rows, by class. {beyond(picture)}"
    axes = plot.axes(*(short(name, 70) for name in picture.axes))
    shown = tag("g", drawn, clip_path="url(#partition-area)", style=faint, class_="drawn")
    return drawing(
        "partition",
        "The partition",
        description,
        PARTITION_WIDTH,
        height,
        clip,
        axes,
        shown,
        spots,
        legend,
        role="group",
    )


def place_id(region: int) -> str:
    """The id of a region in the picture."""
    return f"in-{region}" if region >= 0 else "in-new"


def line_id(region: int) -> str:
    """The id of a region's line in its table."""
    return f"region-{region}" if region >= 0 else "region-new"


def beyond(picture: Picture) -> str:
    """A note on rows and ellipsoids that the picture leaves out."""
    plot = PlotArea(*picture.box, **PLOT_AREA)
    n_beyond = sum(not _is_inside(plot, point) for point in picture.points)
    sentences = []
    if len(picture.points) < picture.n_rows:
        sentences.append(f"{len(picture.points):,} of {picture.n_rows:,} rows are drawn, chosen at random.")
    if n_beyond:
        sentences.append(f"{n_beyond:,} {'row lies' if n_beyond == 1 else 'rows lie'} beyond the edges.")
    if len(picture.shadows) < picture.n_ellipsoids:
        sentences.append(
            f"Of {picture.n_ellipsoids:,} ellipsoids, the {len(picture.shadows):,} with the most rows are drawn."
        )
    return " ".join(sentences)


def _is_inside(plot: PlotArea, point: Point) -> bool:
    return plot.x_from <= point.x <= plot.x_to and plot.y_from <= point.y <= plot.y_to


def _ellipse(plot: PlotArea, shadow: Shadow, is_plain: bool) -> Markup:
    """The ellipse in units of the drawing, where it may be stretched and turned."""
    across = (plot.right - plot.left) / (plot.x_to - plot.x_from)
    down = -(plot.bottom - plot.top) / (plot.y_to - plot.y_from)
    directions, lengths, _ = np.linalg.svd(np.array([[across], [down]]) * np.reshape(shadow.axes, (2, 2)))
    angle = float(np.degrees(np.arctan2(directions[1, 0], directions[0, 0])))
    x, y = number(plot.x(shadow.center[0])), number(plot.y(shadow.center[1]))
    return tag(
        "ellipse",
        tag("title", f"{shadow.name}, {shadow.n_rows:,} training rows"),
        id=f"ellipse-{shadow.number}",
        cx=x,
        cy=y,
        rx=number(max(lengths[0], 0.5)),
        ry=number(max(lengths[1], 0.5)),
        transform=f"rotate({number(angle)} {x} {y})",
        stroke_dasharray=None if is_plain else DASHES[shadow.owner % len(DASHES)],
        class_=f"ellipse {'k-other' if is_plain else colour_of(shadow.owner)}",
    )


def _places(
    plot: PlotArea,
    points: list[Point],
    regions: Mapping[int, tuple[str, tuple[int, ...]]],
    picture: Picture,
    is_plain: bool,
) -> list[Markup]:
    """A group for every region: its rows, and its ellipses, which show when it is selected; large regions first."""
    by_region: dict[int, list[Point]] = {region: [] for region in regions}
    for point in points:
        by_region.setdefault(point.region, []).append(point)
    drawn = {shadow.number for shadow in picture.shadows}
    size = CROSS if sum(point.right is False for point in points) <= MANY_CROSSES else 0.65 * CROSS
    groups = []
    for region, points_there in sorted(by_region.items(), key=lambda item: -len(item[1])):
        marks = _marks(plot, points_there, is_plain, size)
        if region not in regions:
            groups.append(tag("g", marks))
            continue
        name, ellipsoids = regions[region]
        outlines = [tag("use", href=f"#ellipse-{k}") for k in ellipsoids if k in drawn]
        link = tag("a", tag("title", name), marks, href=f"#{line_id(region)}", tabindex=-1)
        back = tag("a", outlines, href=f"#{line_id(region)}", aria_label=f"{name}: back to the table", class_="outline")
        groups.append(tag("g", link, back, id=place_id(region), class_="place"))
    return groups


def _marks(plot: PlotArea, points: list[Point], is_plain: bool, cross: float) -> list[Markup]:
    """One path for all rows that look alike; crosses for wrong rows on top."""
    alike: dict[tuple[int, bool], list[Point]] = defaultdict(list)
    for point in points:
        alike[-1 if is_plain else min(point.owner, N_STYLES), point.accepted].append(point)
    paths = []
    for (owner, accepted), rows in sorted(alike.items(), key=lambda item: -len(item[1])):
        path = "".join(mark(_shape(owner), plot.x(row.x), plot.y(row.y)) for row in rows)
        paths.append(tag("path", d=path, class_=f"mark {colour_of(owner)}{'' if accepted else ' hollow'}"))
    crosses = "".join(_cross(plot.x(row.x), plot.y(row.y), cross) for row in points if row.right is False)
    return [*paths, tag("path", d=crosses, class_="cross")] if crosses else paths


def _class_names(plot: PlotArea, points: list[Point], classes: tuple[str, ...]) -> list[Markup]:
    """Each class's name in the middle of its rows, where there are too many classes for colours."""
    names = []
    for k, name in enumerate(classes):
        of_class = [point for point in points if point.owner == k]
        if of_class:
            x, y = (float(np.median([getattr(point, axis) for point in of_class])) for axis in ("x", "y"))
            names.append(text_at(short(name, 12), plot.x(x), plot.y(y) + 5, "middle", "class-name"))
    return names


def _spot(plot: PlotArea, point: Point, text: str) -> Markup:
    """A listed row: a click leads to its line in the table, and a link from there marks it."""
    x = number(min(max(plot.x(point.x), plot.left), plot.right))
    y = number(min(max(plot.y(point.y), plot.top), plot.bottom))
    href = f"#row-{point.position}"
    link = tag("a", tag("title", text), tag("circle", cx=x, cy=y, r=6, class_="hit"), href=href, tabindex=-1)
    rings = [tag("circle", cx=x, cy=y, r=r, class_=name) for r, name in ((11, "halo"), (11, "halo inner"))]
    back = tag("a", rings, href=href, aria_label=f"{text}: back to the table", class_="outline")
    return tag("g", link, back, id=f"at-{point.position}", class_="spot")


def _cross(x: float, y: float, r: float) -> str:
    side = number(2 * r)
    return f"M{number(x - r)} {number(y - r)}l{side} {side}m0-{side}l-{side} {side}"


def _legend(picture: Picture, top: float, is_plain: bool) -> tuple[list[Markup], float]:
    """The legend below the picture, and the height of the whole drawing."""
    if is_plain:
        return _states(top, picture.points), top + 10.0
    seen = {point.owner for point in picture.points} | {shadow.owner for shadow in picture.shadows}
    keys = [(short(name, LONGEST_KEY), k) for k, name in enumerate(picture.classes[:N_STYLES])]
    if -1 in seen or len(picture.classes) > N_STYLES:
        keys.append(("other labels", -1))
    step = max(64.0, LETTER * max(len(name) for name, _ in keys) + 30.0)
    n_columns = max(1, int((PLOT_AREA["right"] - PLOT_AREA["left"]) // step))
    drawn = []
    for i, (name, owner) in enumerate(keys):
        x, y = PLOT_AREA["left"] + step * (i % n_columns), top + 18.0 * (i // n_columns)
        drawn.append(tag("path", d=mark(_shape(owner), x + 6, y - 4, 4.0), class_=f"mark {colour_of(owner)}"))
        drawn.append(text_at(name, x + 16, y, class_="note"))
    y = top + 18.0 * ((len(keys) - 1) // n_columns) + 24.0
    return [*drawn, *_states(y, picture.points)], y + 10.0


def _states(y: float, points: tuple[Point, ...]) -> list[Markup]:
    """The part of the legend that explains filled, hollow and crossed marks."""
    left = PLOT_AREA["left"]
    drawn = [
        tag("path", d=mark(0, left + 6, y - 4, 4.0), class_="mark k-other"),
        text_at("accepted", left + 16, y, class_="note"),
        tag("path", d=mark(0, left + 96, y - 4, 4.0), class_="mark k-other hollow"),
        text_at("not accepted", left + 106, y, class_="note"),
    ]
    if any(point.right is False for point in points):
        drawn.append(tag("path", d=_cross(left + 216, y - 4, CROSS), class_="cross"))
        drawn.append(text_at("wrong label", left + 226, y, class_="note"))
    return drawn


def colour_of(owner: int) -> str:
    """The CSS class with the colour of the class at this position; -1 is any other class."""
    return f"k{owner % N_COLOURS}" if 0 <= owner < N_STYLES else "k-other"


def _shape(owner: int) -> int:
    return owner % len(SHAPES) if 0 <= owner < N_STYLES else 0


CURVE_WIDTH, CURVE_HEIGHT = 330.0, 226.0
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
    plot = PlotArea(start, end, low - foot, high, 46.0, CURVE_WIDTH - 8.0, 8.0, CURVE_HEIGHT - 42.0)
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
        f"curve-{i}",
        f"What {curve.name} adds",
        description,
        CURVE_WIDTH,
        CURVE_HEIGHT,
        axes,
        _foot(plot, curve),
        drawn,
        line,
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
        box = tag("rect", x=0, y=number(top), width=number(CURVE_WIDTH), height=number(bottom - top))
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
