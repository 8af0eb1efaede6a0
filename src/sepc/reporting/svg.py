"""The building blocks of charts: a plot area with axes, text, and marks that differ in shape as well as colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sepc.reporting.markup import Markup, tag
from sepc.wording import percent

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
        """The axes with their names, and a faint line at every tick; `shares` are written as percentages.

        `x_ticks` replaces the ticks of the x axis, and no tick of the y axis lies below `y_least`.
        """
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
