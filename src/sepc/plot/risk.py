"""RiskCoverageDisplay: the error rate among accepted rows, for every share of rows accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.unwrapping import classifier_name
from sepc.plot.canvas import axes_or_new, for_matplotlib, in_percent
from sepc.plot.models import decide_for_plot
from sepc.plot.palette import look
from sepc.views.outcomes import RiskCoverage, is_right, risk_coverage
from sepc.wording import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More points than a screen has pixels cannot be seen.
MOST_POINTS = 2_000
OURS = "sepc risk-coverage"


@dataclass(eq=False, repr=False)
class RiskCoverageDisplay(ShownOnOneLine):
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
    line_, ax_, figure_
        The line, the axes and the figure, after `plot`.

    Examples
    --------
    >>> from sepc.plot import RiskCoverageDisplay
    >>> display = RiskCoverageDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"], [0.9, 0.8, 0.6], name="mine")
    >>> display.line_.get_label()
    'mine (AURC 0.111)'
    """

    curve: RiskCoverage
    name: str
    accepted: tuple[float, float] | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, name: str | None = None, ax: Axes | None = None, **line: Any
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
        **line
            Passed to matplotlib's `plot`, for instance ``color="black"``.

        Returns
        -------
        RiskCoverageDisplay
        """
        decisions = decide_for_plot(estimator, X)
        right = is_right(decisions.label, y)
        named = classifier_name(estimator) if name is None else name
        display = cls(risk_coverage(right, decisions.trust), named, _of_accepted(right, decisions.accepted))
        return display.plot(ax, **line)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        trust: ArrayLike,
        *,
        name: str = "classifier",
        ax: Axes | None = None,
        **line: Any,
    ) -> Self:
        """Draw the curve of any labels, ranked by any score that is larger where labels are more likely right."""
        return cls(risk_coverage(is_right(y_pred, y_true), trust), name).plot(ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw on the given axes, or on a new figure."""
        self.ax_ = axes_or_new(ax, (6.0, 4.5))
        self.figure_ = self.ax_.figure
        how = look(sum(drawn_line.get_gid() == OURS for drawn_line in self.ax_.get_lines()))
        options: dict[str, Any] = {"color": how.colour, "linestyle": how.dashes, "linewidth": 1.8, **line}
        kept = np.unique(np.linspace(0, len(self.curve.risk) - 1, MOST_POINTS).round().astype(np.int64))
        text = f"{for_matplotlib(self.name)} (AURC {self.curve.aurc:.3g})"
        (self.line_,) = self.ax_.plot(self.curve.coverage[kept], self.curve.risk[kept], label=text, **options)
        self.line_.set_gid(OURS)
        if self.accepted is not None:
            style: dict[str, Any] = {
                "markersize": 9,
                "markeredgecolor": "black",
                "linestyle": "",
                "gid": f"{OURS}: accepted",
            }
            self.ax_.plot(
                *self.accepted, color=self.line_.get_color(), marker=how.marker, label=self._accepted_label(), **style
            )
        self._frame()
        return self

    def _accepted_label(self) -> str:
        coverage, risk = self.accepted or (0.0, np.nan)
        if coverage == 0.0:
            return "accepts no row"
        return f"accepts {percent(coverage)}, {percent(risk)} of them wrong"

    def _frame(self) -> None:
        ours = [line for line in self.ax_.get_lines() if str(line.get_gid()).startswith(OURS)]
        risks = [np.asarray(line.get_ydata(), dtype=np.float64) for line in ours]
        highest = max(float(np.nanmax(np.concatenate(risks))), 0.01)
        self.ax_.set_xlim(0.0, 1.02)
        self.ax_.set_ylim(-0.02 * highest, 1.08 * highest)
        in_percent(self.ax_)
        self.ax_.set_xlabel("coverage: share of rows accepted, most trusted first")
        self.ax_.set_ylabel("selective risk: error rate of accepted rows")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(fontsize="small")


def _of_accepted(right: BoolArray, accepted: BoolArray) -> tuple[float, float]:
    """Coverage and risk of the accepted rows."""
    risk = float(1.0 - right[accepted].mean()) if accepted.any() else float("nan")
    return float(accepted.mean()), risk
