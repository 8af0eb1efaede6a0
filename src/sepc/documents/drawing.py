"""Charts drawn with matplotlib, which is imported only when it is needed."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.documents.charts import (
    COLOURS,
    N_STYLES,
    NAMED,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The longest name that fits along an axis of the usual size, and elsewhere in a plot.
ALONG_AXIS, LONGEST = 48, 36
# The title of a chart, and the names of entries, at most this long and on lines of this length.
LONGEST_TITLE, LONGEST_ROW, ROW_LINE = 76, 60, 60
# The width of a chart of entries, the height of an entry and of everything else, in inches; units of others per inch.
ROWS_WIDTH, PER_ROW, AROUND, PER_INCH = 7.0, 0.5, 1.3, 75.0
# With more keys than this, a legend is beside the axes.
MOST_INSIDE = 4
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "x"}
DASHES = ("-", "--", "-.")
HATCH = "////"
# Names of ticks stand upright if together they have more letters than this.
LETTERS_ALONG = 48


def pyplot() -> Any:
    """The module `matplotlib.pyplot`, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'sepc[plot]'", name=error.name) from error
    return plt


def for_matplotlib(name: Any, longest: int = LONGEST) -> str:
    r"""A user's name as one short line that matplotlib shows as it is, neither as a formula nor hidden in a legend."""
    # Characters that no font can show become spaces.
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in visible(str(name))).split())
    # Matplotlib reads text between dollar signs as a formula, and omits names that start with "_" from legends.
    text = short(text, longest).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def colour(look: Look) -> str:
    """The colour of a look."""
    if isinstance(look, str):
        return NAMED[look]
    return COLOURS[look % len(COLOURS)] if 0 <= look < N_STYLES else NAMED["other"]


def n_drawn(chart: str, ax: Axes | None) -> int:
    """How many charts of this name are drawn on these axes."""
    return 0 if ax is None else sum(line.get_gid() == chart for line in ax.get_lines())


def draw(chart: Chart, ax: Axes | None = None) -> Axes:
    """Draw a chart on the given axes, or on a new figure; one of the same name as before is added to it."""
    plt = pyplot()
    is_own, before = ax is None, n_drawn(chart.name, ax)
    if ax is None:
        size = (chart.width / PER_INCH, chart.height / PER_INCH)
        if chart.rows is not None:
            size = (ROWS_WIDTH, AROUND + PER_ROW * max(len(chart.rows), 1))
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.set_title(for_matplotlib(chart.title, LONGEST_TITLE), loc="left", fontsize="medium")
    if chart.rows is not None and not chart.rows:
        ax.text(0.5, 0.5, "nothing to show", ha="center", va="center", transform=ax.transAxes)
        ax.set_axis_off()
        return ax
    known = set(ax.get_legend_handles_labels()[1])
    for mark in chart.marks:
        _draw(ax, mark, chart, known)
    _set_axis(ax, "x", chart.x, before > 0)
    _set_axis(ax, "y", chart.y, before > 0)
    if chart.rows is not None:
        texts = [[for_matplotlib(text, LONGEST_ROW) for text in row if text] for row in chart.rows]
        names = ["\n".join(line for text in row for line in textwrap.wrap(text, ROW_LINE)) for row in texts]
        ax.set_yticks(range(len(names)), names, fontsize="small")
        ax.set_ylim(len(names) - 0.4, -0.6)
    if len(chart.keyed) + before > 0:
        _legend(ax, is_own, chart.rows is not None)
    return ax


