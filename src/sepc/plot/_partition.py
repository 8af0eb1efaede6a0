"""PartitionDisplay: the ellipsoids and hyperplanes of a fitted classifier, and the trust around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.sep.fitted import FittedEllipsoid, Hyperplane
from sepc.model.count_rules import judge_sets
from sepc.model.rules import judge
from sepc.model.sep_model import SEPModel
from sepc.plot.axes import (
    ALONG_AXIS,
    NO_TRUST,
    as_rgb,
    axes_or_new,
    draw_ellipse,
    draw_names,
    for_matplotlib,
    lighten,
    look,
    partition_of,
    place_legend,
    set_limits,
    strength,
)
from sepc.views.outcomes import is_right
from sepc.views.planes import Plane, ellipsoid_plane, feature_plane, outline, placed_names, principal_plane
from sepc.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Projections overlap, so each is drawn lighter than the background of a two-feature model.
SHADOW = 0.5
THIN = 0.9

DOTS = (0, (1, 2.5))

UNKNOWN = "0.45"


@dataclass(frozen=True, eq=False, repr=False)
class RowSample(ShownOnOneLine):
    """A sample of rows to draw."""

    values: FloatArray
    owner: IntArray
    n_all: int

    @classmethod
    def from_user(cls, classifier: SEPClassifier, X: ArrayLike | None, y: ArrayLike | None) -> Self:
        """Check the user's rows and labels; without X there are no rows."""
        model = classifier.model_
        if X is None:
            if y is not None:
                raise ValueError("y is given without X; also pass the rows that the labels belong to.")
            return cls(np.empty((0, len(model.placed))), np.empty(0, dtype=np.int64), 0)
        # This also matches columns by name, in any order, and imputes missing values.
        values = classifier.decide(X).features[:, model.placed] if np.shape(X)[0] else np.empty((0, len(model.placed)))
        owner = np.full(len(values), -1)
        if y is not None:
            labels = np.asarray(y)
            for k, label in enumerate(model.classes):
                owner[is_right(np.full(len(values), label), labels)] = k
        return cls(values, owner, len(values))

    def sample(self, most: int) -> RowSample:
        """Draw at most this many rows at random, with a fixed seed."""
        if len(self.values) <= most:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(len(self.values), most, replace=False))
        return RowSample(self.values[chosen], self.owner[chosen], self.n_all)

    def summary(self) -> str | None:
        """How many rows are drawn, if not all of them."""
        return f"{len(self.values):,} of {self.n_all:,} rows drawn" if len(self.values) < self.n_all else None


