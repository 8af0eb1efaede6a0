"""WeightsDisplay: shape functions of the most important features, and the weights of ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.cards import ShownOnOneLine
from sepc.documents.charts import Axis, Bars, Chart, Line, Look
from sepc.documents.drawing import draw_all
from sepc.model.sep_model import SEPModel
from sepc.plot._axes import partition_of
from sepc.views.charts import curve_charts
from sepc.views.log_odds import (
    Contrast,
    Curve,
    EllipsoidWeight,
    categories_by_feature,
    contrast_of,
    curves_of,
    ellipsoid_weights,
)
from sepc.wording import check_number, name_of, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class WeightsDisplay(ShownOnOneLine):
    """The weights of an `SEPClassifier`: shape functions of features, and weights of ellipsoids.

    Create it with `from_estimator`. Each curve is a shape function: what a feature adds to the log-odds of a class
    against the other class or, with more classes, against their average; the terms of a row add up. Positive terms
    favour the class, negative ones count against it. All curves share one scale; a feature with few distinct values
    has bars instead. The histogram at the foot shows where rows lie: a curve means little where there are none.
    Beside the name of a monotone feature it says whether its curve only rises or only falls, as long as that is proved.

    A bar in the last panel shows what lying in an ellipsoid adds, in the colour of the ellipsoid's class; the thin line
    covers the terms of 90 % of the rows, inside or not. Isolated rows have terms too, which are not drawn.

    Attributes
    ----------
    model : SEPModel
    contrast : Contrast
        The class, and what it is compared with.
    curves : tuple of Curve
        In the order of `features`, or by spread, the largest first.
    ellipsoids : tuple of EllipsoidWeight
        Sorted by mean absolute term, the largest first.
    axes_ : tuple of matplotlib axes
        The axes of the curves and, if there are any, of the ellipsoids, after `plot`.
    figure_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> from sepc.plot import WeightsDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = WeightsDisplay.from_estimator(SEPClassifier().fit(X, y), X, label=2, max_features=2)
    >>> [curve.name for curve in display.curves]
    ['petal width (cm)', 'petal length (cm)']
    """

    model: SEPModel
    contrast: Contrast
    curves: tuple[Curve, ...]
    ellipsoids: tuple[EllipsoidWeight, ...]

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        features: Sequence[str | int] | None = None,
        *,
        label: Any = None,
        max_features: int = 6,
        max_ellipsoids: int = 10,
        ax: Any = None,
    ) -> Self:
        """Draw the weights of a fitted classifier.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted, with ``trust="weights"``; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X : array or DataFrame of shape (n, d), optional
            Rows by which features and ellipsoids are ranked, for instance the training rows. Their histogram is at
            the foot of each curve, and the curve covers 99 % of them. Without rows, ticks at the foot mark the
            quantiles of the training rows at which the curve may step.
        features : sequence of str or int, optional
            The curves to draw, by name or position. By default those whose terms vary most over the rows.
        label : object, optional
            The class whose log-odds are drawn. By default the second of two classes, or the first of more.
        max_features, max_ellipsoids : int
            Draw at most this many.
        ax : matplotlib axes, or a sequence of them, optional
            A single one is divided into panels. Otherwise one per curve, and one more if there are ellipsoids.

        Returns
        -------
        WeightsDisplay
        """
        for name, most in (("max_features", max_features), ("max_ellipsoids", max_ellipsoids)):
            check_number(name, most, least=1, whole=True)
        classifier = partition_of(estimator, cls.__name__)
        model: SEPModel = classifier.model_
        contrast = contrast_of(model, label)
        rows = None if X is None or np.shape(X)[0] == 0 else classifier.decide(X).rows
        curves = curves_of(model, contrast, rows, features, max_features, categories_by_feature(classifier.encoding_))
        return cls(model, contrast, curves, ellipsoid_weights(model, contrast, rows, max_ellipsoids)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        other = self.contrast.against
        looks: tuple[Look, Look] = (self.contrast.label, "other" if other is None else other)
        against = "the others" if other is None else short(name_of(self.model.classes[other]), 14)
        label = short(name_of(self.model.classes[self.contrast.label]), 14)
        charts = curve_charts(self.curves, looks, f"{label} against {against}")
        self.axes_: tuple[Axes, ...] = draw_all([*charts, *self._ellipsoid_chart()], ax)
        self.figure_: Any = self.axes_[0].figure
        return self

    def _ellipsoid_chart(self) -> list[Chart]:
        if not self.ellipsoids:
            return []
        marks: list[Any] = []
        ends = [0.0]
        for i, one in enumerate(self.ellipsoids):
            marks.append(Bars([(min(one.inside, 0.0), max(one.inside, 0.0), i - 0.3, i + 0.3)], one.owner))
            ends.append(one.inside)
            if one.low is not None and one.high is not None:
                marks.append(Line([one.low, one.high], [i, i]))
                ends += [one.low, one.high]
        n, n_all = len(self.ellipsoids), self.model.n_ellipsoids
        title = f"{n} of {n_all:,} ellipsoids" if n < n_all else "Ellipsoids"
        rows = [(f"{one.number} of {short(name_of(self.model.classes[one.owner]), 14)}", "") for one in self.ellipsoids]
        room = 0.05 * (max(ends) - min(ends)) or 0.1
        x = Axis("log-odds added inside", min(ends) - room, max(ends) + room)
        return [Chart("ellipsoids", title, title, x, Axis(ticks=()), marks, rows=rows)]
