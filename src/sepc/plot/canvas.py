"""Where to draw: matplotlib, asked for when it is needed, and axes of our own or the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Height of ticks and label below axes, in inches.
WRITTEN_BELOW = 0.47


def pyplot() -> Any:
    """The module `matplotlib.pyplot`, or a hint how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'sepc[plot]'", name=error.name) from error
    return plt


def axes_or_new(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The user's axes, or those of a new figure of this size in inches."""
    plt = pyplot()
    if ax is not None:
        return ax
    axes: Axes = plt.subplots(figsize=figsize, layout="constrained")[1]
    return axes


def in_percent(ax: Axes) -> None:
    """Write shares as percentages on both axes."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: percent(round(share, 9), 3) if share > -1e-9 else "")


def place_legend(ax: Axes, entries: list[tuple[Any, str]], *, is_own: bool, title: str | None = None) -> None:
    """A legend: beside the axes of our own figure, below the user's, or inside where their figure makes no room."""
    options: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "title": title}
    if is_own:
        # In columns if it is long.
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False}
        options["ncols"] = 1 + (len(entries) - 1) // 18
    elif ax.figure.get_layout_engine() is not None:
        options |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False, "ncols": 2}
        options["bbox_transform"] = _below(ax)
    ax.legend([handle for handle, _ in entries], [label for _, label in entries], **options)


def _below(ax: Axes) -> Any:
    """The coordinates of the axes, moved down past what is written along them."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transAxes + ScaledTranslation(0.0, -WRITTEN_BELOW, ax.figure.dpi_scale_trans)


def panels(ax: Any, n: int, *, with_last: bool) -> tuple[tuple[Axes, ...], Axes | None, tuple[bool, ...]]:
    """Axes for `n` panels in a grid and, if asked for, one more beside them; and which stand first in their row.

    Axes given are divided; of several given, each is a panel.
    """
    n_columns = min(n, 3 if n != 4 else 2)
    n_rows, n_all = -(-n // n_columns), n + with_last
    if ax is not None and not hasattr(ax, "figure"):
        given = tuple(axes for axes in np.asarray(ax, dtype=object).ravel() if axes is not None)
        if len(given) not in (n, n_all):
            raise ValueError(f"{len(given)} axes are given for {n_all} panels; give as many, or one to divide.")
        return given[:n], given[n] if len(given) > n else None, (True,) * n
    ratios = [1.0] * n_columns + [1.15] * with_last
    if ax is None:
        size = (0.6 + 3.0 * sum(ratios), 0.4 + 2.5 * max(n_rows, 1.4))
        figure = pyplot().figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(n_rows, len(ratios), width_ratios=ratios)
    else:
        if ax.get_subplotspec() is None:
            raise ValueError("These axes stand on their own and cannot be divided; take axes of plt.subplots.")
        ax.set_axis_off()
        figure = ax.figure
        # A layout engine finds room for what is written; without one, leave some.
        apart = {} if figure.get_layout_engine() is not None else {"hspace": 0.4, "wspace": 0.4}
        grid = ax.get_subplotspec().subgridspec(n_rows, len(ratios), width_ratios=ratios, **apart)
    made = tuple(figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(n))
    last = figure.add_subplot(grid[:, -1]) if with_last else None
    return made, last, tuple(i % n_columns == 0 for i in range(n))