def _legend(ax: Axes, is_own: bool, has_rows: bool) -> None:
    """A legend above entries, beside our own axes if it is long, and else inside."""
    n = len(ax.get_legend_handles_labels()[1])
    options: dict[str, Any] = {"fontsize": "small"}
    if has_rows:
        options |= {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": n, "frameon": False}
        ax.set_title(ax.get_title(loc="left"), loc="left", fontsize="medium", pad=22.0)
    elif is_own and n > MOST_INSIDE:
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "frameon": False, "ncols": 1 + (n - 1) // 18}
    ax.legend(**options)


def _set_axis(ax: Axes, which: str, axis: Axis, is_added: bool) -> None:
    """Limits (which only grow if a chart is added to another), ticks and name."""
    own = ax.xaxis if which == "x" else ax.yaxis
    low, high = axis.low, axis.high
    if is_added:
        first, last = sorted(own.get_view_interval())
        low, high = min(low, first), max(high, last)
    margin = 0.02 * (high - low) if axis.ticks is None else 0.0
    ax.set(**{f"{which}lim": (low - margin, high + margin)})
    marked = replace(axis, low=low, high=high).marked()
    names = [for_matplotlib(text, LONGEST // 2) for _, text in marked]
    is_long = which == "x" and len("".join(names)) > LETTERS_ALONG
    own.set_ticks([value for value, _ in marked], names, rotation=90 if is_long else 0)
    ax.set(**{f"{which}label": for_matplotlib(axis.name, ALONG_AXIS)})
    if axis.ticks is None:
        ax.grid(axis="x" if which == "x" else "y", alpha=0.3)


def _draw(ax: Axes, mark: Mark, chart: Chart, known: set[str]) -> None:
    key = for_matplotlib(getattr(mark, "key", ""), 2 * LONGEST)
    label = key if key and key not in known else "_"
    known.add(key)
    match mark:
        case Line():
            dashes = "--" if mark.is_dashed else DASHES[mark.look % len(DASHES)] if isinstance(mark.look, int) else "-"
            style: dict[str, Any] = {"color": colour(mark.look), "linestyle": dashes, "linewidth": mark.width}
            ax.plot(mark.x, mark.y, label=label, gid=chart.name if mark.is_series else None, **style)
        case Area():
            ax.fill_between(mark.x, mark.y, color=colour(mark.look), alpha=0.55, linewidth=0.0)
        case Bars():
            _draw_bars(ax, mark, label)
        case Points():
            shape = mark.shape or (SHAPES[mark.look % len(SHAPES)] if isinstance(mark.look, int) else "circle")
            inner = "white" if mark.is_hollow else colour(mark.look)
            ends: dict[str, Any] = {"c": inner} if shape == "cross" else {"facecolors": inner, "edgecolors": "0.15"}
            ends |= {"edgecolors": colour(mark.look)} if mark.is_hollow else {}
            size, wide = (2.2 * mark.size) ** 2, 1.2 if mark.is_hollow or shape == "cross" else 0.4
            ax.scatter(mark.x, mark.y, s=size, marker=MARKERS[shape], linewidths=wide, label=label, zorder=3, **ends)
        case Oval():
            if not mark.is_hidden:
                draw_oval(ax, mark)
        case Words():
            align: Any = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
            ax.text(mark.x, mark.y, for_matplotlib(mark.text), ha=align, va="center", fontsize="small", zorder=6)
        case Linked():
            for inner_mark in mark.marks:
                _draw(ax, inner_mark, chart, known)


def _draw_bars(ax: Axes, bars: Bars, label: str) -> None:
    from matplotlib.colors import to_rgba

    left, right, low, high = np.asarray(bars.boxes, dtype=float).reshape(-1, 4).T
    shown = colour(bars.look)
    fill: Any = [to_rgba(shown, shade) for shade in bars.shades] if bars.shades else shown
    # A part of no rows would still show its edge.
    edges = np.where((right > left) & (high > low), 0.5 if bars.shades == () else 0.0, 0.0)
    style: dict[str, Any] = {"color": fill, "edgecolor": "0.15", "linewidth": edges}
    if bars.is_hatched:
        style = {"color": "white", "edgecolor": shown, "hatch": HATCH, "linewidth": 2.0 * edges}
    ax.bar(left, high - low, right - left, low, align="edge", label=label, zorder=1.2, **style)


def draw_oval(ax: Axes, oval: Oval) -> None:
    """Draw the outline of an ellipse, filled with its opacity."""
    turned = np.linspace(0.0, 2.0 * np.pi, 120)
    points = np.reshape(oval.axes, (2, 2)) @ np.stack([np.cos(turned), np.sin(turned)])
    x, y = points + np.reshape(oval.center, (2, 1))
    dashes = DASHES[oval.look % len(DASHES)] if isinstance(oval.look, int) else "-"
    if oval.fill > 0.0:
        ax.fill(x, y, facecolor=colour(oval.look), alpha=oval.fill, linewidth=0.0, zorder=1.5)
    ax.plot(x, y, color=colour(oval.look), linestyle=dashes, zorder=4, linewidth=oval.width)


def draw_all(charts: Sequence[Chart], ax: Any = None) -> tuple[Axes, ...]:
    """Draw charts side by side on a new figure, or on axes given for each; one is divided if it is part of a grid."""
    if ax is not None and not hasattr(ax, "figure"):
        given = [axes for axes in np.asarray(ax, dtype=object).ravel() if axes is not None]
        if len(given) != len(charts):
            raise ValueError(f"{len(given)} axes are given for {len(charts)} charts; give one for each.")
        return tuple(draw(chart, axes) for chart, axes in zip(charts, given, strict=True))
    n_columns = min(len(charts), 2 if len(charts) in (2, 4) else 3)
    n_rows = -(-len(charts) // n_columns)
    if ax is None:
        size = (n_columns * charts[0].width / 100.0 + 0.6, n_rows * charts[0].height / 90.0 + 0.4)
        grid = pyplot().figure(figsize=size, layout="constrained").add_gridspec(n_rows, n_columns)
    elif ax.get_subplotspec() is None:
        raise ValueError("These axes are not part of a grid and cannot be divided; use axes from plt.subplots.")
    else:
        ax.set_axis_off()
        grid = ax.get_subplotspec().subgridspec(n_rows, n_columns)
    places = [grid[i // n_columns, i % n_columns] for i in range(len(charts))]
    return tuple(draw(chart, grid.figure.add_subplot(place)) for chart, place in zip(charts, places, strict=True))
