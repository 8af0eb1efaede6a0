"""A chart as plain data: axes and marks, in the units of the axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sepc.wording import percent

# A class, by its position, or one of these: accent, wrong, right, ink, quiet, other.
Look: TypeAlias = int | str

# Seven colours, four shapes and three dashes: 28 classes differ in colour or shape, 21 in colour or dashes.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6a00")
NAMED = {
    "accent": "#0072b2",
    "wrong": "#d55e00",
    "right": "#56b4e9",
    "ink": "#1b1f24",
    "quiet": "#57606a",
    "other": "#6e7781",
}
SHAPES = ("circle", "square", "triangle", "diamond")
N_COLOURS, N_STYLES = len(COLOURS), len(COLOURS) * len(SHAPES)


@dataclass(frozen=True)
class Axis:
    """The name of an axis, its ends (from the top, if `low` is above `high`), and its ticks; round numbers by default.

    Shares are written in percent.
    """

    name: str = ""
    low: float = 0.0
    high: float = 1.0
    is_share: bool = False
    ticks: Sequence[tuple[float, str]] | None = None
    least: float = -math.inf

    def marked(self, about: int = 5) -> Sequence[tuple[float, str]]:
        """The ticks with their texts."""
        if self.ticks is not None:
            return self.ticks
        found = ticks(max(self.low, self.least), self.high, about)
        return [(value, tick_text(value, self.is_share)) for value in found]


def ticks(start: float, end: float, about: int = 5) -> list[float]:
    """Round numbers from `start` to `end`."""
    raw = (end - start) / about
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * size >= 0.999 * raw)
    first, last = math.ceil(start / step - 1e-9), math.floor(end / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


def tick_text(value: float, share: bool = False) -> str:
    """A tick as text."""
    if share:
        return percent(round(value, 9), 3)
    return f"{value:,.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.4g}"


@dataclass(frozen=True)
class Line:
    """A line through points; with a `key`, it is in the legend. A series takes the next look on axes with another."""

    x: Sequence[float]
    y: Sequence[float]
    look: Look = "ink"
    key: str = ""
    is_dashed: bool = False
    width: float = 1.5
    is_series: bool = False


@dataclass(frozen=True)
class Area:
    """What lies between a curve and zero."""

    x: Sequence[float]
    y: Sequence[float]
    look: Look


@dataclass(frozen=True)
class Bars:
    """Rectangles, as left, right, low and high; `texts` say what each is, `shades` are opacities."""

    boxes: Sequence[tuple[float, float, float, float]]
    look: Look
    key: str = ""
    texts: Sequence[str] = ()
    shades: Sequence[float] = ()
    is_hatched: bool = False


@dataclass(frozen=True)
class Points:
    """Marks in the shape of their look; `texts` say what each is."""

    x: Sequence[float]
    y: Sequence[float]
    look: Look = "accent"
    key: str = ""
    is_hollow: bool = False
    shape: str = ""
    size: float = 2.6
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Oval:
    """All ``center + axes @ u`` with u in the unit circle; `axes` row by row. A hidden one shows only if linked."""

    center: Sequence[float]
    axes: Sequence[float]
    look: Look
    text: str = ""
    id: str = ""
    fill: float = 0.07
    stroke: float = 0.9
    width: float = 1.3
    is_dashed: bool = False
    is_hidden: bool = False


@dataclass(frozen=True)
class Words:
    """A text at a point."""

    x: float
    y: float
    text: str
    look: str = "note"
    anchor: str = "middle"


@dataclass(frozen=True)
class Linked:
    """Marks that lead to a place in the document; `outline` is drawn while a link leads to the marks."""

    id: str
    to: str
    text: str
    marks: Sequence[Mark]
    outline: Sequence[Mark | str]
    kind: str


Mark: TypeAlias = Line | Area | Bars | Points | Oval | Words | Linked


@dataclass(frozen=True)
class Chart:
    """A chart; `rows`, names with notes, make it a chart of entries from top to bottom, at 0, 1, 2 and so on."""

    name: str
    title: str
    description: str
    x: Axis
    y: Axis
    marks: Sequence[Mark]
    width: float = 480.0
    height: float = 312.0
    rows: Sequence[tuple[str, str]] | None = None

    @property
    def keyed(self) -> list[Line | Points | Bars]:
        """The marks that are in the legend."""
        inner = (some.marks if isinstance(some, Linked) else [some] for some in self.marks)
        found: dict[str, Line | Points | Bars] = {}
        for mark in (one for some in inner for one in some):
            if isinstance(mark, Line | Points | Bars) and mark.key:
                found.setdefault(mark.key, mark)
        return list(found.values())
