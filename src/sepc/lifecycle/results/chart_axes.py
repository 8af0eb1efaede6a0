"""Charts of results on matplotlib axes."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from sepc.lifecycle.results.charts import BarChart, Chart, Pair, PairChart, left_out
from sepc.plot.canvas import axes_or_new, for_matplotlib
from sepc.plot.palette import COLOURS, WRONG, WRONG_HATCH
from sepc.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Sizes in inches.
WIDTH, PER_ENTRY, AROUND = 7.0, 0.5, 1.3
# Names are at most this long, on lines of this length.
LONGEST_NAME, LINE = 76, 38


def draw(chart: Chart, ax: Axes | None) -> Axes:
    """Draw on the given axes, or on a new figure; an empty chart says that there is nothing to show."""
    ax = axes_or_new(ax, (WIDTH, AROUND + PER_ENTRY * max(len(chart.shown), 1)))
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
    texts = [for_matplotlib(text, LONGEST_NAME) for text in (pair.name, pair.note) if text]
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
