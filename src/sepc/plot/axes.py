"""Axes, legends, colours and ellipses for displays; matplotlib is imported only when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_with_trust
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import Unwrapped, decider_in, partition_in, without_promise
from sepc.shapes.ellipsoid import Ellipsoid
from sepc.views.planes import outline
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
    """Axes for a grid of `n` panels, one more beside the grid if `with_last`, and which are first in their row."""
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


# The first two differ most in greyscale. The numbers of colours, markers and dashes have no common divisor, so that 30
# classes differ in colour or dashes, and 42 in colour or marker.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "^", "s", "D", "v", "P", "X")
DASHES: tuple[Any, ...] = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
RIGHT, WRONG, WRONG_HATCH = "#56B4E9", "#D55E00", "////"

# Up to this trust, the shade is white.
NO_TRUST = 0.5
# Above it, the shade grows to the first share of the class's colour; accepted rows get the second, a visible step.
DOUBTFUL, ACCEPTED = 0.25, 0.5


@dataclass(frozen=True)
class Look:
    """The colour, marker and line style of a class or curve."""

    colour: str
    marker: str
    dashes: Any


def look(i: int) -> Look:
    """The look of class or curve `i`."""
    return Look(COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)], DASHES[i % len(DASHES)])


def strength(trust: FloatArray, min_trust: float) -> FloatArray:
    """Strength of the class's colour, in [0, 1], for this trust."""
    doubt = np.clip((trust - NO_TRUST) / max(min_trust - NO_TRUST, 1e-9), 0.0, 1.0)
    return np.asarray(np.where(trust >= min_trust, ACCEPTED, DOUBTFUL * doubt))


def as_rgb(colours: Sequence[str]) -> FloatArray:
    """Colours as red, green and blue in [0, 1], of shape (n, 3)."""
    from matplotlib.colors import to_rgb

    return np.array([to_rgb(colour) for colour in colours]).reshape(-1, 3)


def lighten(rgb: FloatArray, shares: FloatArray) -> FloatArray:
    """Colours mixed with white; `shares` is the share of the colour that stays."""
    return np.asarray(1.0 - shares[..., None] * (1.0 - rgb))


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


def decide_for_plot(estimator: Any, X: ArrayLike) -> Decisions:
    """Decide on rows; raises if the model gives no trust."""
    return decide_with_trust(estimator, X, "give its labels and trust to from_predictions")


def partition_of(estimator: Any, display: str) -> SEPClassifier:
    """The fitted SEPClassifier in `estimator`, also inside a search, a FrozenEstimator or a SelectiveClassifier."""
    classifier: SEPClassifier | None = decider_in(estimator)
    if classifier is None:
        raise TypeError(f"{display} shows the partition of an SEPClassifier. {_instead(without_promise(estimator))}")
    check_is_fitted(classifier)
    return classifier


def _instead(inside: Unwrapped) -> str:
    estimator, kind = inside.classifier, type(inside.classifier).__name__
    if inside.before:
        return "For a pipeline, pass its last step, pipeline[-1], and rows transformed by the steps before it."
    if getattr(estimator, "is_routed", False):
        return f"{kind} has several; pass its default_, or one of its routes_."
    if partition_in(estimator) is not None:
        return f"{kind} takes its labels from another model; use RiskCoverageDisplay or ReliabilityDisplay."
    return f"{kind} has none."
