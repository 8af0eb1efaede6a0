"""PartitionDisplay: the ellipsoids and hyperplanes of a fitted classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.cards import ShownOnOneLine
from sepc.estimators.sep.fitted import FittedEllipsoid
from sepc.model.sep_model import SEPModel
from sepc.plot.canvas import ALONG_AXIS, axes_or_new, for_matplotlib, place_legend
from sepc.plot.cuts import draw_cuts
from sepc.plot.ellipses import draw_ellipse, draw_names, set_limits
from sepc.plot.models import partition_of
from sepc.plot.palette import look, strength
from sepc.plot.rows import Rows, draw_isolated, draw_rows
from sepc.plot.shading import draw_background, trust_entries
from sepc.views.planes import Plane, feature_plane, outline, principal_plane
from sepc.views.trust_surface import trust_in_ellipsoids
from sepc.wording import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Shadows overlap, so each is drawn lighter than the background of a model of two features.
SHADOW = 0.5
THIN = 0.9


@dataclass(eq=False, repr=False)
class PartitionDisplay(ShownOnOneLine):
    """The ellipsoids of an `SEPClassifier`, with rows, hyperplanes and trust.

    Create it with `from_estimator`.

    For a model of two features, the background shows the label in colour and the trust as its strength; accepted areas
    stand out. Hyperplanes are drawn as lines, numbered in the order they were made.

    For more features, the exact shadows of the ellipsoids are drawn; ellipsoids whose shadows overlap may still be
    disjoint. The strength of an ellipsoid's colour is the trust of rows in it alone, by the counts of its training
    rows; with weights, the trust of a row depends on its own values too, and `WeightsDisplay` shows how. Hyperplanes
    are not drawn, since their shadows are not lines.

    Thin outlines enclose the rows left over at the end, and may be impure.

    Attributes
    ----------
    model : SEPModel
    ellipsoids : sequence of FittedEllipsoid
    plane : Plane
        The features or principal axes on the axes.
    min_trust : float
        The threshold of the classifier.
    rows : Rows
        Rows drawn as points.
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
    rows: Rows

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
            Fitted; also in a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X : array or DataFrame of shape (n, d), optional
            Rows to draw, for instance the training rows.
        y : array of shape (n,), optional
            Their labels; without labels, rows are grey.
        features : pair of str or int, optional
            The features on the axes, by name or position. By default the features of a model that has two, else the
            first two principal axes of the standardised features.
        ax : matplotlib axes, optional
            Where to draw; a new figure if not given.
        max_rows, max_hyperplanes, max_numbers : int
            Draw at most this many: rows at random, the first hyperplanes, and the numbers of the ellipsoids with the
            most training rows, as far as they do not overlap. The legend says if rows or hyperplanes were left out.

        Returns
        -------
        PartitionDisplay
        """
        classifier = partition_of(estimator, cls.__name__)
        model: SEPModel = classifier.model_
        rows = Rows.checked(classifier, X, y)
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
            draw_background(self.ax_, self.model, self.plane, self.min_trust)
        self._draw_ellipses(max_numbers)
        draw_rows(self.ax_, self.plane, rows)
        entries += draw_isolated(self.ax_, self.model, self.plane)
        if self.is_whole:
            entries += draw_cuts(self.ax_, self.model, self.ellipsoids, self.plane, max_hyperplanes)
        by_counts = self.model.weights is not None and not self.is_whole
        entries += trust_entries(self.min_trust, by_counts=by_counts)
        place_legend(self.ax_, entries, is_own=ax is None, title=rows.summary())
        return self

    @property
    def is_whole(self) -> bool:
        """Whether the model has only the two features drawn."""
        return len(self.plane.origin) == 2

    def _frame(self, rows: Rows) -> None:
        """Set limits, axis labels and title."""
        outlines = [outline(self.plane.shadow(fitted.ellipsoid)) for fitted in self.ellipsoids]
        isolated = self.model.shift + self.model.scale * self.model.isolated
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
    names = model.feature_names
    if features is not None:
        return feature_plane(names, features)
    return feature_plane(names, (0, 1)) if len(names) == 2 else principal_plane(model)
