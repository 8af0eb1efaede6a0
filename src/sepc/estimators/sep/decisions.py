"""Decisions of an `SEPClassifier`: where rows lie in its partition, and what that says of their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.decisions.decisions import Decision, Decisions
from sepc.decisions.row_wise import SHARED
from sepc.estimators.sep.reasons import sentences_about
from sepc.model.rules import judge
from sepc.model.sep_model import SEPModel
from sepc.model.terms import Term, Terms, terms_of


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SEPDecisions(Decisions):
    """Decisions of an `SEPClassifier`, as arrays of one entry a row.

    Attributes
    ----------
    label, trust, accepted, cause, probabilities, region, classes, index, by
        As in `Decisions`. A region is a row of `SEPClassifier.regions_`: the set of ellipsoids a row lies in, or what
        is nearest for a row outside.
    rule : array of `Rule`
        Which rule of the paper gave the counts.
    gauge : array of float
        How far out the row lies: in the ellipsoid it lies deepest in, below 1; outside, in the nearest one, above 1.
    place : array of int
        For rows outside, the nearest ellipsoid, or the nearest isolated row numbered after the ellipsoids; else -1.
    counts : (n, C) array of int
        Training rows of each class where the row lies.
    counts_label : array
        The label that these counts alone give; where it is another than `label`, the case is worth a look.
    """

    model: SEPModel = field(metadata=SHARED)
    rows: FloatArray
    rule: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]

    @classmethod
    def of(cls, model: SEPModel, rows: FloatArray, min_trust: float) -> Self:
        """Decide on rows given in the user's own features."""
        judged = vars(judge(model, rows, min_trust))
        return cls(model=model, classes=model.classes, rows=rows, by="SEPClassifier", **judged)

    def alone(self) -> SEPDecision:
        """The only decision, as single values."""
        return SEPDecision(self)

    def terms(self) -> Terms:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        label = np.searchsorted(self.model.classes, self.label)
        return terms_of(self.model, self.rows, label, self.gauge)

    def renamed(self, features: Sequence[str]) -> Self:
        """The same with reasons that call the features by these names."""
        if len(features) != len(self.model.feature_names):
            return self
        return replace(self, model=replace(self.model, feature_names=tuple(features)))

    def own_columns(self) -> dict[str, Any]:
        """Columns that only decisions of this class have."""
        columns = {"rule": self.rule, "gauge": self.gauge, "counts_label": self.counts_label}
        return columns | {f"n_{label}": self.counts[:, i] for i, label in enumerate(self.classes)}

    def reason_parts(self) -> list[str]:
        """What there is to say of the only decision, but whether it is accepted."""
        return sentences_about(self.alone())


@dataclass(frozen=True, eq=False, repr=False)
class SEPDecision(Decision):
    """The decision on one row; its attributes are those of `SEPDecisions`, as single values."""

    alone: SEPDecisions

    def terms(self) -> Term:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        return self.alone.terms()[0]
