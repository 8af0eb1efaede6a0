"""RecourseDisplay: what changes in a counterfactual, next to the usual range of the target label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepc.cards import ShownOnOneLine
from sepc.plot.axes import ALONG_AXIS, COLOURS, axes_or_new, for_matplotlib, place_legend
from sepc.recourses.recourse import Answer, FeatureChange, Recourse
from sepc.wording import counted, decimal, short, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The most changes to draw; the cheapest are left out.
MOST_CHANGES = 12
LONGEST_TITLE = 80
USUAL = "0.85"
# Height of a figure in inches, per change and for everything else.
LINE, REST = 0.36, 1.3


@dataclass(eq=False, repr=False)
class RecourseDisplay(ShownOnOneLine):
    """An answer of a `Recourse` (a counterfactual): one line per feature that changes, the most costly first.

    Create it with `from_recourse`. The hollow marker is the row as it is, the filled one the answer, in standard
    deviations from the mean of the training rows; a category is placed by its target encoding. The grey bar covers the
    middle 80 % of the label's training cases.

    Attributes
    ----------
    recourse : Recourse
    answer : Answer
    ax_ : matplotlib axes
    figure_ : matplotlib figure
        After `plot`.
    """

    recourse: Recourse
    answer: Answer

    @classmethod
    def from_recourse(cls, recourse: Recourse, answer: int = 0, *, ax: Axes | None = None) -> Self:
        """Draw one of the answers.

        Parameters
        ----------
        recourse : Recourse
        answer : int, default=0
            Which of ``recourse.answers``.
        ax : matplotlib axes, optional
            By default those of a new figure.

        Returns
        -------
        RecourseDisplay

        Examples
        --------
        >>> import matplotlib
        >>> matplotlib.use("Agg")
        >>> from sklearn.datasets import load_iris
        >>> import sepc
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> found = sepc.recourse(sepc.SEPClassifier().fit(X, y), X.iloc[[60]], to=2)
        >>> display = sepc.plot.RecourseDisplay.from_recourse(found)
        """
        if not -len(recourse.answers) <= answer < len(recourse.answers):
            why = recourse.why() if not recourse.answers else f"there are {len(recourse.answers)}."
            raise ValueError(f"There is no answer {answer} to draw: {why}")
        return cls(recourse, recourse.answers[answer]).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the answer on the given axes, or on a new figure."""
        changes = self.answer.changes[:MOST_CHANGES]
        self.ax_ = axes_or_new(ax, (7.2, REST + LINE * max(len(changes), 1)))
        self.figure_: Any = self.ax_.figure
        for y, change in enumerate(changes):
            _draw(self.ax_, y, change)
        self.ax_.set_yticks(
            range(len(changes)), [for_matplotlib(_change_text(change), ALONG_AXIS) for change in changes]
        )
        self.ax_.set_ylim(len(changes) - 0.4, -0.6)
        self.ax_.use_sticky_edges = False
        self.ax_.margins(x=0.04)
        self.ax_.set_xlabel("standard deviations from the mean of training rows")
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.set_title(self._title(), loc="left", fontsize="medium")
        self._legend(is_own=ax is None)
        return self

    def _title(self) -> str:
        label, trust = shown(self.recourse.to), decimal(self.answer.decision.trust)
        left_out = len(self.answer.changes) - MOST_CHANGES
        more = f" ({counted(left_out, 'smaller change')} not shown)" if left_out > 0 else ""
        return for_matplotlib(
            f"To be {label} with trust {trust}, at a cost of {self.answer.cost:.3g}{more}", LONGEST_TITLE
        )

    def _legend(self, is_own: bool) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        marks: dict[str, Any] = {"ls": "", "marker": "o", "color": COLOURS[0]}
        entries: list[tuple[Any, str]] = [
            (Line2D([], [], mfc="white", **marks), "now"),
            (Line2D([], [], **marks), "answer"),
            (Patch(color=USUAL), for_matplotlib(f"usual for {short(shown(self.recourse.to), 16)}")),
        ]
        place_legend(self.ax_, entries, is_own=is_own)


def _draw(ax: Axes, y: int, change: FeatureChange) -> None:
    span, colour = change.deviations, COLOURS[0]
    if np.isfinite(span.low):
        ax.barh(y, max(span.high - span.low, 0.03), left=span.low, height=0.56, color=USUAL, zorder=1)
    arrow = {"arrowstyle": "-|>", "color": colour, "shrinkA": 4, "shrinkB": 3, "lw": 1.4}
    ax.annotate("", (span.after, y), (span.before, y), arrowprops=arrow, zorder=2)
    ax.plot(span.before, y, "o", mfc="white", mec=colour, ms=7, zorder=3)
    ax.plot(span.after, y, "o", color=colour, ms=7, zorder=3)


def _change_text(change: FeatureChange) -> str:
    """The feature and its change, such as "months 42 → 30"."""
    before_and_after = change.words.removeprefix(f"{change.feature} from ").replace(" to ", " → ", 1)
    return short(f"{change.feature} {before_and_after}", ALONG_AXIS)
