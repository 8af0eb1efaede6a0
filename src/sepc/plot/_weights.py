"""WeightsDisplay: shape functions of the most important features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.cards import ShownOnOneLine
from sepc.documents.charts import Look
from sepc.documents.drawing import draw_all
from sepc.model.sep_model import SEPModel
from sepc.plot._axes import partition_of
from sepc.views.charts import curve_charts
from sepc.views.log_odds import Contrast, Curve, categories_by_feature, contrast_of, curves_of
from sepc.wording import check_number, name_of, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class WeightsDisplay(ShownOnOneLine):
    """The weights of an `SEPClassifier`: shape functions of features.

    Create it with `from_estimator`. Each curve is a shape function: what a feature adds to the log-odds of a class
    against the other class or, with more classes, against their average; the terms of a row add up. Positive terms
    favour the class, negative ones count against it. All curves share one scale; a feature with few distinct values
    has bars instead. The histogram at the foot shows where rows lie: a curve means little where there are none.
    Beside the name of a monotone feature it says whether its curve only rises or only falls, as long as that is proved.

    Ellipsoids and isolated rows have terms too, which are not drawn.

    Attributes
    ----------
    model : SEPModel
    contrast : Contrast
        The class, and what it is compared with.
    curves : tuple of Curve
        In the order of `features`, or by spread, the largest first.
    axes_, figure_
        The axes of the curves, and the figure, after `plot`.

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

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike | None = None,
        features: Sequence[str | int] | None = None,
        *,
        label: Any = None,
        max_features: int = 6,
        ax: Any = None,
    ) -> Self:
        """Draw the weights of a fitted classifier.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted, with ``trust="weights"``; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X : array or DataFrame of shape (n, d), optional
            Rows by which features are ranked, for instance the training rows. Their histogram is at the foot of each
            curve, and the curve covers 99 % of them. Without rows, ticks at the foot mark the quantiles of the training
            rows at which the curve may step.
        features : sequence of str or int, optional
            The curves to draw, by name or position. By default those whose terms vary most over the rows.
        label : object, optional
            The class whose log-odds are drawn. By default the second of two classes, or the first of more.
        max_features : int
            Draw at most this many.
        ax : matplotlib axes, or a sequence of them, optional
            A single one is divided into panels. Otherwise one per curve.

        Returns
        -------
        WeightsDisplay
        """
        check_number("max_features", max_features, least=1, whole=True)
        classifier = partition_of(estimator, cls.__name__)
        model: SEPModel = classifier.model_
        contrast = contrast_of(model, label)
        rows = None if X is None or np.shape(X)[0] == 0 else classifier.decide(X).rows
        curves = curves_of(model, contrast, rows, features, max_features, categories_by_feature(classifier.encoding_))
        return cls(model, contrast, curves).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        other = self.contrast.against
        looks: tuple[Look, Look] = (self.contrast.label, "other" if other is None else other)
        against = "the others" if other is None else short(name_of(self.model.classes[other]), 14)
        label = short(name_of(self.model.classes[self.contrast.label]), 14)
        self.axes_: tuple[Axes, ...] = draw_all(curve_charts(self.curves, looks, f"{label} against {against}"), ax)
        self.figure_: Any = self.axes_[0].figure
        return self
