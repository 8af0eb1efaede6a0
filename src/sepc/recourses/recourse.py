"""Recourse (counterfactual explanations): what would have to change for a row to be accepted with a label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc.cards import Card, ShownAsCard
from sepc.decisions.decisions import Decision
from sepc.decisions.frames import frame_of
from sepc.recourses.answers import Answer
from sepc.recourses.reaching import Leaf
from sepc.recourses.words import sentences_about
from sepc.wording import counted, decimal, deviations, listed, name_of, shown, visible

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Recourse(ShownAsCard):
    """What would have to change for a row to be accepted with a label: counterfactuals and a lower bound on their cost.

    Attributes
    ----------
    to : object
        The target label.
    decision : Decision
        The model's decision on the row as given.
    answers : tuple of Answer
        Counterfactual rows that the model accepts with the label, within all limits and in an ellipsoid of the label;
        any two have less than half of their squared costs in common, and the cheapest comes first. If changes of other
        rows are known, usual answers come before others. Empty if none was found.
    bound : float
        A lower bound on the cost of all rows in an ellipsoid of the label within the limits; infinite if there are
        none. Rows outside these ellipsoids may still be accepted: the bound does not cover them. If the model has
        standalone features, such as monotone ones, it is a lower bound on the cost of those rows that are accepted.
    proof : sequence of Leaf
        The branches of the search for the cost of reaching an ellipsoid, each with a half-space that contains it.
    blocking : tuple of str
        If there are no such rows: limits that together rule them out, all of which are needed to do so. Empty if there
        would be no such rows even without these limits.
    loose : tuple of str
        Relations that the bound does not fully include, since they are not linear: all answers satisfy them, and the
        bound holds, but it may be lower than it would be with them.
    accepting : float
        If the model has standalone features: a lower bound on the cost of acceptance, from what all curves together can
        add to the log-odds; 0 otherwise. `bound` is the higher one of this and of the cost of reaching an ellipsoid.
    """

    to: Any
    decision: Decision
    answers: tuple[Answer, ...]
    bound: float
    proof: Sequence[Leaf]
    blocking: tuple[str, ...]
    loose: tuple[str, ...] = ()
    accepting: float = 0.0

    @property
    def is_reachable(self) -> bool:
        """Whether an ellipsoid of the label may be reached within the limits."""
        return bool(np.isfinite(self.bound))

    def why(self) -> str:
        """The first answer, or why there is none, in a few sentences."""
        return sentences_about(self)

    def to_frame(self) -> pd.DataFrame:
        """The answers as a pandas DataFrame with one row for each feature that changes."""
        each = [(i, change) for i, answer in enumerate(self.answers, start=1) for change in answer.changes]
        columns = {
            "answer": np.array([i for i, _ in each], dtype=np.int64),
            "feature": _objects([change.feature for _, change in each]),
            "before": _objects([change.before for _, change in each]),
            "after": _objects([change.after for _, change in each]),
            "cost": np.array([change.cost for _, change in each], dtype=np.float64),
        }
        return frame_of(columns, None)

    def _card(self) -> Card:
        now = f"{name_of(self.decision.label)} with trust {decimal(self.decision.trust)}"
        facts = [
            ("now", now),
            ("cost at least", deviations(self.bound) if self.is_reachable else "unreachable"),
        ]
        if self.loose:
            facts.append(("bound leaves out", listed(self.loose, 2)))
        rows = tuple(line for i, answer in enumerate(self.answers, start=1) for line in _lines(i, answer))
        title = f"Recourse to {shown(self.to)}: {counted(len(self.answers), 'answer')}"
        head = ("answer", "cost", "trust", "change") if rows else ()
        return Card(title, tuple(facts), head, rows, note="print() shows all changes, and why() says it in words.")

    def __str__(self) -> str:
        """All answers with all their changes, the cheapest answer first."""
        card = self._card()
        lines = [visible(card.title), *(f"  {name}: {visible(value)}" for name, value in card.facts)]
        for i, answer in enumerate(self.answers, start=1):
            lines += [f"  {i}. {answer.summary}", *(f"     {visible(change.words)}" for change in answer.changes)]
            lines += [] if answer.changes else ["     nothing has to change"]
        return "\n".join(lines)


def _lines(i: int, answer: Answer) -> list[tuple[str, ...]]:
    """The lines of a card about an answer: the first with its cost, and one for each change."""
    words = [change.words for change in answer.changes] or ["nothing"]
    first = (str(i), f"{answer.cost:.3g}", decimal(answer.decision.trust))
    return [(*(first if n == 0 else ("", "", "")), text) for n, text in enumerate(words)]


def _objects(values: Sequence[Any]) -> Any:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