@dataclass(eq=False, repr=False)
class PartitionDisplay(ShownOnOneLine):
    """The ellipsoids of an `SEPClassifier`, with rows, hyperplanes and trust.

    Create it with `from_estimator`.

    For a model with two features, the background colour shows the label, and its strength the trust; accepted areas
    stand out. Hyperplanes are drawn as lines, numbered in the order they were made.

    With more features, the exact projections (shadows) of the ellipsoids are drawn; ellipsoids whose shadows overlap
    may still be disjoint. The strength of an ellipsoid's colour is the trust of rows in it alone, based on the counts
    of its training rows; with weights, the trust of a row also depends on its own values, as `WeightsDisplay` shows.
    Hyperplanes are not drawn, because their projections are not lines.

    Thin outlines are ellipsoids around the rows left over at the end, which may contain many rows of other labels.

    Attributes
    ----------
    model : SEPModel
    ellipsoids : sequence of FittedEllipsoid
    plane : Plane
        The features or principal axes on the axes.
    min_trust : float
        The threshold of the classifier.
    rows : RowSample
        Rows to draw as points.
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> from sepc.plot import PartitionDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> classifier = SEPClassifier().fit(X, y)
    >>> display = PartitionDisplay.from_estimator(classifier, X, y, features=("petal length (cm)", 1))
    >>> display.ax_.get_xlabel()
    'petal length (cm)'
    """

    model: SEPModel
    ellipsoids: Sequence[FittedEllipsoid]
    plane: Plane
    min_trust: float
    rows: RowSample

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        features: tuple[str | int, str | int] | None = None,
        *,
        ax: Axes | None = None,
        max_rows: int = 5_000,
        max_hyperplanes: int = 10,
        max_numbers: int = 40,
    ) -> Self:
        """Draw the partition of a fitted classifier.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X : array or DataFrame of shape (n, d), optional
            Rows to draw, for instance the training rows.
        y : array of shape (n,), optional
            Their labels; without labels, rows are grey.
        features : pair of str or int, optional
            The features on the axes, by name or position. By default the features of a model that has two, otherwise
            the first two principal axes of the standardised features.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.
        max_rows, max_hyperplanes, max_numbers : int
            Draw at most this many: rows at random, the first hyperplanes, and the numbers of the ellipsoids with the
            most training rows, unless they would overlap. The legend says if rows or hyperplanes were left out.

        Returns
        -------
        PartitionDisplay
        """
        classifier = partition_of(estimator, cls.__name__)
        model: SEPModel = classifier.model_
        rows = RowSample.from_user(classifier, X, y)
        display = cls(model, classifier.ellipsoids_, _plane(model, features), classifier.min_trust, rows)
        return display.plot(ax, max_rows=max_rows, max_hyperplanes=max_hyperplanes, max_numbers=max_numbers)

    def plot(
        self, ax: Axes | None = None, *, max_rows: int = 5_000, max_hyperplanes: int = 10, max_numbers: int = 40
    ) -> Self:
        """Draw on the given axes, or on a new figure; parameters are those of `from_estimator`."""
        self.ax_ = axes_or_new(ax, (8.0 + 1.8 * (len(self.model.classes) // 15), 5.2))
        self.figure_ = self.ax_.figure
        rows = self.rows.sample(max_rows)
        self._frame(rows)
        entries = self._class_entries()
        if self.is_whole:
            _draw_background(self.ax_, self.model, self.plane, self.min_trust)
        self._draw_ellipses(max_numbers)
        _draw_rows(self.ax_, self.plane, rows)
        entries += _draw_isolated(self.ax_, self.model, self.plane)
        if self.is_whole:
            entries += _draw_cuts(self.ax_, self.model, self.ellipsoids, self.plane, max_hyperplanes)
        by_counts = self.model.weights is not None and not self.is_whole
        entries += _trust_entries(self.min_trust, by_counts=by_counts)
        place_legend(self.ax_, entries, is_own=ax is None, title=rows.summary())
        return self

    @property
    def is_whole(self) -> bool:
        """Whether the model has only the two features drawn."""
        return len(self.plane.origin) == 2 and self.model.alone is None

    def _frame(self, rows: RowSample) -> None:
        """Set limits, axis labels and title."""
        outlines = [outline(self.plane.shadow(fitted.ellipsoid)) for fitted in self.ellipsoids]
        isolated = self.model.in_own_units(self.model.isolated)
        set_limits(self.ax_, np.concatenate([*outlines, self.plane.place(rows.values), self.plane.place(isolated)]))
        n_ellipsoids, d = counted(len(self.ellipsoids), "ellipsoid"), len(self.plane.origin)
        title = n_ellipsoids if self.is_whole else f"Shadows of {n_ellipsoids} in {d} features"
        if not self.ellipsoids:
            title = "No ellipsoid, only isolated rows"
        self.ax_.set_xlabel(for_matplotlib(self.plane.names[0], ALONG_AXIS))
        self.ax_.set_ylabel(for_matplotlib(self.plane.names[1], ALONG_AXIS))
        self.ax_.set_title(title, fontsize="medium")

    def _class_entries(self) -> list[tuple[Any, str]]:
        from matplotlib.lines import Line2D

        entries = []
        for k, label in enumerate(self.model.classes):
            how = look(k)
            sign = Line2D([], [], color=how.colour, linestyle=how.dashes, marker=how.marker, markersize=5)
            entries.append((sign, for_matplotlib(label, 24)))
        if self.model.is_terminal.any():
            entries.append((Line2D([], [], color="0.35", linewidth=THIN), "thin: encloses leftover rows"))
        return entries

    def _draw_ellipses(self, max_numbers: int) -> None:
        """Draw outlines and numbers; shadows are filled by trust."""
        trust = trust_in_ellipsoids(self.model)
        fills = np.zeros(len(trust)) if self.is_whole else SHADOW * strength(trust, self.min_trust)
        shadows = [self.plane.shadow(fitted.ellipsoid) for fitted in self.ellipsoids]
        for fitted, shadow, owner, fill in zip(self.ellipsoids, shadows, self.model.owners, fills, strict=True):
            draw_ellipse(self.ax_, shadow, look(int(owner)), fill, linewidth=THIN if fitted.is_terminal else 1.6)
        most = sorted(range(len(shadows)), key=lambda k: -int(self.ellipsoids[k].counts.sum()))[:max_numbers]
        centers = np.array([shadows[k].center for k in most]).reshape(-1, 2)
        draw_names(self.ax_, centers, [str(self.ellipsoids[k].number) for k in most])


def _plane(model: SEPModel, features: tuple[str | int, str | int] | None) -> Plane:
    if features is not None:
        return ellipsoid_plane(model, features)
    names = placed_names(model)
    return feature_plane(names, (0, 1)) if len(names) == 2 else principal_plane(model)


def _draw_background(ax: Axes, model: SEPModel, plane: Plane, min_trust: float) -> None:
    """Draw the labels of a two-feature model as a background, stronger where trust is higher."""
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    label, trust = trust_over(model, plane, low, high)
    colours = as_rgb([look(k).colour for k in range(len(model.classes))])
    image = lighten(colours[label], strength(trust, min_trust))
    ax.imshow(image, origin="lower", extent=(low[0], high[0], low[1], high[1]), aspect="auto", zorder=0.5)


def _trust_entries(min_trust: float, *, by_counts: bool = False) -> list[tuple[Any, str]]:
    """Legend entries for the shades of trust, in grey; with `by_counts`, they do not say what is accepted."""
    from matplotlib.patches import Patch

    trust = "trust by counts" if by_counts else "trust"
    texts = {min_trust: f"{trust} ≥ {min_trust:g}" if by_counts else f"accepted: trust ≥ {min_trust:g}"}
    middle = round(0.5 * (NO_TRUST + min_trust), 1)
    if NO_TRUST < middle < min_trust:
        texts[middle] = f"{trust} {middle:g}"
    if min_trust > NO_TRUST:
        texts[NO_TRUST] = f"{trust} ≤ {NO_TRUST:g}"
    greys = lighten(as_rgb(["0.35"]), strength(np.array(list(texts)), min_trust))
    return [
        (Patch(facecolor=tuple(grey), edgecolor="0.6", linewidth=0.5), text)
        for grey, text in zip(greys, texts.values(), strict=True)
    ]


def _draw_cuts(
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
    """Where a hyperplane crosses the border of the plot; None if it misses the plot."""
    normal = np.asarray(np.linalg.solve(plane.directions.T, cut.normal), dtype=np.float64)
    return across(normal, cut.offset - float(cut.normal @ plane.origin), low, high)


def _write_at_end(ax: Axes, spot: FloatArray, number: int, colour: str) -> None:
    box = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": colour, "linewidth": 0.8}
    ax.text(spot[0], spot[1], str(number), ha="center", va="center", fontsize=7, bbox=box, zorder=7)


def across(normal: FloatArray, offset: float, low: FloatArray, high: FloatArray) -> FloatArray | None:
    """Where the line ``x @ normal = offset`` enters and leaves a box, of shape (2, 2); None if it misses the box."""
    size = high - low
    # In the unit box, so that features on very different scales are treated alike.
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


def _draw_rows(ax: Axes, plane: Plane, rows: RowSample) -> None:
    """Draw each row as a point in the look of its class."""
    size = 16.0 if len(rows.values) < 1_000 else 8.0
    for k in np.unique(rows.owner):
        x, y = plane.place(rows.values[rows.owner == k]).T
        colour, marker = (UNKNOWN, ".") if k < 0 else (look(k).colour, look(k).marker)
        ax.scatter(x, y, s=size, c=colour, marker=marker, edgecolors="0.15", linewidths=0.4, zorder=3)


def _draw_isolated(ax: Axes, model: SEPModel, plane: Plane) -> list[tuple[Any, str]]:
    """Draw isolated training rows as hollow points, and return their legend entry."""
    from matplotlib.lines import Line2D

    for k in np.unique(model.isolated_owners):
        rows = model.in_own_units(model.isolated[model.isolated_owners == k])
        how = look(int(k))
        x, y = plane.place(rows).T
        ax.scatter(x, y, s=48.0, marker=how.marker, facecolors="none", edgecolors=how.colour, zorder=3.2)
    n = len(model.isolated)
    sign = Line2D([], [], linestyle="", marker="o", markersize=7, markerfacecolor="none", markeredgecolor="0.35")
    return [(sign, counted(n, "isolated row"))] if n else []


def trust_in_ellipsoids(model: SEPModel) -> FloatArray:
    """Trust of rows that lie in a single ellipsoid, based on the counts of its training rows; of shape (K,)."""
    return judge_sets(model, np.eye(model.n_ellipsoids, dtype=bool)).trust


def trust_over(
    model: SEPModel, plane: Plane, low: FloatArray, high: FloatArray, n: int = 240
) -> tuple[IntArray, FloatArray]:
    """Labels and trust over a grid of pixels, for a two-feature model."""
    middles = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(*(low + (high - low) * middles[:, None]).T)
    pixels = np.column_stack([x.ravel(), y.ravel()])
    decisions = judge(model, plane.origin + np.linalg.solve(plane.directions, pixels.T).T, 0.0)
    label = np.searchsorted(model.classes, decisions["label"])
    return label.reshape(n, n), decisions["trust"].reshape(n, n)
