"""Hyperplanes of a partition of two features, drawn as lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray
from sepc.estimators.sep.fitted import FittedEllipsoid, Hyperplane
from sepc.model.sep_model import SEPModel
from sepc.plot.palette import look
from sepc.views.planes import Plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOTS = (0, (1, 2.5))


def draw_cuts(
    ax: Axes, model: SEPModel, ellipsoids: Sequence[FittedEllipsoid], plane: Plane, most: int
) -> list[tuple[Any, str]]:
    """Draw the first `most` hyperplanes in the colour of their ellipsoid's class, and return their legend entry."""
    from matplotlib.lines import Line2D

    cuts = [
        (int(owner), cut) for ellipsoid, owner in zip(ellipsoids, model.owners, strict=True) for cut in ellipsoid.cuts
    ]
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    for number, (owner, cut) in enumerate(cuts[:most], start=1):
        ends = _ends(cut, plane, low, high)
        if ends is not None:
            colour = look(owner).colour
            ax.plot(*ends.T, color=colour, linestyle=DOTS, linewidth=1.4, zorder=3.5)
            _write_at_end(ax, ends[number % 2], number, colour)
    if not cuts or most < 1:
        return []
    last = min(most, len(cuts))
    text = f"hyperplanes 1 to {last} of {len(cuts):,}, in order of creation" if len(cuts) > 1 else "hyperplane"
    return [(Line2D([], [], color="0.35", linestyle=DOTS, linewidth=1.4), text)]


def _ends(cut: Hyperplane, plane: Plane, low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Where a hyperplane crosses the border of the picture; None if it misses the picture."""
    normal = np.asarray(np.linalg.solve(plane.directions.T, cut.normal), dtype=np.float64)
    return across(normal, cut.offset - float(cut.normal @ plane.origin), low, high)


def _write_at_end(ax: Axes, spot: FloatArray, number: int, colour: str) -> None:
    box = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8}
    ax.text(spot[0], spot[1], str(number), ha="center", va="center", fontsize=7, bbox=box, zorder=7)


def across(normal: FloatArray, offset: float, low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Where the line ``x @ normal = offset`` enters and leaves a box, of shape (2, 2); None if it misses the box."""
    size = high - low
    # In the unit box, so that features of very different scale are treated alike.
    scaled, rest = normal * size, offset - float(normal @ low)
    along = np.array([-scaled[1], scaled[0]])
    start = scaled * rest / float(scaled @ scaled)
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.sort(np.stack([-start / along, (1.0 - start) / along]), axis=0)
    parallel = along == 0.0
    if np.any(parallel & ((start < 0.0) | (start > 1.0))):
        return None
    first = float(np.max(steps[0][~parallel]))
    last = float(np.min(steps[1][~parallel]))
    return low + size * (start + np.array([[first], [last]]) * along) if first < last else None
