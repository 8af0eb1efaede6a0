"""Displays of trust: how often labels are right, rows of every region, and error rates by coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.documents.charts import Chart
from sepc.estimators.base import decide_rows
from sepc.estimators.unwrapping import classifier_name
from sepc.metrics import ece
from sepc.plot._axes import Display, decide_for_plot, partition_of
from sepc.views.charts import Pair, bar_chart, reliability_chart, risk_coverage_chart
from sepc.views.outcomes import (
    Bins,
    RegionOutcomes,
    RiskCoverage,
    is_right,
    outcomes_by_region,
    reliability_bins,
    risk_coverage,
)
from sepc.wording import decimal, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points than a screen has pixels cannot be seen.
MOST_POINTS = 2_000


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """A reliability diagram: the share of right labels in bins of trust, with 95 % intervals.

    Create it with `from_estimator` or `from_predictions`; several can be drawn on the same axes. On the diagonal, trust
    is perfectly calibrated; below it, trust is too high. Bins have about equally many rows, and rows of equal trust
    share a bin. The legend gives the expected calibration error, `sepc.metrics.ece`.

    Attributes
    ----------
    bins : Bins
    name : str
        Shown in the legend.
    ece : float
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from sepc.plot import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0, 1, 1, 1], [0.9, 0.9, 0.6, 0.6], n_bins=2)
    >>> display.bins.right
    array([0.5, 1. ])
    """

    bins: Bins
    name: str
    ece: float

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the reliability diagram of an estimator on test rows.

        Parameters
        ----------
        estimator : classifier
            Fitted. Labels and trust come from `decide`, even at the end of a pipeline; for a classifier without
            `decide`, trust is its largest class probability.
        X, y : rows and their true labels
        n_bins : int
            The number of bins; fewer if many rows have equal trust.
        name : str, optional
            Shown in the legend; by default the name of the estimator.
        ax : matplotlib axes, optional

        Returns
        -------
        ReliabilityDisplay
        """
        decisions = decide_for_plot(estimator, X)
        named = classifier_name(estimator) if name is None else name
        return cls.from_predictions(y, decisions.label, decisions.trust, n_bins=n_bins, name=named, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        trust: ArrayLike,
        *,
        n_bins: int = 10,
        name: str = "classifier",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the reliability diagram of any labels, given the probabilities that they are right."""
        right, scores = is_right(y_pred, y_true), np.asarray(trust, dtype=np.float64)
        if np.any((scores < 0.0) | (scores > 1.0)):
            raise ValueError(
                f"trust ranges from {scores.min():.3g} to {scores.max():.3g}, but calibration needs probabilities "
                "in [0, 1]. RiskCoverageDisplay takes any score."
            )
        return cls(reliability_bins(right, scores, n_bins), name, ece(right, scores)).plot(ax)

    def _chart(self, look: int) -> Chart:
        return reliability_chart(self.bins, f"{self.name} (ECE {self.ece:.3f})", look)


@dataclass(eq=False, repr=False)
class TrustDisplay(Display):
    """The paper's chart of regions: for each, the test rows with right and wrong labels, and their mean trust.

    Create it with `from_estimator`. A large hatched part next to high trust marks a region to look into.

    Attributes
    ----------
    outcomes : RegionOutcomes
        Outcomes of all regions with test rows; those with the most rows are drawn.
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sepc import SEPClassifier
    >>> from sepc.plot import TrustDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> display = TrustDisplay.from_estimator(SEPClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> int(display.outcomes.right.sum() + display.outcomes.wrong.sum())
    75
    """

    outcomes: RegionOutcomes

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Draw how a fitted classifier performs on test rows, by region.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X, y : rows and their true labels
        ax : matplotlib axes, optional

        Returns
        -------
        TrustDisplay
        """
        classifier = partition_of(estimator, cls.__name__)
        return cls(outcomes_by_region(decide_rows(classifier, X), classifier.regions_, y)).plot(ax)

    def _chart(self, look: int) -> Chart:
        found = self.outcomes
        pairs = [
            Pair(f"{name_of(found.names[i])}: {name_of(found.label[i])}", right, wrong, f"mean trust {decimal(trust)}")
            for i, (right, wrong, trust) in enumerate(zip(found.right, found.wrong, found.trust, strict=True))
        ]
        return bar_chart("Regions and their labels", "test rows", ("right", "wrong"), pairs)


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay(Display):
    """A risk-coverage curve: the selective risk (error rate) of the most trusted rows, at every coverage.

    Create it with `from_estimator` or `from_predictions`; several can be drawn on the same axes. A lower curve is
    better, and so is a smaller AURC, its mean. Ties are averaged over all orders, as in `sepc.metrics.aurc`.

    Attributes
    ----------
    curve : RiskCoverage
    name : str
        Shown in the legend.
    accepted : (float, float) or None
        Coverage and risk of the rows that the estimator accepts, drawn as a point; the risk is NaN if it accepts none.
    ax_, figure_
        The axes and the figure, after `plot`.

    Examples
    --------
    >>> from sepc.plot import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"], [0.9, 0.8, 0.6], name="mine")
    >>> display.ax_.get_lines()[0].get_label()
    'mine (AURC 0.111)'
    """

    curve: RiskCoverage
    name: str
    accepted: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, name: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the curve of an estimator on test rows.

        Parameters
        ----------
        estimator : classifier
            Fitted. Labels and trust come from `decide`, even at the end of a pipeline; for a classifier without
            `decide`, trust is its largest class probability.
        X, y : rows and their true labels
        name : str, optional
            Shown in the legend; by default the name of the estimator.
        ax : matplotlib axes, optional

        Returns
        -------
        RiskCoverageDisplay
        """
        decisions = decide_for_plot(estimator, X)
        right, accepted = is_right(decisions.label, y), decisions.accepted
        risk = float(1.0 - right[accepted].mean()) if accepted.any() else float("nan")
        named = classifier_name(estimator) if name is None else name
        return cls(risk_coverage(right, decisions.trust), named, (float(accepted.mean()), risk)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        trust: ArrayLike,
        *,
        name: str = "classifier",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curve of any labels, ranked by any score that is larger where labels are more likely right."""
        return cls(risk_coverage(is_right(y_pred, y_true), trust), name).plot(ax)

    def _chart(self, look: int) -> Chart:
        key = f"{self.name} (AURC {self.curve.aurc:.3g})"
        return risk_coverage_chart(self.curve.thinned(MOST_POINTS), self.accepted, key, look)
