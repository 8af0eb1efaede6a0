"""PartitionDisplay: the ellipsoids of a fitted classifier, and the trust around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.documents.charts import Axis, Chart, Look, Oval, Points, Words
from sepc.documents.drawing import colour
from sepc.estimators.sep.fitted import FittedEllipsoid
from sepc.model.count_rules import judge_sets
from sepc.model.rules import judge
from sepc.model.sep_model import SEPModel
from sepc.plot._axes import Display, partition_of
from sepc.views.outcomes import is_right
from sepc.views.planes import Plane, best_plane, ellipsoid_plane, limits, outline
from sepc.wording import counted, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Rows drawn, chosen at random with a fixed seed, and ellipsoids that are numbered, those with the most training rows.
MOST_ROWS, MOST_NUMBERS = 5_000, 40
# Up to this trust, the shade is white; above it, it grows to the first share of the class's colour, and accepted rows
# get the second, a visible step. Projections overlap, so each is drawn lighter by the third.
NO_TRUST, DOUBTFUL, ACCEPTED, SHADOW = 0.5, 0.25, 0.5, 0.5


@dataclass(eq=False, repr=False)
class PartitionDisplay(Display):
    """The ellipsoids of an `SEPClassifier`, with rows and trust.

    Create it with `from_estimator`.

    For a model with two features, the background colour shows the label, and its strength the trust; accepted areas
    stand out.

    With more features, the exact projections (shadows) of the ellipsoids are drawn; ellipsoids whose shadows overlap
    may still be disjoint. The strength of an ellipsoid's colour is the trust of rows in it alone, based on the counts
    of its training rows; with weights, the trust of a row also depends on its own values, as `WeightsDisplay` shows.

    Thin outlines are ellipsoids around the rows left over at the end, which may contain many rows of other labels.
    Hollow marks are isolated training rows.

    Attributes
    ----------
    model : SEPModel
    ellipsoids : sequence of FittedEllipsoid
    plane : Plane
        The features on the axes.
    min_trust : float
        The threshold of the classifier.
    rows, owners : arrays
        The rows to draw, and the position of each row's label among the classes; -1 if it is not known.
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
    rows: FloatArray
    owners: IntArray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        features: tuple[str | int, str | int] | None = None,
        *,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the partition of a fitted classifier.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X : array or DataFrame of shape (n, d), optional
            Rows to draw, for instance the training rows; of more than 5,000, some chosen at random.
        y : array of shape (n,), optional
            Their labels; without labels, rows are grey.
        features : pair of str or int, optional
            The features on the axes, by name or position. By default the two in which the
            classes are farthest apart.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        PartitionDisplay
        """
        classifier = partition_of(estimator, cls.__name__)
        model: SEPModel = classifier.model_
        rows = np.empty((0, len(model.placed)))
        if X is not None and np.shape(X)[0]:
            # This also matches columns by name, in any order, and imputes missing values.
            rows = classifier.decide(X).features[:, model.placed]
        elif X is None and y is not None:
            raise ValueError("y is given without X; also pass the rows that the labels belong to.")
        owners = np.full(len(rows), -1)
        for k, label in enumerate(model.classes if y is not None else ()):
            owners[is_right(np.full(len(rows), label), np.asarray(y))] = k
        plane = best_plane(model) if features is None else ellipsoid_plane(model, features)
        return cls(model, classifier.ellipsoids_, plane, classifier.min_trust, rows, owners).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        super().plot(ax)
        if self.is_whole:
            low, high = np.array([self.ax_.get_xlim(), self.ax_.get_ylim()]).T
            image = _background(self.model, self.plane, self.min_trust, low, high)
            extent = (low[0], high[0], low[1], high[1])
            self.ax_.imshow(image, origin="lower", extent=extent, aspect="auto", zorder=0.5)
            self.ax_.grid(False)
        return self

    @property
    def is_whole(self) -> bool:
        """Whether the model has only the two features drawn."""
        return len(self.plane.origin) == 2 and self.model.alone is None

    def _chart(self, look: int) -> Chart:
        model, plane = self.model, self.plane
        shadows = [plane.shadow(fitted.ellipsoid) for fitted in self.ellipsoids]
        trust = judge_sets(model, np.eye(model.n_ellipsoids, dtype=bool)).trust
        fills = np.zeros(len(trust)) if self.is_whole else SHADOW * strength(trust, self.min_trust)
        marks: list[Any] = [
            Oval(
                shadow.center.tolist(),
                shadow.inverse_root.ravel().tolist(),
                int(owner),
                fill=float(fill),
                width=0.9 if fitted.is_terminal else 1.6,
            )
            for fitted, shadow, owner, fill in zip(self.ellipsoids, shadows, model.owners, fills, strict=True)
        ]
        n, n_all = min(len(self.rows), MOST_ROWS), len(self.rows)
        chosen = np.sort(np.random.default_rng(0).choice(n_all, n, replace=False)) if n < n_all else slice(None)
        places, owners = plane.place(self.rows[chosen]), self.owners[chosen]
        isolated = plane.place(model.in_own_units(model.isolated))
        for k, name in [*enumerate(map(name_of, model.classes)), (-1, "rows")]:
            how: Look = k if k >= 0 else "other"
            x, y = places[owners == k].T.tolist()
            if k >= 0 or x:
                marks.append(Points(x, y, how, name, size=1.4 if n > 1_000 else 1.9))
            x, y = isolated[model.isolated_owners == k].T.tolist()
            marks += [Points(x, y, how, "", is_hollow=True, size=3.2)] if x else []
        most = sorted(range(len(shadows)), key=lambda k: -int(self.ellipsoids[k].counts.sum()))[:MOST_NUMBERS]
        for k in most:
            x, y = shadows[k].center.tolist()
            marks.append(Words(x, y, str(self.ellipsoids[k].number)))
        (left, low), (right, high) = limits(np.concatenate([*map(outline, shadows), places, isolated]))
        title = counted(len(shadows), "ellipsoid") if shadows else "No ellipsoid, only isolated rows"
        if shadows and not self.is_whole:
            title = f"Shadows of {title} in {len(plane.origin)} features"
        if n < n_all:
            title += f", {n:,} of {n_all:,} rows drawn"
        x_axis, y_axis = Axis(plane.names[0], left, right), Axis(plane.names[1], low, high)
        return Chart("partition", title, title, x_axis, y_axis, marks, 600.0, 390.0)


def strength(trust: FloatArray, min_trust: float) -> FloatArray:
    """Strength of the class's colour, in [0, 1], for this trust."""
    doubt = np.clip((trust - NO_TRUST) / max(min_trust - NO_TRUST, 1e-9), 0.0, 1.0)
    return np.asarray(np.where(trust >= min_trust, ACCEPTED, DOUBTFUL * doubt))


def _background(
    model: SEPModel, plane: Plane, min_trust: float, low: FloatArray, high: FloatArray, n: int = 240
) -> FloatArray:
    """The colours of labels over a grid of pixels, stronger where trust is higher."""
    from matplotlib.colors import to_rgb

    middles = (np.arange(n) + 0.5) / n
    x, y = np.meshgrid(*(low + (high - low) * middles[:, None]).T)
    pixels = np.column_stack([x.ravel(), y.ravel()])
    decisions = judge(model, plane.origin + np.linalg.solve(plane.directions, pixels.T).T, 0.0)
    colours = np.array([to_rgb(colour(k)) for k in range(len(model.classes))])
    shades = strength(decisions["trust"], min_trust)[:, np.newaxis]
    own = colours[np.searchsorted(model.classes, decisions["label"])]
    return np.asarray(1.0 - shades * (1.0 - own)).reshape(n, n, 3)
