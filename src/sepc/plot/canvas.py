"""Axes, legends and text: matplotlib is imported only when it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.wording import percent, short, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The longest name that fits along an axis of the usual size, and elsewhere in a plot.
ALONG_AXIS, LONGEST = 48, 36
# Height of the tick labels and the axis label below axes, in inches.
WRITTEN_BELOW = 0.47


def pyplot() -> Any:
    """The module `matplotlib.pyplot`, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'sepc[plot]'", name=error.name) from error
    return plt


def axes_or_new(ax: Axes | None, figsize: tuple[float, float]) -> Axes:
    """The user's axes, or those of a new figure of this size in inches."""
    plt = pyplot()
    if ax is not None:
        return ax
    axes: Axes = plt.subplots(figsize=figsize, layout="constrained")[1]
    return axes


def in_percent(ax: Axes) -> None:
    """Show shares as percentages on both axes."""
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: percent(round(share, 9), 3) if share > -1e-9 else "")


def place_legend(ax: Axes, entries: list[tuple[Any, str]], *, is_own: bool, title: str | None = None) -> None:
    """Add a legend: beside our own axes, below the user's, or inside them if their figure has no layout engine."""
    options: dict[str, Any] = {"fontsize": "small", "title_fontsize": "small", "title": title}
    if is_own:
        # Long legends get several columns.
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "frameon": False}
        options["ncols"] = 1 + (len(entries) - 1) // 18
    elif ax.figure.get_layout_engine() is not None:
        options |= {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "frameon": False, "ncols": 2}
        options["bbox_transform"] = _below(ax)
    ax.legend([handle for handle, _ in entries], [label for _, label in entries], **options)


def _below(ax: Axes) -> Any:
    """Axes coordinates, shifted below the tick labels and the axis label."""
    from matplotlib.transforms import ScaledTranslation

    return ax.transAxes + ScaledTranslation(0.0, -WRITTEN_BELOW, ax.figure.dpi_scale_trans)


def panels(ax: Any, n: int, *, with_last: bool) -> tuple[tuple[Axes, ...], Axes | None, tuple[bool, ...]]:
    """Axes for a grid of `n` panels, one more beside the grid if `with_last`, and which panels are first in their row.

    A single axes object is divided; a sequence of axes is used as it is.
    """
    n_columns = min(n, 3 if n != 4 else 2)
    n_rows, n_all = -(-n // n_columns), n + with_last
    if ax is not None and not hasattr(ax, "figure"):
        given = tuple(axes for axes in np.asarray(ax, dtype=object).ravel() if axes is not None)
        if len(given) not in (n, n_all):
            raise ValueError(
                f"{len(given)} axes are given for {n_all} panels; give one per panel, or a single one to be divided."
            )
        return given[:n], given[n] if len(given) > n else None, (True,) * n
    ratios = [1.0] * n_columns + [1.15] * with_last
    if ax is None:
        size = (0.6 + 3.0 * sum(ratios), 0.4 + 2.5 * max(n_rows, 1.4))
        figure = pyplot().figure(figsize=size, layout="constrained")
        grid = figure.add_gridspec(n_rows, len(ratios), width_ratios=ratios)
    else:
        if ax.get_subplotspec() is None:
            raise ValueError("These axes are not part of a grid and cannot be divided; use axes from plt.subplots.")
        ax.set_axis_off()
        figure = ax.figure
        # A layout engine makes room for labels; without one, leave some.
        apart = {} if figure.get_layout_engine() is not None else {"hspace": 0.4, "wspace": 0.4}
        grid = ax.get_subplotspec().subgridspec(n_rows, len(ratios), width_ratios=ratios, **apart)
    made = tuple(figure.add_subplot(grid[i // n_columns, i % n_columns]) for i in range(n))
    last = figure.add_subplot(grid[:, -1]) if with_last else None
    return made, last, tuple(i % n_columns == 0 for i in range(n))


def for_matplotlib(name: Any, longest: int = LONGEST) -> str:
    r"""A user's name as one short line that matplotlib shows as it is, neither as a formula nor hidden in a legend.

    Examples
    --------
    >>> for_matplotlib("price_$ (50%)")
    'price_\\$ (50%)'
    >>> for_matplotlib("the mean of the largest three values of texture", 20)
    'the mean o…f texture'
    """
    # Characters that no font can show become spaces.
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in visible(str(name))).split())
    # Matplotlib reads text between dollar signs as a formula, and omits names that start with "_" from legends.
    text = short(text, longest).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
