"""WeightsDisplay: shape functions of the most important features, and the weights of ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray
from sepc.cards import ShownOnOneLine
from sepc.model.sep_model import SEPModel
from sepc.plot.axes import for_matplotlib, look, panels, partition_of
from sepc.views.log_odds import (
    Contrast,
    Curve,
    EllipsoidWeight,
    categories_by_feature,
    contrast_of,
    curves_of,
    ellipsoid_weights,
)
from sepc.wording import check_number, counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The colour of all other classes together, if there are more than two.
OTHERS = "0.62"
FILLED = 0.55
# The share of a panel's height, at its foot, for the histogram of rows.
FOOT = 0.17
DENSITY = "0.45"
# With fewer ellipsoids than this, the rest of the panel stays empty, so that bars are not huge.
FEWEST_BARS = 7
# Names of categories stand upright, so that none covers the next, if together they have more letters than this.
LETTERS_ALONG = 20
# The longest names of categories, along the axis and upright.
LONGEST_ALONG, LONGEST_UPRIGHT = 12, 20


@dataclass(eq=False, repr=False)
class WeightsDisplay(ShownOnOneLine):
    """The weights of an `SEPClassifier`: shape functions of features, and weights of ellipsoids.

    Create it with `from_estimator`. Each curve is a shape function: what a feature adds to the log-odds of a class
    against the other class or, with more classes, against their average; the terms of a row add up. Positive terms
    favour the class, negative ones count against it. All curves share one scale; a feature with few distinct values
    has bars instead. The histogram at the foot shows where rows lie: a curve means little where there are none. The
    title says how many features matter, if some have no weight. Below the name of a monotone feature it says whether
    its curve only rises or only falls, as long as that is proved.

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
        The axes of the curves, after `plot`.
    ax_ellipsoids_ : matplotlib axes or None
        The axes of the ellipsoids; None if there are no ellipsoids, or fewer axes were given.
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
            A single one is divided into panels. Otherwise one per curve, and one more for the ellipsoids.

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
        self.axes_, self.ax_ellipsoids_, is_first = panels(ax, len(self.curves), with_last=bool(self.ellipsoids))
        self.figure_ = self.axes_[0].figure
        low, high = self._heights()
        for axes, curve, first in zip(self.axes_, self.curves, is_first, strict=True):
            self._draw_curve(axes, curve)
            axes.set_ylim(low - FOOT / (1.0 - FOOT) * (high - low), high)
            axes.set_yticks([tick for tick in axes.get_yticks() if low <= tick <= high])
            proved = f"\n(monotone: {curve.proved})" if curve.proved else ""
            axes.set_xlabel(f"{for_matplotlib(curve.name, 30)}{proved}")
            if first:
                label = for_matplotlib(self._label, 14)
                axes.set_ylabel(f"log-odds of {label}\nagainst {self._against}", fontsize="small")
            else:
                axes.tick_params(labelleft=False)
        if self.ax_ellipsoids_ is not None:
            self._draw_ellipsoids(self.ax_ellipsoids_)
        matters = self._matters
        if not matters.all():
            self.axes_[0].set_title(f"{matters.sum():,} of {len(matters):,} features matter", fontsize="small")
        return self

    @property
    def _matters(self) -> BoolArray:
        return np.ones(0, dtype=bool) if self.model.weights is None else self.model.weights.matters

    @property
    def _label(self) -> Any:
        return self.model.classes[self.contrast.label]

    @property
    def _against(self) -> str:
        other = self.contrast.against
        return "the average of the others" if other is None else for_matplotlib(self.model.classes[other], 14)

    def _heights(self) -> tuple[float, float]:
        """The range of all curves, with a margin."""
        terms = np.concatenate([[0.0], *(curve.term for curve in self.curves)])
        room = 0.08 * float(np.ptp(terms)) or 0.1
        return float(terms.min()) - room, float(terms.max()) + room

    def _draw_curve(self, ax: Axes, curve: Curve) -> None:
        colour = look(self.contrast.label).colour
        other = OTHERS if self.contrast.against is None else look(self.contrast.against).colour
        ax.axhline(0.0, color="0.3", linewidth=0.8)
        if curve.is_discrete:
            at = np.arange(len(curve.x))
            colours = [colour if term > 0.0 else other for term in curve.term]
            ax.bar(at, curve.term, 0.8, color=colours, edgecolor="0.15", linewidth=0.6)
            step = 1 + (len(at) - 1) // 8
            names = curve.categories[::step]
            is_long = len("".join(names)) > LETTERS_ALONG
            longest = LONGEST_UPRIGHT if is_long else LONGEST_ALONG
            texts = [for_matplotlib(name, longest) for name in names] or [f"{value:.6g}" for value in curve.x[::step]]
            ax.set_xticks(at[::step], texts, rotation=90 if is_long else 0, fontsize="small" if is_long else None)
            ax.set_xlim(-0.6, len(at) - 0.4)
        else:
            ax.fill_between(curve.x, curve.term, where=curve.term >= 0.0, color=colour, alpha=FILLED, linewidth=0.0)
            ax.fill_between(curve.x, curve.term, where=curve.term <= 0.0, color=other, alpha=FILLED, linewidth=0.0)
            ax.plot(curve.x, curve.term, color="0.1", linewidth=1.2)
            ax.set_xlim(curve.x[0], curve.x[-1])
        _draw_foot(ax, curve)

    def _draw_ellipsoids(self, ax: Axes) -> None:
        at = np.arange(len(self.ellipsoids))
        colours = [look(ellipsoid.owner).colour for ellipsoid in self.ellipsoids]
        ax.barh(
            at,
            [ellipsoid.inside for ellipsoid in self.ellipsoids],
            0.66,
            color=colours,
            edgecolor="0.15",
            linewidth=0.6,
        )
        for y, ellipsoid in zip(at, self.ellipsoids, strict=True):
            if ellipsoid.low is not None and ellipsoid.high is not None:
                for colour, width in (("white", 3.2), ("0.1", 1.3)):
                    ax.plot(
                        [ellipsoid.low, ellipsoid.high], [y, y], color=colour, linewidth=width, solid_capstyle="butt"
                    )
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        owners = [for_matplotlib(self.model.classes[ellipsoid.owner], 14) for ellipsoid in self.ellipsoids]
        names = [f"{ellipsoid.number} of {owner}" for ellipsoid, owner in zip(self.ellipsoids, owners, strict=True)]
        ax.set_yticks(at, names, fontsize="small")
        ax.set_ylim(max(len(at), FEWEST_BARS) - 0.4, -0.6)
        has_line = self.ellipsoids[0].low is not None
        line = "\n(line: 90 % of all rows)" if has_line else ""
        ax.set_xlabel(f"log-odds added by lying inside{line}", fontsize="small")
        n, n_all = len(self.ellipsoids), self.model.n_ellipsoids
        text = counted(n, "ellipsoid") if n == n_all else f"{n} of {n_all:,} ellipsoids"
        order = "\nlargest terms first" if has_line and n > 1 else ""
        ax.set_title(f"{text}{order}", fontsize="small")


def _draw_foot(ax: Axes, curve: Curve) -> None:
    """Draw a histogram of the rows or, without rows, ticks at the knots."""
    foot: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "color": DENSITY, "linewidth": 0.0, "zorder": 0.5}
    if len(curve.n_rows) == 0:
        ax.vlines(curve.knots, 0.0, 0.35 * FOOT, transform=foot["transform"], color=DENSITY, linewidth=0.9)
        return
    tall = 0.85 * FOOT * curve.n_rows / curve.n_rows.max()
    if curve.is_discrete:
        ax.bar(np.arange(len(tall)), tall, 0.8, **foot)
    else:
        ax.bar(curve.edges[:-1], tall, np.diff(curve.edges), align="edge", **foot)
