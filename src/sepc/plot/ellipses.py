"""Draw ellipses, and numbers or names at their centres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray
from sepc.plot.palette import Look
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.views.planes import outline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Numbers closer than this, as shares of the plot's width and height, would overlap.
NUMBER_ROOM = np.array([0.025, 0.045])
# A number moved down by this many steps would be too far from its ellipse.
MOST_STEPS = 4


def draw_ellipse(ax: Axes, ellipse: Ellipsoid, how: Look, fill: float, **options: Any) -> None:
    """Draw the outline of an ellipse, filled with this opacity."""
    points = outline(ellipse).T
    if fill > 0.0:
        ax.fill(*points, facecolor=how.colour, alpha=fill, linewidth=0.0, zorder=1.5)
    ax.plot(*points, color=how.colour, linestyle=how.dashes, zorder=4, **{"linewidth": 1.6, **options})


def set_limits(ax: Axes, points: FloatArray, margin: float = 0.04) -> None:
    """Set limits that show all points with a margin, even along a constant feature."""
    low, high = points.min(axis=0), points.max(axis=0)
    border = np.where(high > low, margin * (high - low), np.maximum(np.abs(low), 1.0) * 0.1)
    ax.set_xlim(low[0] - border[0], high[0] + border[0])
    ax.set_ylim(low[1] - border[1], high[1] + border[1])


def draw_names(ax: Axes, centers: FloatArray, names: list[str]) -> None:
    """Write numbers or short names at the centres; one that would cover another is moved down or left out."""
    from matplotlib.patheffects import withStroke

    size = np.array([np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())])
    effects = [withStroke(linewidth=2.5, foreground="white")]
    taken = np.empty((0, 2))
    for center, name in zip(centers / size, names, strict=True):
        spot = _free_spot(center, taken)
        if spot is not None:
            taken = np.vstack([taken, spot])
            x, y = spot * size
            ax.text(x, y, name, ha="center", va="center", fontsize=9, weight="bold", path_effects=effects, zorder=6)


def _free_spot(center: FloatArray, taken: FloatArray) -> FloatArray | None:
    for step in range(MOST_STEPS):
        spot = center - [0.0, step * NUMBER_ROOM[1]]
        if not np.any(np.all(np.abs(taken - spot) < NUMBER_ROOM, axis=1)):
            return np.asarray(spot)
    return None
