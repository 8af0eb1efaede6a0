"""Result: what audits, repairs, monitors and reviews share: a summary, a table, a picture and a page."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sepc.cards import NUMBER, Card
from sepc.io.atomic_files import write_whole
from sepc.plot.axes import COLOURS, WRONG, WRONG_HATCH, axes_or_new, for_matplotlib
from sepc.reporting.svg import LETTER, PlotArea, drawing, hatch, number, text_at, tick_text, ticks
from sepc.reporting.tables import Markup, PageTable, ResultPage, tag
from sepc.wording import percent, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Charts show at most this many entries, the first of those given.
MOST_SHOWN = 20


@dataclass(frozen=True)
class Pair:
    """Two values of the same thing, such as a rate before and now; `note` says more about it."""

    name: str
    first: float
    second: float
    note: str = ""

    @property
    def name_and_note(self) -> str:
        """The name, followed by the note if there is one."""
        return f"{self.name}: {self.note}" if self.note else self.name


@dataclass(frozen=True)
class Entries:
    """What every chart has: entries of two values each."""

    title: str
    axis: str
    keys: tuple[str, str]
    pairs: Sequence[Pair]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def shown(self) -> Sequence[Pair]:
        """The entries that are shown, at most `MOST_SHOWN`."""
        return self.pairs[:MOST_SHOWN]


@dataclass(frozen=True)
class PairChart(Entries):
    """Two marks on one line for every pair, joined: the first hollow, the second filled."""

    is_share: bool = True

    @property
    def largest(self) -> float:
        """The largest value shown."""
        return max(max(pair.first, pair.second) for pair in self.shown)


@dataclass(frozen=True)
class BarChart(Entries):
    """Bars of two parts for every entry, such as right and wrong labels; the first part plain, the second hatched."""

    @property
    def largest(self) -> float:
        """The length of the longest bar shown."""
        return max(pair.first + pair.second for pair in self.shown)


Chart = PairChart | BarChart


def left_out(chart: Chart) -> str:
    """How many entries are not shown, as a sentence; empty if all are."""
    n_more = len(chart) - len(chart.shown)
    return f"{n_more:,} more in the table." if n_more else ""


# Narrow, so that text is large enough on a phone.
SVG_WIDTH, LEFT, RIGHT = 400.0, 16.0, 376.0
# Space for the keys at the top and for the axis at the bottom; the height of an entry, and of its note.
TOP, BELOW, STEP, NOTE = 34.0, 42.0, 40.0, 15.0
LONGEST_SVG_NAME = int((SVG_WIDTH - LEFT) / LETTER)
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
    return drawing("result", chart.title, description, SVG_WIDTH, bottom + BELOW, *parts)


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
    name = text_at(short(pair.name, LONGEST_SVG_NAME), plot.left, y + 13, "start", "note")
    note = text_at(short(pair.note, LONGEST_SVG_NAME), plot.left, y + 13 + NOTE, "start") if pair.note else None
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


# Sizes in inches.
FIGURE_WIDTH, PER_ENTRY, AROUND = 7.0, 0.5, 1.3
# Names are at most this long, on lines of this length.
LONGEST_FIGURE_NAME, LINE = 76, 38


def draw(chart: Chart, ax: Axes | None) -> Axes:
    """Draw on the given axes, or on a new figure; an empty chart says that there is nothing to show."""
    ax = axes_or_new(ax, (FIGURE_WIDTH, AROUND + PER_ENTRY * max(len(chart.shown), 1)))
    ax.set_title(for_matplotlib(chart.title, 60), loc="left", fontsize="medium", pad=22.0)
    if not len(chart):
        ax.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return ax
    if isinstance(chart, PairChart):
        _draw_pairs(chart, ax)
    else:
        _draw_bars(chart, ax)
    names = ["\n".join(_lines(pair)) for pair in chart.shown]
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlim(-0.02 * chart.largest, chart.largest * 1.05 or 1.0)
    ax.set_xlabel(" ".join(part for part in (chart.axis, left_out(chart)) if part))
    ax.grid(axis="x", alpha=0.3)
    above: dict[str, Any] = {
        "loc": "lower right",
        "bbox_to_anchor": (1.0, 1.0),
        "ncols": 2,
        "borderaxespad": 0.2,
        "frameon": False,
    }
    ax.legend(fontsize="small", **above)
    return ax


def _lines(pair: Pair) -> list[str]:
    """Name and note of an entry, on lines of their own."""
    texts = [for_matplotlib(text, LONGEST_FIGURE_NAME) for text in (pair.name, pair.note) if text]
    return [line for text in texts for line in textwrap.wrap(text, LINE)]


def _draw_pairs(chart: PairChart, ax: Axes) -> None:
    places = range(len(chart.shown))
    first, second = [pair.first for pair in chart.shown], [pair.second for pair in chart.shown]
    colour = COLOURS[0]
    ax.hlines(places, first, second, color=colour, linewidth=1.5, zorder=1)
    ax.scatter(first, places, s=42, facecolors="white", edgecolors="black", label=chart.keys[0], zorder=2)
    ax.scatter(second, places, s=46, color=colour, label=chart.keys[1], zorder=3)
    if chart.is_share:
        ax.xaxis.set_major_formatter(lambda share, _: percent(round(share, 9), 3) if share > -1e-9 else "")


def _draw_bars(chart: BarChart, ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    first, second = [pair.first for pair in chart.shown], [pair.second for pair in chart.shown]
    ax.barh(range(len(first)), first, height=0.6, color=COLOURS[0], label=chart.keys[0])
    # A part of no rows would still show its edge.
    edges = [1.0 if size else 0.0 for size in second]
    style: dict[str, Any] = {"facecolor": "white", "edgecolor": WRONG, "hatch": WRONG_HATCH, "linewidth": edges}
    ax.barh(range(len(first)), second, height=0.6, left=first, label=chart.keys[1], **style)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


class Result:
    """Mixin for results with a `summary`, a card and a chart: it adds a picture and a page."""

    __slots__ = ()

    def summary(self) -> str:
        """The result in words; the first line says what matters most."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result with matplotlib.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default those of a new figure.

        Returns
        -------
        matplotlib axes
        """
        return draw(self._chart(), ax)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as one HTML page that needs no other file, no network and no script.

        Parameters
        ----------
        path : path, optional
            Where to write the page; an existing file is replaced.

        Returns
        -------
        str
            The page.
        """
        chart, card = self._chart(), self._card()
        made = ResultPage(
            title=self._page_title(),
            verdict=self.summary().splitlines()[0],
            facts=card.facts,
            picture=svg_of(chart) if len(chart) else None,
            caption=" ".join(part for part in (f"{chart.title}.", left_out(chart)) if part),
            tables=self._tables(),
            notes=self._notes(),
        )
        text = made.html()
        if path is not None:
            write_whole(path, text.encode())
        return text

    def _card(self) -> Card:
        raise NotImplementedError

    def _chart(self) -> Chart:
        raise NotImplementedError

    def _page_title(self) -> str:
        return type(self).__name__

    def _tables(self) -> Sequence[PageTable]:
        """The tables of the page; by default that of the card."""
        card = self._card()
        return [table_of(card.head, card.rows, card.title)] if card.rows else []

    def _notes(self) -> Sequence[str]:
        """What follows from the result, a paragraph each."""
        return ()


def table_of(
    head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, reasons: Sequence[str] = ()
) -> PageTable:
    """A table of a page in which columns that hold nothing but numbers are aligned on the right."""
    columns = zip(head, zip(*rows, strict=True), strict=True)
    numbers = [name for name, cells in columns if all(NUMBER.fullmatch(cell) for cell in cells)]
    return PageTable(caption, head, rows, numbers, reasons)
