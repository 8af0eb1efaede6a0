"""Displays of trust: how often labels are right, rows of every region, and error rates by coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.base import decide_rows
from sepc.estimators.unwrapping import classifier_name
from sepc.metrics import ece
from sepc.plot.axes import (
    RIGHT,
    WRONG,
    WRONG_HATCH,
    Look,
    axes_or_new,
    decide_for_plot,
    for_matplotlib,
    in_percent,
    look,
    partition_of,
    place_legend,
)
from sepc.views.outcomes import (
    Bins,
    RegionOutcomes,
    RiskCoverage,
    is_right,
    outcomes_by_region,
    reliability_bins,
    risk_coverage,
)
from sepc.wording import check_number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


RELIABILITY, STRIP = "sepc reliability", "sepc rows in bins"
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
        n_before = sum(drawn_line.get_gid() == RELIABILITY for drawn_line in self.ax_.get_lines())
        if n_before == 0:
            self.ax_.axline((0, 0), (1, 1), color="0.5", linestyle=":", linewidth=1.2, label="perfectly calibrated")
        how = look(n_before)
        options = {"color": how.colour, "linestyle": how.dashes, "marker": how.marker, "capsize": 3, **line}
        bins = self.bins
        ends = np.maximum([bins.right - bins.low, bins.high - bins.right], 0.0)
        text = f"{for_matplotlib(self.name)} (ECE {self.ece:.3f})"
        drawn = self.ax_.errorbar(bins.trust, bins.right, yerr=ends, label=text, elinewidth=1.0, **options)
        self.line_: Any = drawn.lines[0]
        self.line_.set_gid(RELIABILITY)
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


# Longer region names are shortened in the middle.
LONGEST_REGION = 48


@dataclass(frozen=True, eq=False, repr=False)
class Bars(ShownOnOneLine):
    """The data of the bars; all but the largest regions share one bar."""

    names: list[str]
    right: IntArray
    wrong: IntArray
    trust: FloatArray

    @classmethod
    def of(cls, outcomes: RegionOutcomes, most: int) -> Self:
        """The `most` largest regions, and all others as one bar if there is more than one."""
        n = len(outcomes) if len(outcomes) <= most + 1 else most
        pairs = zip(outcomes.names[:n], outcomes.label[:n], strict=True)
        names = [f"{for_matplotlib(name, LONGEST_REGION)}: {for_matplotlib(label, 20)}" for name, label in pairs]
        if n == len(outcomes):
            return cls(names, outcomes.right, outcomes.wrong, outcomes.trust)
        right, wrong = outcomes.right[n:].sum(), outcomes.wrong[n:].sum()
        trust = np.average(outcomes.trust[n:], weights=(outcomes.right + outcomes.wrong)[n:])
        return cls(
            [*names, f"{len(outcomes) - n:,} other regions"],
            np.append(outcomes.right[:n], right),
            np.append(outcomes.wrong[:n], wrong),
            np.append(outcomes.trust[:n], trust),
        )


@dataclass(eq=False, repr=False)
class TrustDisplay(ShownOnOneLine):
    """The paper's chart of regions: for each, the test rows with right and wrong labels, and their mean trust.

    Create it with `from_estimator`. A large hatched part next to high trust marks a region to look into.

    Attributes
    ----------
    outcomes : RegionOutcomes
        Outcomes of all regions with test rows.
    min_trust : float or None
        The minimum trust at which labels are accepted, drawn as a line.
    ax_, figure_
        The axes and the figure, after `plot`.
    ax_trust_ : matplotlib axes
        The axes for trust, at the top.

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
    min_trust: float | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, y: ArrayLike, *, max_regions: int = 12, ax: Axes | None = None
    ) -> Self:
        """Draw how a fitted classifier performs on test rows, by region.

        Parameters
        ----------
        estimator : SEPClassifier
            Fitted; may be inside a search, a `FrozenEstimator` or a `SelectiveClassifier`.
        X, y : rows and their true labels
        max_regions : int
            How many regions, those with the most rows, have a bar of their own; all others share one.
        ax : matplotlib axes, optional

        Returns
        -------
        TrustDisplay
        """
        classifier = partition_of(estimator, cls.__name__)
        outcomes = outcomes_by_region(decide_rows(classifier, X), classifier.regions_, y)
        return cls(outcomes, classifier.min_trust).plot(ax, max_regions=max_regions)

    def plot(self, ax: Axes | None = None, *, max_regions: int = 12) -> Self:
        """Draw on the given axes, or on a new figure."""
        check_number("max_regions", max_regions, least=1, whole=True)
        bars = Bars.of(self.outcomes, max_regions)
        self.ax_ = axes_or_new(ax, (8.5, 1.9 + 0.33 * len(bars.names)))
        self.figure_ = self.ax_.figure
        at = np.arange(len(bars.names))
        edge: dict[str, Any] = {"edgecolor": "black", "linewidth": 0.5}
        self.ax_.barh(at, bars.right, color=RIGHT, label="right", **edge)
        self.ax_.barh(at, bars.wrong, left=bars.right, color=WRONG, hatch=WRONG_HATCH, label="wrong", **edge)
        self.ax_.set_yticks(at, bars.names)
        self.ax_.invert_yaxis()
        self._draw_trust(bars.trust)
        self._frame(int(bars.right.sum()), int(bars.wrong.sum()), is_own=ax is None)
        return self

    def _draw_trust(self, trust: FloatArray) -> None:
        self.ax_trust_ = self.ax_.twiny()
        style: dict[str, Any] = {"color": "black", "linestyle": "--", "linewidth": 1.0, "marker": "D", "markersize": 5}
        self.ax_trust_.plot(trust, np.arange(len(trust)), label="trust (mean)", markerfacecolor="white", **style)
        if self.min_trust is not None:
            text = f"accepted from {self.min_trust:g}"
            self.ax_trust_.axvline(self.min_trust, color="0.4", linestyle=":", linewidth=1.2, label=text)
        self.ax_trust_.set_xlim(0.0, 1.02)
        self.ax_trust_.set_xlabel("trust")

    def _frame(self, n_right: int, n_wrong: int, is_own: bool) -> None:
        from matplotlib.ticker import MaxNLocator

        self.ax_.set_xlabel(f"test rows: {n_right:,} right, {n_wrong:,} wrong")
        self.ax_.set_ylabel("region and predicted label")
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_xlim(0.0, 1.04 * self.ax_.dataLim.x1)
        entries = [self.ax_.get_legend_handles_labels(), self.ax_trust_.get_legend_handles_labels()]
        pairs = [pair for some in entries for pair in zip(*some, strict=True)]
        place_legend(self.ax_, pairs, is_own=is_own)


# More points than a screen has pixels cannot be seen.
MOST_POINTS = 2_000
RISK = "sepc risk-coverage"


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
        how = look(sum(drawn_line.get_gid() == RISK for drawn_line in self.ax_.get_lines()))
        options: dict[str, Any] = {"color": how.colour, "linestyle": how.dashes, "linewidth": 1.8, **line}
        kept = np.unique(np.linspace(0, len(self.curve.risk) - 1, MOST_POINTS).round().astype(np.int64))
        text = f"{for_matplotlib(self.name)} (AURC {self.curve.aurc:.3g})"
        (self.line_,) = self.ax_.plot(self.curve.coverage[kept], self.curve.risk[kept], label=text, **options)
        self.line_.set_gid(RISK)
        if self.accepted is not None:
            style: dict[str, Any] = {
                "markersize": 9,
                "markeredgecolor": "black",
                "linestyle": "",
                "gid": f"{RISK}: accepted",
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
        ours = [line for line in self.ax_.get_lines() if str(line.get_gid()).startswith(RISK)]
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
