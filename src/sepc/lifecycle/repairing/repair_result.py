"""RepairResult: what a repair changed, as a table, a picture and a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sepc.cards import Card, ShownAsCard
from sepc.estimators.repaired.changes import Change
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.unwrapping import layers
from sepc.lifecycle.results.charts import Chart, Pair, PairChart
from sepc.lifecycle.results.result import Result
from sepc.wording import counted

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(Result, ShownAsCard):
    """What a repair changed: `summary` in words, `to_frame` as a table, `plot` as a picture, `to_html` as a page.

    Attributes
    ----------
    model : RepairedClassifier

    Examples
    --------
    >>> import numpy as np
    >>> from sepc import SEPClassifier
    >>> from sepc.lifecycle import RepairResult, repair
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1.0, 1.0, size=(2000, 2))
    >>> y = np.where(X[:, 0] > 0.0, "right", "left")
    >>> classifier = SEPClassifier().fit(X[:1000], y[:1000])
    >>> y[np.abs(X - 0.5).max(axis=1) < 0.2] = "left"  # a corner has changed
    >>> result = RepairResult.of(repair(classifier, X[1000:], y[1000:]))
    >>> page = result.to_html()
    """

    model: RepairedClassifier

    @classmethod
    def of(cls, model: Any) -> Self:
        """The result of the repair behind a model, also inside a pipeline or a `SelectiveClassifier`."""
        for layer in layers(model):
            if isinstance(layer.classifier, RepairedClassifier):
                return cls(layer.classifier)
        raise TypeError(f"{type(model).__name__} was not repaired; give the result of sepc.lifecycle.repair.")

    def summary(self) -> str:
        """What was changed, in words."""
        return self.model.summary()

    def __str__(self) -> str:
        return self.summary()

    def to_frame(self) -> pd.DataFrame:
        """The changes as a pandas DataFrame, a row for each region that was tried."""
        return self.model.changes_.to_frame()

    def _card(self) -> Card:
        return self.model.changes_._card()

    def _chart(self) -> Chart:
        """The error rates of regions before and after, on rows that the new model was not fitted on."""
        changes = self.model.changes_
        names = [row[0] for row in self._card().rows]
        pairs = [
            Pair(name, change.errors_before / change.n_judged, change.errors_after / change.n_judged, _outcome(change))
            for name, change in zip(names, changes, strict=True)
            if change.n_judged
        ]
        keys = ("before", "after, with the new model")
        return PairChart("Errors of the regions tried, on held-out rows", "share of rows wrong", keys, pairs)

    def _page_title(self) -> str:
        return "Repair"


def _outcome(change: Change) -> str:
    return f"{'repaired' if change.kept else 'left as it was'}, judged on {counted(change.n_judged, 'row')}"
