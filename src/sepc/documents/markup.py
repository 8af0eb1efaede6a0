"""Elements of HTML and SVG, escaped here and nowhere else, and charts as SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from typing import Any

import numpy as np

from sepc.documents.charts import (
    N_COLOURS,
    N_STYLES,
    SHAPES,
    Area,
    Axis,
    Bars,
    Chart,
    Line,
    Linked,
    Look,
    Mark,
    Oval,
    Points,
    Words,
)
from sepc.wording import short, visible

ATTRIBUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
# Elements without content or end.
VOID = {"meta", "br", "input"}


class Markup(str):
    """Text that is already markup, which `tag` and `join` do not escape; any other operation returns plain text."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element."""
    opening = f"<{name}{''.join(_attribute(*pair) for pair in attributes.items())}>"
    return Markup(opening if name in VOID else f"{opening}{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """Children one after another."""
    return Markup("".join(map(_inside, children)))


def _inside(child: Any) -> str:
    if isinstance(child, Markup):
        return child
    if child is None:
        return ""
    if not isinstance(child, str) and isinstance(child, Iterable):
        return join(child)
    # No line break between a number and its percent sign.
    return escape(visible(str(child))).replace(" %", "\u00a0%")


@cache
def _attribute_name(name: str) -> str:
    name = name.rstrip("_").replace("_", "-")
    if not ATTRIBUTE.fullmatch(name) or name.startswith("on"):
        raise ValueError(f"{name!r} is not an attribute that a report may have.")
    return name


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = _attribute_name(name)
    if value is True:
        return f" {name}"
    if name == "href" and not str(value).startswith("#"):
        raise ValueError(f"A report links to its own sections only, not to {value!r}.")
    return f' {name}="{escape(visible(str(value)))}"'


# Drawings are scaled within this range; on a narrower screen they scroll, so that text stays readable.
SMALLEST, LARGEST = 0.72, 1.25
# The approximate width of a letter, and the space of a legend's line, in units of the drawing.
LETTER, LEGEND = 6.4, 18.0
LONGEST_KEY, LONGEST_TICK, LONGEST_AXIS = 22, 14, 70
# Where there are many crosses, they are smaller.
CROSS, MANY_CROSSES = 4.2, 100
# Of a chart of entries: its width, the height of an entry and of its note, and where in an entry its marks are.
ROWS_WIDTH, STEP, NOTE, MIDDLE = 400.0, 40.0, 15.0, 27.0
# Marks may reach over the edge of the plot by this much.
OVER = 7.0


def svg(chart: Chart) -> Markup:
    """The chart as a drawing, with a title and a description for screen readers."""
    legend, top = _legend(chart)
    chart, frame = _placed(chart, top)
    grows = any(isinstance(mark, Linked) for mark in chart.marks)
    area = f"{chart.name}-area"
    corner = {"x": _n(frame.left - OVER), "y": _n(frame.top - OVER)}
    size = {"width": _n(frame.right - frame.left + 2 * OVER), "height": _n(frame.bottom - frame.top + 2 * OVER)}
    drawn = tag("g", (frame.draw(mark) for mark in chart.marks), clip_path=f"url(#{area})", class_="drawn")
    height = frame.bottom + (20.0 if not chart.x.name else 42.0)
    return tag(
        "svg",
        tag("title", chart.title, id=f"{chart.name}-title"),
        tag("desc", chart.description, id=f"{chart.name}-desc"),
        tag("defs", tag("clipPath", tag("rect", **corner, **size), id=area), _hatch(chart)),
        frame.grid(chart),
        legend,
        drawn,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_n(chart.width)} {_n(height)}",
        role="group" if grows else "img",
        aria_labelledby=f"{chart.name}-title {chart.name}-desc",
        style=f"min-width:{_n(SMALLEST * chart.width)}px;max-width:{_n(LARGEST * chart.width)}px",
    )


def _placed(chart: Chart, top: float) -> tuple[Chart, _Frame]:
    """The chart at its size, and its frame."""
    if chart.rows is None:
        widest = max((len(short(text, LONGEST_TICK)) for _, text in chart.y.marked()), default=0)
        left = (20.0 if chart.y.name else 4.0) + LETTER * widest + 8.0
        return chart, _Frame(chart, chart.x, chart.y, left, chart.width - 20.0, top, top + chart.height - 70.0)
    step, n = STEP + NOTE * any(note for _, note in chart.rows), len(chart.rows)
    shift = (MIDDLE + step - STEP) / step
    chart = replace(chart, width=ROWS_WIDTH, height=step * n)
    y = Axis("", -shift, n - shift, ticks=())
    # From the top: the first entry is at 0.
    y = replace(y, low=y.high, high=y.low)
    return chart, _Frame(chart, chart.x, y, 16.0, ROWS_WIDTH - 24.0, top, top + chart.height)


def _n(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


def _style(look: Look) -> str:
    """The CSS class with the colour of a look."""
    if isinstance(look, str):
        return f"k-{look}"
    return f"k{look % N_COLOURS}" if 0 <= look < N_STYLES else "k-other"


def _hatch(chart: Chart) -> Markup | None:
    """A pattern of slanted lines, so that wrong rows stand out without colour too."""
    if not any(isinstance(mark, Bars) and mark.is_hatched for mark in chart.marks):
        return None
    parts = (tag("rect", width=5, height=5, class_="hatch-under"), tag("line", y2=5, class_="hatch-line"))
    size = {"width": 5, "height": 5, "patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45)"}
    return tag("pattern", parts, id=f"{chart.name}-hatch", **size)


def _text(text: str, x: float, y: float, anchor: str = "start", class_: str = "tick", **more: Any) -> Markup:
    return tag("text", text, x=_n(x), y=_n(y), text_anchor=anchor, class_=class_, **more)


def _shape(mark: Points) -> str:
    if mark.shape:
        return mark.shape
    return SHAPES[mark.look % len(SHAPES)] if isinstance(mark.look, int) and 0 <= mark.look < N_STYLES else "circle"


def _outline(shape: str, x: float, y: float, r: float) -> str:
    """A mark as part of an SVG path."""
    at = f"M{_n(x)} {_n(y)}"
    if shape == "circle":
        return f"{at}m-{r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0-{2 * r} 0z"
    if shape == "square":
        return f"{at}m-{0.88 * r:.2g}-{0.88 * r:.2g}h{1.76 * r:.2g}v{1.76 * r:.2g}h-{1.76 * r:.2g}z"
    if shape == "triangle":
        return f"{at}m0-{1.25 * r:.2g}l{1.15 * r:.2g} {2.05 * r:.2g}h-{2.3 * r:.2g}z"
    if shape == "cross":
        return f"M{_n(x - r)} {_n(y - r)}l{_n(2 * r)} {_n(2 * r)}m0-{_n(2 * r)}l-{_n(2 * r)} {_n(2 * r)}"
    a = f"{1.3 * r:.2g}"
    return f"{at}m0-{a}l{a} {a}-{a} {a}-{a}-{a}z"


def _legend(chart: Chart) -> tuple[list[Markup], float]:
    """The legend above the chart, and where the chart begins."""
    keyed = chart.keyed
    if not keyed:
        return [], 14.0
    longest = max(LONGEST_KEY, int((chart.width / len(keyed) - 40.0) / LETTER))
    step = LETTER * max(len(short(mark.key, longest)) for mark in keyed) + 34.0
    n_columns = max(1, int((chart.width - 24.0) // step))
    drawn: list[Markup] = []
    for i, mark in enumerate(keyed):
        x, y = 16.0 + step * (i % n_columns), 12.0 + LEGEND * (i // n_columns)
        frame = _Frame(chart, Axis(), Axis(), x, x + 12.0, y - 6.0, y + 6.0)
        sample: Mark
        if isinstance(mark, Points):
            sample = replace(mark, x=[0.5], y=[0.5], size=max(mark.size, 4.0), texts=())
        elif isinstance(mark, Bars):
            sample = replace(mark, boxes=[(0.0, 1.0, 0.0, 1.0)], texts=(), shades=())
        else:
            sample = replace(mark, x=[0.0, 1.0], y=[0.5, 0.5])
        drawn += [frame.draw(sample), _text(short(mark.key, longest), x + 18.0, y + 4.0, class_="note")]
    return drawn, 20.0 + LEGEND * (1 + (len(keyed) - 1) // n_columns)


@dataclass(frozen=True)
class _Frame:
    """The area of a chart, and the map from units of the data to units of the drawing."""

    chart: Chart
    across: Axis
    up: Axis
    left: float
    right: float
    top: float
    bottom: float

    def x(self, value: float) -> float:
        return self.left + (value - self.across.low) / (self.across.high - self.across.low) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.bottom - (value - self.up.low) / (self.up.high - self.up.low) * (self.bottom - self.top)

    def grid(self, chart: Chart) -> list[Markup]:
        """The axes with their names, a faint line at every tick, and the names of entries."""
        sides = {"width": _n(self.right - self.left), "height": _n(self.bottom - self.top)}
        drawn = [tag("rect", x=_n(self.left), y=_n(self.top), **sides, class_="frame")]
        marked, middle = self.across.marked(), (self.top + self.bottom) / 2
        letters = max(2, int((self.right - self.left) / max(len(marked), 1) / LETTER))
        for value, text in marked:
            at = _n(self.x(value))
            drawn.append(tag("line", x1=at, x2=at, y1=_n(self.top), y2=_n(self.bottom), class_="grid"))
            drawn.append(_text(short(text, letters), self.x(value), self.bottom + 16, "middle"))
        for value, text in self.up.marked():
            at = _n(self.y(value))
            drawn.append(tag("line", x1=_n(self.left), x2=_n(self.right), y1=at, y2=at, class_="grid"))
            drawn.append(_text(short(text, LONGEST_TICK), self.left - 6, self.y(value) + 4, "end"))
        for i, (name, note) in enumerate(chart.rows or ()):
            y, longest = self.y(i) - 14.0, int((ROWS_WIDTH - 16.0) / LETTER)
            drawn.append(_text(short(name, longest), self.left, y - (NOTE if note else 0.0), class_="note"))
            drawn += [_text(short(note, longest), self.left, y)] if note else []
        name = short(self.across.name, min(LONGEST_AXIS, int((chart.width - 24.0) / LETTER)))
        drawn.append(_text(name, (self.left + self.right) / 2, self.bottom + 34, "middle", "axis"))
        turned = f"rotate(-90 12 {_n(middle)})"
        longest = min(LONGEST_AXIS, int((self.bottom - self.top) / LETTER) + 4)
        return [*drawn, _text(short(self.up.name, longest), 12, middle, "middle", "axis", transform=turned)]

    def draw(self, mark: Mark) -> Markup:
        """A mark."""
        match mark:
            case Line():
                kind = f"line {_style(mark.look)}{' dashed' if mark.is_dashed else ''}"
                width = None if mark.width == Line.width else mark.width
                return tag("polyline", points=self._points(mark.x, mark.y), class_=kind, stroke_width=width)
            case Area():
                ends = self._points([mark.x[0], *mark.x, mark.x[-1]], [0.0, *mark.y, 0.0])
                return tag("polygon", points=ends, class_=f"area {_style(mark.look)}")
            case Bars():
                return tag("g", self._bars(mark), class_=f"bars {_style(mark.look)}")
            case Points():
                return self._marks(mark)
            case Oval():
                drawn = self._oval(mark)
                return tag("defs", drawn) if mark.is_hidden else drawn
            case Words():
                return _text(mark.text, self.x(mark.x), self.y(mark.y) + 4, mark.anchor, mark.look)
            case Linked():
                lead: dict[str, Any] = {"href": f"#{mark.to}"}
                inner = tag("a", tag("title", mark.text), map(self.draw, mark.marks), **lead, tabindex=-1)
                outline = [
                    tag("use", href=f"#{one}") if isinstance(one, str) else self.draw(one) for one in mark.outline
                ]
                back = tag("a", outline, **lead, aria_label=f"{mark.text}: back to the table", class_="outline")
                return tag("g", inner, back, id=mark.id, class_=mark.kind)

    def _points(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{_n(self.x(x))},{_n(self.y(y))}" for x, y in zip(xs, ys, strict=True))

    def _bars(self, bars: Bars) -> Iterable[Markup]:
        texts = bars.texts or [""] * len(bars.boxes)
        shades: Sequence[float | None] = bars.shades or [None] * len(bars.boxes)
        fill = f"url(#{self.chart.name}-hatch)" if bars.is_hatched else None
        for (left, right, low, high), text, shade in zip(bars.boxes, texts, shades, strict=True):
            (start, end), (top, foot) = sorted(map(self.x, (left, right))), sorted(map(self.y, (low, high)))
            if left == right or low == high:
                continue
            # Even a single row is visible.
            size = {"width": _n(max(end - start, 1.5)), "height": _n(max(foot - top, 1.5))}
            top = min(top, foot - 1.5)
            title = tag("title", text) if text else None
            opacity = None if shade is None else f"{shade:.3f}"
            yield tag("rect", title, x=_n(start), y=_n(top), **size, fill=fill, fill_opacity=opacity)

    def _marks(self, mark: Points) -> Markup:
        """One path for all marks that have no text of their own."""
        shape, places = _shape(mark), list(zip(map(self.x, mark.x), map(self.y, mark.y), strict=True))
        size = mark.size if shape != "cross" or len(places) <= MANY_CROSSES else 0.65 * mark.size
        kind = "cross" if shape == "cross" else f"mark {_style(mark.look)}{' hollow' if mark.is_hollow else ''}"
        if not mark.texts:
            return tag("path", d="".join(_outline(shape, x, y, size) for x, y in places), class_=kind)
        each = zip(places, mark.texts, strict=True)
        return join(
            tag("path", tag("title", text), d=_outline(shape, *place, size), class_=kind) for place, text in each
        )

    def _oval(self, oval: Oval) -> Markup:
        """The ellipse in units of the drawing, where it may be stretched and turned."""
        wide = (self.right - self.left) / (self.across.high - self.across.low)
        tall = -(self.bottom - self.top) / (self.up.high - self.up.low)
        directions, lengths, _ = np.linalg.svd(np.array([[wide], [tall]]) * np.reshape(oval.axes, (2, 2)))
        angle = math.degrees(math.atan2(directions[1, 0], directions[0, 0]))
        x, y = _n(self.x(oval.center[0])), _n(self.y(oval.center[1]))
        return tag(
            "ellipse",
            tag("title", oval.text) if oval.text else None,
            id=oval.id or None,
            cx=x,
            cy=y,
            rx=_n(max(lengths[0], 0.5)),
            ry=_n(max(lengths[1], 0.5)),
            transform=f"rotate({_n(angle)} {x} {y})",
            class_=f"oval {_style(oval.look)}{' dashed' if oval.is_dashed else ''}",
            style=f"--fill:{oval.fill:.3f};--stroke:{oval.stroke:.2f}",
        )
