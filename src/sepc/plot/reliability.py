"""ReliabilityDisplay: how often labels are right, by their trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.cards import ShownOnOneLine
from sepc.estimators.unwrapping import classifier_name
from sepc.metrics import ece
from sepc.plot.canvas import axes_or_new, for_matplotlib, in_percent
from sepc.plot.models import decide_for_plot
from sepc.plot.palette import Look, look
from sepc.views.outcomes import Bins, is_right, reliability_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, STRIP = "sepc reliability", "sepc rows in bins"
# The height of a legend line, as a share of the plot.
LEGEND_LINE = 0.05


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(ShownOnOneLine):
    """A reliability diagram: the share of right labels in bins of trust, with 95 % intervals.

    Create it with `from_estimator` or `from_predictions`; several can be drawn on the same axes. On the diagonal, trust
    is perfectly calibrated; below it, trust is too high. Bins have about equally many rows, and rows of equal trust
    share a bin; the strip above shows their sizes. The legend gives the expected calibration error, `sepc.metrics.ece`.

    Attributes
    ----------
    bins : Bins
    name : str
        Shown in the legend.
    ece : float
    line_, ax_, figure_
        The line, the axes and the figure, after `plot`.
    ax_rows_ : matplotlib axes
        The axes of the strip above.

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
        **line: Any,
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
        **line
            Passed to matplotlib's `errorbar`, for instance ``color="black"``.

        Returns
        -------
        ReliabilityDisplay
        """
        decisions = decide_for_plot(estimator, X)
        named = classifier_name(estimator) if name is None else name
        return cls.from_predictions(y, decisions.label, decisions.trust, n_bins=n_bins, name=named, ax=ax, **line)

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
        **line: Any,
    ) -> Self:
        """Draw the reliability diagram of any labels, given the probabilities that they are right."""
        right, scores = is_right(y_pred, y_true), np.asarray(trust, dtype=np.float64)
        if np.any((scores < 0.0) | (scores > 1.0)):
            raise ValueError(
                f"trust ranges from {scores.min():.3g} to {scores.max():.3g}, but calibration needs probabilities "
                "in [0, 1]. RiskCoverageDisplay takes any score."
            )
        return cls(reliability_bins(right, scores, n_bins), name, ece(right, scores)).plot(ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw on the given axes, or on a new figure."""
        self.ax_ = axes_or_new(ax, (6.0, 5.5))
        self.figure_ = self.ax_.figure
        n_before = sum(drawn_line.get_gid() == OURS for drawn_line in self.ax_.get_lines())
        if n_before == 0:
            self.ax_.axline((0, 0), (1, 1), color="0.5", linestyle=":", linewidth=1.2, label="perfectly calibrated")
        how = look(n_before)
        options = {"color": how.colour, "linestyle": how.dashes, "marker": how.marker, "capsize": 3, **line}
        bins = self.bins
        ends = np.maximum([bins.right - bins.low, bins.high - bins.right], 0.0)
        text = f"{for_matplotlib(self.name)} (ECE {self.ece:.3f})"
        drawn = self.ax_.errorbar(bins.trust, bins.right, yerr=ends, label=text, elinewidth=1.0, **options)
        self.line_: Any = drawn.lines[0]
        self.line_.set_gid(OURS)
        self._frame()
        self._draw_strip(how)
        return self

    def _frame(self) -> None:
        left, low = _lowest(self.ax_)
        room = LEGEND_LINE * (1 + len(self.ax_.get_legend_handles_labels()[1]))
        self.ax_.set_xlim(left - 0.03, 1.02)
        self.ax_.set_ylim(1.03 - (1.03 - low) / (1.0 - room), 1.03)
        in_percent(self.ax_)
        self.ax_.set_xlabel("trust (mean of the bin)")
        self.ax_.set_ylabel("accuracy, 95 % interval")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(fontsize="small", loc="lower right")

    def _draw_strip(self, how: Look) -> None:
        """Draw the number of rows in each bin, above the plot."""
        strips = [axes for axes in self.ax_.child_axes if axes.get_label() == STRIP]
        strip: Any = strips[0] if strips else self.ax_.inset_axes((0.0, 1.03, 1.0, 0.14), sharex=self.ax_, label=STRIP)
        colour = self.line_.get_color()
        strip.vlines(self.bins.trust, 0, self.bins.n_rows, color=colour, linestyle=how.dashes, linewidth=1.2)
        strip.plot(self.bins.trust, self.bins.n_rows, color=colour, marker=how.marker, linestyle="", markersize=4)
        strip.set_ylim(0, max(1.25 * int(self.bins.n_rows.max()), strip.get_ylim()[1] if strips else 0))
        strip.tick_params(labelbottom=False)
        strip.set_ylabel("rows", fontsize="small")
        strip.spines[["top", "right"]].set_visible(False)
        self.ax_rows_ = strip


def _lowest(ax: Axes) -> tuple[float, float]:
    """The least trust and the lowest end of an interval, over all curves on the axes."""
    drawn: list[Any] = [curve for curve in ax.containers if getattr(curve, "has_yerr", False)]
    intervals = [bars for curve in drawn for bars in curve.lines[2]]
    ends = np.concatenate([np.concatenate(bars.get_segments()) for bars in intervals])
    return float(ends[:, 0].min()), float(ends[:, 1].min())
