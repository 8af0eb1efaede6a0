"""TrustDisplay: right and wrong rows of every region, and their mean trust."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.estimators.base import decide_rows
from sepc.plot.canvas import axes_or_new, for_matplotlib, place_legend
from sepc.plot.models import partition_of
from sepc.plot.palette import RIGHT, WRONG, WRONG_HATCH
from sepc.views.outcomes import RegionOutcomes, outcomes_by_region
from sepc.wording import check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
