"""LandscapeDisplay: the ellipsoid of every class, and the rows that lie in two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import ShownOnOneLine
from sepc.landscape.figures import LandscapeFigures
from sepc.landscape.landscape import Landscape
from sepc.plot.axes import ALONG_AXIS, draw_ellipse, draw_names, for_matplotlib, look, pyplot, set_limits
from sepc.views.planes import Plane, feature_plane, half_widths, most_separating_features, outline
from sepc.wording import counted, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHOSEN = "\nin the two features in which they differ most"
# With more classes than this, numbers in the cells would be unreadable.
MOST_NUMBERS = 12
# With more classes than this, a legend would cover the plot; names are written at the centres instead.
MOST_IN_LEGEND = 8


@dataclass(eq=False, repr=False)
class LandscapeDisplay(ShownOnOneLine):
    """A data set before any model: the ellipsoid of every class, and how many rows lie in two of them.

    Create it with `from_landscape`. The left panel shows the exact projections of the ellipsoids; ellipsoids whose
    projections overlap may still be disjoint. The right panel shows, for each pair of classes, how many rows of the
    first also lie in the ellipsoid of the second. For a single feature, ellipsoids are intervals.

    Attributes
    ----------
    figures : LandscapeFigures
    plane : Plane or None
        The features on the axes; None for a single feature.
    is_chosen : bool
        Whether the features were chosen automatically.
    ax_, figure_
        The axes and the figure, after `plot`.
    ax_overlaps_ : matplotlib axes or None
        The axes of the table, if it was drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import Landscape
    >>> from sepc.plot import LandscapeDisplay
    >>> display = LandscapeDisplay.from_landscape(Landscape(*load_iris(return_X_y=True)))
    >>> display.plane.names
    ('x2', 'x3')
    """

    figures: LandscapeFigures
    plane: Plane | None
    is_chosen: bool = False

    @classmethod
    def from_landscape(
        cls,
        landscape: Landscape | LandscapeFigures,
        features: tuple[str | int, str | int] | None = None,
        ax: Axes | tuple[Axes, Axes] | None = None,
    ) -> Self:
        """Draw a landscape.

        Parameters
        ----------
        landscape : Landscape or LandscapeFigures
        features : pair of str or int, optional
            The features on the axes, by name or position. By default the two that separate the classes' ellipsoids
            best: for each feature, the distance between two centres over the sum of the half widths, averaged over
            all pairs of classes.
        ax : matplotlib axes, or a pair of them, optional
            A pair for the ellipsoids and the table, or one for the ellipsoids alone. By default a new figure with both.

        Returns
        -------
        LandscapeDisplay
        """
        figures = landscape.figures if isinstance(landscape, Landscape) else landscape
        plane = None
        if features is not None or len(figures.feature_names) > 1:
            chosen = features or tuple(most_separating_features(figures.ellipsoids)[:2])
            plane = feature_plane(figures.feature_names, chosen)
        return cls(figures, plane, is_chosen=features is None and len(figures.feature_names) > 2).plot(ax)

    def plot(self, ax: Axes | tuple[Axes, Axes] | None = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            _, ax = pyplot().subplots(1, 2, figsize=(11.0, 4.8), layout="constrained", width_ratios=(1.25, 1.0))
        pair = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
        self.ax_: Axes = pair[0]
        self.ax_overlaps_: Axes | None = pair[1] if len(pair) > 1 else None
        self.figure_ = self.ax_.figure
        if self.plane is None:
            self._draw_intervals()
        else:
            self._draw_ellipses(self.plane)
        if self.ax_overlaps_ is not None:
            self._draw_overlaps(self.ax_overlaps_)
        return self

    def _draw_ellipses(self, plane: Plane) -> None:
        shadows = [plane.shadow(ellipsoid) for ellipsoid in self.figures.ellipsoids]
        set_limits(self.ax_, np.concatenate([outline(shadow) for shadow in shadows]))
        for k, shadow in enumerate(shadows):
            draw_ellipse(self.ax_, shadow, look(k), 0.12, linewidth=2.0)
            self.ax_.plot(
                *shadow.center, marker=look(k).marker, color=look(k).colour, markeredgecolor="white", zorder=5
            )
        self.ax_.set_xlabel(for_matplotlib(plane.names[0], ALONG_AXIS))
        self.ax_.set_ylabel(for_matplotlib(plane.names[1], ALONG_AXIS))
        self.ax_.set_title(f"Ellipsoids of the classes{CHOSEN if self.is_chosen else ''}", fontsize="medium")
        if len(shadows) <= MOST_IN_LEGEND:
            self._draw_legend()
        else:
            draw_names(self.ax_, np.array([shadow.center for shadow in shadows]), self._names(10))

    def _draw_intervals(self) -> None:
        """For a single feature: the range of every class."""
        for k, ellipsoid in enumerate(self.figures.ellipsoids):
            middle, width = float(ellipsoid.center[0]), float(half_widths(ellipsoid)[0])
            how = look(k)
            self.ax_.plot([middle - width, middle + width], [k, k], color=how.colour, linestyle=how.dashes, linewidth=3)
            self.ax_.plot(middle, k, color=how.colour, marker=how.marker, markersize=9)
        self.ax_.set_yticks(range(len(self.figures.classes)), self._names(20))
        self.ax_.set_xlabel(for_matplotlib(self.figures.feature_names[0]))
        self.ax_.set_title("Ranges of the classes", fontsize="medium")

    def _names(self, longest: int) -> list[str]:
        return [for_matplotlib(name, longest) for name in self.figures.classes]

    def _draw_legend(self) -> None:
        from matplotlib.lines import Line2D

        entries = []
        for k, (name, n) in enumerate(zip(self.figures.classes, self.figures.n_rows, strict=True)):
            how = look(k)
            sign = Line2D([], [], color=how.colour, linestyle=how.dashes, marker=how.marker, linewidth=2)
            entries.append((sign, f"{for_matplotlib(name, 20)}: {counted(n, 'row')}"))
        self.ax_.legend(*zip(*entries, strict=True), fontsize="small")

    def _draw_overlaps(self, ax: Axes) -> None:
        """Draw the table: how many rows of one class also lie in the ellipsoid of another."""
        rows = _rows_in_both(self.figures)
        totals = np.maximum(np.asarray(self.figures.n_rows, dtype=np.float64), 1.0)
        shares = rows / totals[:, None]
        ax.imshow(np.ma.masked_invalid(shares), cmap="Greys", vmin=0.0, vmax=1.0, aspect="auto")
        names = self._names(16)
        size = "medium" if len(names) <= MOST_NUMBERS else "xx-small"
        ax.set_xticks(range(len(names)), names, **_tick_rotation(len(names)), fontsize=size)
        ax.set_yticks(range(len(names)), names, fontsize=size)
        ax.set_xlabel("... that also lie in the ellipsoid of this class")
        ax.set_ylabel("rows of this class ...")
        ax.set_title(_overlaps_title(self.figures), fontsize="medium", loc="right")
        if len(names) <= MOST_NUMBERS:
            _write_cells(ax, rows, shares, self.figures.n_rows)


def _tick_rotation(n_names: int) -> dict[str, Any]:
    """Text options for the names below the table: rotated if there are many."""
    return {} if n_names < 4 else {"rotation": 35 if n_names < 8 else 90, "ha": "right"}


def _rows_in_both(figures: LandscapeFigures) -> FloatArray:
    """Entry (i, j): rows of class i in the ellipsoids of both; NaN on the diagonal."""
    n_classes = len(figures.classes)
    rows = np.where(np.eye(n_classes, dtype=bool), np.nan, np.zeros((n_classes, n_classes)))
    for overlap in figures.overlaps:
        rows[overlap.first, overlap.second], rows[overlap.second, overlap.first] = overlap.n_first, overlap.n_second
    return rows


def _write_cells(ax: Axes, rows: FloatArray, shares: FloatArray, n_rows: Sequence[int]) -> None:
    size = 8 if len(rows) > 5 else 10
    for i, j in zip(*np.nonzero(np.isfinite(rows)), strict=True):
        colour = "white" if shares[i, j] > 0.55 else "black"
        text = f"{int(rows[i, j]):,}\n{percent(shares[i, j], 0)}"
        ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=size)
    for i, n in enumerate(n_rows):
        ax.text(i, i, f"of {n:,}", ha="center", va="center", color="0.45", style="italic", fontsize=size)


def _overlaps_title(figures: LandscapeFigures) -> str:
    return f"Rows in two ellipsoids\n{percent(figures.mixed_share)} of rows lie in regions with several labels"
