"""Charts of what counts: a curve for each feature, a bar for each ellipsoid."""

from __future__ import annotations

from sepc.reporting.markup import Markup, tag
from sepc.reporting.partition_chart import colour_of
from sepc.reporting.svg import Frame, drawing, number, tick_text, ticks, words
from sepc.reporting.what_counts import FeatureCurve, WhatCounts
from sepc.wording import counted, short

WIDTH, HEIGHT = 330.0, 226.0
# The share of a chart, at its foot, that shows where rows lie.
FOOT = 0.17
# Of a feature with more values than this, not every value is written.
MOST_WRITTEN = 8
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
    frame = Frame(start, end, low - foot, high, 46.0, WIDTH - 8.0, 8.0, HEIGHT - 42.0)
    written = None
    if curve.is_discrete:
        written = [(k, tick_text(curve.x[k], False)) for k in range(0, n, 1 + (n - 1) // MOST_WRITTEN)]
    axes = frame.axes(short(curve.name, LONGEST_AXIS), "log-odds", x_ticks=written, y_least=low, about=4)
    drawn = _bars(frame, curve, weights) if curve.is_discrete else _area(i, frame, curve, weights)
    zero = number(frame.y(0.0))
    line = tag("line", x1=number(frame.left), x2=number(frame.right), y1=zero, y2=zero, class_="zero")
    least, most = min(range(n), key=lambda k: curve.term[k]), max(range(n), key=lambda k: curve.term[k])
    told = (
        f"From {curve.term[least]:+.2f} at {curve.x[least]:.4g} to {curve.term[most]:+.2f} at {curve.x[most]:.4g}; "
        "at the foot, where the held-out rows lie."
    )
    return drawing(f"curve-{i}", f"What {curve.name} adds", told, WIDTH, HEIGHT, axes, _foot(frame, curve), drawn, line)


def _bars(frame: Frame, curve: FeatureCurve, weights: WhatCounts) -> list[Markup]:
    """A bar for each value."""
    bars = []
    for k, (value, term) in enumerate(zip(curve.x, curve.term, strict=True)):
        colour = colour_of(weights.positions[0 if term > 0.0 else 1])
        title = tag("title", f"{value:.6g}: {term:+.2f}, {counted(curve.n_rows[k], 'row')}")
        bars.append(_rect(frame, (k - 0.4, k + 0.4), (min(term, 0.0), max(term, 0.0)), f"term {colour}", title))
    return bars


def _area(i: int, frame: Frame, curve: FeatureCurve, weights: WhatCounts) -> list[Markup]:
    """The curve, and what is between it and zero, coloured above and below."""
    zero = frame.y(0.0)
    points = " ".join(f"{number(frame.x(x))},{number(frame.y(y))}" for x, y in zip(curve.x, curve.term, strict=True))
    path = f"M{number(frame.left)},{number(zero)} {points} {number(frame.right)},{number(zero)}z"
    sides = {"for": (frame.top, zero), "against": (zero, frame.bottom)}
    parts = []
    for (side, (top, bottom)), position in zip(sides.items(), weights.positions, strict=True):
        name = f"curve-{i}-{side}"
        box = tag("rect", x=0, y=number(top), width=number(WIDTH), height=number(bottom - top))
        parts.append(tag("defs", tag("clipPath", box, id=name)))
        parts.append(tag("path", d=path, class_=f"area {colour_of(position)}", clip_path=f"url(#{name})"))
    return [*parts, frame.line(curve.x, curve.term, "term-line")]


def _foot(frame: Frame, curve: FeatureCurve) -> list[Markup]:
    """Where rows lie."""
    most, unit = max(curve.n_rows), 0.85 * FOOT * (frame.y_to - frame.y_from)
    edges = [(k - 0.4, k + 0.4) for k in range(len(curve.x))]
    if not curve.is_discrete:
        edges = list(zip(curve.edges[:-1], curve.edges[1:], strict=True))
    return [
        _rect(frame, (max(left, frame.x_from), right), (frame.y_from, frame.y_from + unit * n / most), "density")
        for (left, right), n in zip(edges, curve.n_rows, strict=True)
        if n
    ]


def ellipsoid_chart(weights: WhatCounts) -> Markup | None:
    """What lying in an ellipsoid adds; None if there is no ellipsoid."""
    shown = weights.ellipsoids
    if not shown:
        return None
    top, step = 8.0, 22.0
    bottom = top + step * len(shown)
    ends = [0.0, *(one.inside for one in shown)]
    ends += [end for one in shown for end in (one.low, one.high) if end is not None]
    room = 0.04 * (max(ends) - min(ends)) or 0.1
    frame = Frame(min(ends) - room, max(ends) + room, 0.0, 1.0, 172.0, 468.0, top, bottom)
    parts = [frame.area(class_="frame")]
    for value in ticks(frame.x_from, frame.x_to):
        x = number(frame.x(value))
        parts.append(tag("line", x1=x, x2=x, y1=number(top), y2=number(bottom), class_="grid"))
        parts.append(words(tick_text(value, False), frame.x(value), bottom + 16, "middle"))
    for i, one in enumerate(shown):
        y = top + step * i
        name = f"ellipsoid {one.number} of {weights.classes[one.owner]}"
        wide = "" if one.low is None else f"; nine in ten rows between {one.low:+.2f} and {one.high:+.2f}"
        left, right = sorted((frame.x(0.0), frame.x(one.inside)))
        sides = {"x": number(left), "y": number(y + 4), "width": number(max(right - left, 0.5)), "height": step - 8}
        parts.append(tag("rect", tag("title", f"{name}: {one.inside:+.2f}{wide}"), class_=_own(one.owner), **sides))
        if one.low is not None and one.high is not None:
            line = {"x1": number(frame.x(one.low)), "x2": number(frame.x(one.high))}
            line |= {"y1": number(y + step / 2), "y2": number(y + step / 2)}
            parts += [tag("line", class_="under", **line), tag("line", class_="most", **line)]
        parts.append(words(short(name, 26), frame.left - 8, y + step / 2 + 4, "end", "note"))
    zero = number(frame.x(0.0))
    parts.append(tag("line", x1=zero, x2=zero, y1=number(top), y2=number(bottom), class_="zero"))
    middle = (frame.left + frame.right) / 2
    parts.append(
        words("log-odds that lying inside adds; line: 90 % of all rows", middle, bottom + 34, "middle", "axis")
    )
    told = f"{len(shown)} of {weights.n_ellipsoids:,} ellipsoids, that with the largest terms first."
    return drawing("weights", "Ellipsoids by weight", told, 480, bottom + 42, parts)


def _own(owner: int) -> str:
    return f"term {colour_of(owner)}"


def _rect(frame: Frame, across: tuple[float, float], up: tuple[float, float], class_: str, *children: Markup) -> Markup:
    """A rectangle between two places across and two up, in units of the data."""
    left, right = frame.x(across[0]), frame.x(across[1])
    bottom, top = frame.y(up[0]), frame.y(up[1])
    sides = {"x": number(left), "y": number(top), "width": number(right - left)}
    return tag("rect", *children, class_=class_, height=number(max(bottom - top, 0.5)), **sides)
