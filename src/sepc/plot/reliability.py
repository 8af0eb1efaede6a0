"""ReliabilityDisplay: how often labels are right, for the trust they were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc.cards import ShownOnOneLine
from sepc.estimators.opened import name_of
from sepc.metrics import ece
from sepc.plot.canvas import axes_or_new, in_percent
from sepc.plot.matplotlib_text import for_matplotlib
from sepc.plot.models import ask
from sepc.plot.palette import Look, look
from sepc.views.outcomes import Bins, is_right, reliability_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, STRIP = "sepc reliability", "sepc rows in bins"
# The height that a line of the legend takes below the intervals, as a share of the picture.
LEGEND_LINE = 0.05


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(ShownOnOneLine):
    """Share of right labels in bins of trust, with 95 % intervals; on the diagonal trust says just what it means.

    Make it with `from_estimator` or `from_predictions`; several can be drawn on the same axes. Below the diagonal,
    labels are trusted too much. Bins hold about equally many rows, and rows of equal trust share one: the strip above
    shows how many. The legend tells the expected calibration error (ECE), the mean distance from the diagonal.

    Attributes
    ----------
    bins : Bins
    name : str
        For the legend.
    ece : float
    line_, ax_, figure_
        What was drawn, after `plot`.
    ax_rows_ : matplotlib axes
        The strip above.

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
        """Draw how well the trust of an estimator holds on rows that it was not fitted on.

        Parameters
        ----------
        estimator : classifier
            Fitted. Labels and trust are those of `decide`, also at the end of a pipeline; for a classifier that has no
            `decide`, trust is the largest of its `predict_proba`.
        X, y : rows and their true labels
        n_bins : int
            How many bins; there are fewer if many rows share one trust.
        name : str, optional
            For the legend; by default the estimator's type.
        ax : matplotlib axes, optional
        **line
            Handed to matplotlib's `errorbar`, for instance ``color="black"``.

        Returns
        -------
        ReliabilityDisplay
        """
        answers = ask(estimator, X)
        named = name_of(estimator) if name is None else name
        return cls.from_predictions(y, answers.label, answers.trust, n_bins=n_bins, name=named, ax=ax, **line)

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
        """Draw how well any probabilities that the labels are right hold."""
        right, scores = is_right(y_pred, y_true), np.asarray(trust, dtype=np.float64)
        if np.any((scores < 0.0) | (scores > 1.0)):
            raise ValueError(
                f"trust goes from {scores.min():.3g} to {scores.max():.3g}; only a probability can be compared with "
                "how often labels are right. RiskCoverageDisplay takes any score."
            )
        return cls(reliability_bins(right, scores, n_bins), name, ece(right, scores)).plot(ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> Self:
        """Draw, on axes given or on a new figure."""
        self.ax_ = axes_or_new(ax, (6.0, 5.5))
        self.figure_ = self.ax_.figure
        n_before = sum(one.get_gid() == OURS for one in self.ax_.get_lines())
        if n_before == 0:
            self.ax_.axline(
                (0, 0), (1, 1), color="0.5", linestyle=":", linewidth=1.2, label="right as often as trusted"
            )
        how = look(n_before)
        options = {"color": how.colour, "linestyle": how.dashes, "marker": how.marker, "capsize": 3, **line}
        bins = self.bins
        ends = np.maximum([bins.right - bins.low, bins.high - bins.right], 0.0)
        told = f"{for_matplotlib(self.name)} (ECE {self.ece:.3f})"
        drawn = self.ax_.errorbar(bins.trust, bins.right, yerr=ends, label=told, elinewidth=1.0, **options)
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
        self.ax_.set_ylabel("labels that are right, 95 % interval")
        self.ax_.grid(alpha=0.3)
        self.ax_.legend(fontsize="small", loc="lower right")

    def _draw_strip(self, how: Look) -> None:
        """How many rows each bin holds, above the picture."""
        found = [one for one in self.ax_.child_axes if one.get_label() == STRIP]
        strip: Any = found[0] if found else self.ax_.inset_axes((0.0, 1.03, 1.0, 0.14), sharex=self.ax_, label=STRIP)
        colour = self.line_.get_color()
        strip.vlines(self.bins.trust, 0, self.bins.n_rows, color=colour, linestyle=how.dashes, linewidth=1.2)
        strip.plot(self.bins.trust, self.bins.n_rows, color=colour, marker=how.marker, linestyle="", markersize=4)
        strip.set_ylim(0, max(1.25 * int(self.bins.n_rows.max()), strip.get_ylim()[1] if found else 0))
        strip.tick_params(labelbottom=False)
        strip.set_ylabel("rows", fontsize="small")
        strip.spines[["top", "right"]].set_visible(False)
        self.ax_rows_ = strip


def _lowest(ax: Axes) -> tuple[float, float]:
    """The least trust, and the lowest end of an interval, of all curves drawn."""
    drawn: list[Any] = [one for one in ax.containers if getattr(one, "has_yerr", False)]
    intervals = [bars for one in drawn for bars in one.lines[2]]
    ends = np.concatenate([np.concatenate(bars.get_segments()) for bars in intervals])
    return float(ends[:, 0].min()), float(ends[:, 1].min())
