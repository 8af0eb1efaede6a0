"""What displays share: they draw a chart, on the user's axes or a new figure, and look for a model's partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sepc.cards import ShownOnOneLine
from sepc.decisions.decisions import Decisions
from sepc.documents.charts import Chart
from sepc.documents.drawing import draw, n_drawn
from sepc.estimators.base import decide_with_trust
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import Unwrapped, decider_in, partition_in, without_promise

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Display(ShownOnOneLine):
    """A display of one chart; several of a kind can be drawn on the same axes.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure, after `plot`.
    """

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on the given axes, or on a new figure."""
        chart = self._chart(0)
        self.ax_ = draw(self._chart(n_drawn(chart.name, ax)), ax)
        self.figure_: Any = self.ax_.figure
        return self

    def _chart(self, look: int) -> Chart:
        raise NotImplementedError


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
