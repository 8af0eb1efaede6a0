"""RecourseDisplay: what changes in a counterfactual, next to the usual range of the target label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from sepc.documents.charts import Axis, Bars, Chart, Line, Points
from sepc.plot._axes import Display
from sepc.recourses.recourse import Answer, FeatureChange, Recourse
from sepc.wording import decimal, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The most changes to draw; the cheapest are left out.
MOST_CHANGES = 12


@dataclass(eq=False, repr=False)
class RecourseDisplay(Display):
    """An answer of a `Recourse` (a counterfactual): one line per feature that changes, the most costly first.

    Create it with `from_recourse`. The hollow marker is the row as it is, the filled one the answer, in standard
    deviations from the mean of the training rows; a category is placed by its target encoding. The grey bar covers the
    middle 80 % of the label's training cases.

    Attributes
    ----------
    recourse : Recourse
    answer : Answer
    ax_, figure_
        The axes and the figure, after `plot`.
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
        return cls(recourse, recourse.answers[answer]).plot(ax)

    def _chart(self, look: int) -> Chart:
        changes = self.answer.changes[:MOST_CHANGES]
        spans = [change.deviations for change in changes]
        usual = [
            (span.low, max(span.high, span.low + 0.03), i - 0.3, i + 0.3)
            for i, span in enumerate(spans)
            if np.isfinite(span.low)
        ]
        before, after = [span.before for span in spans], [span.after for span in spans]
        ends = [*before, *after, *(end for box in usual for end in box[:2])]
        room = 0.04 * (max(ends) - min(ends)) or 0.1
        marks: list[Any] = [
            Bars(usual, "other", f"usual for {shown(self.recourse.to)}", shades=[0.3] * len(usual)),
            *(Line([a, b], [i, i], "accent") for i, (a, b) in enumerate(zip(before, after, strict=True))),
            Points(before, range(len(before)), "accent", "now", is_hollow=True, size=4.0),
            Points(after, range(len(after)), "accent", "answer", size=4.0),
        ]
        label, trust = shown(self.recourse.to), decimal(self.answer.decision.trust)
        title = f"To be {label} with trust {trust}, at a cost of {self.answer.cost:.3g}"
        if len(self.answer.changes) > MOST_CHANGES:
            title += f"; the {MOST_CHANGES} largest changes"
        rows = [(_change_text(change), "") for change in changes]
        x = Axis("standard deviations from the mean of training rows", min(ends) - room, max(ends) + room)
        return Chart("recourse", title, "; ".join(text for text, _ in rows), x, Axis(ticks=()), marks, rows=rows)


def _change_text(change: FeatureChange) -> str:
    """The feature and its change, such as "months 42 → 30"."""
    before_and_after = change.words.removeprefix(f"{change.feature} from ").replace(" to ", " → ", 1)
    return f"{change.feature} {before_and_after}"
