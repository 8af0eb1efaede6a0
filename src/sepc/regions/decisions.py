"""What is decided about rows: labels, trust, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause, Rule
from sepc.regions.model import SEPModel
from sepc.regions.reasons import explain
from sepc.regions.rowwise import OneRow, RowWise
from sepc.regions.terms import Term, Terms, terms_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Decisions(RowWise["Decision"]):
    """Decisions on rows, as arrays of one entry a row.

    A whole number gives one `Decision`; a slice, a mask or an array of positions gives fewer `Decisions`.

    Attributes
    ----------
    label : array
        The predicted labels.
    trust : array of float
        The probability that the label is right.
    accepted : array of bool
        Whether the trust reaches `min_trust`; the rest should go to a person.
    rule : array of `Rule`
    cause : array of `Cause`
        Why a row was not accepted.
    region : array of int
        Row of `SEPClassifier.regions_`: the set of ellipsoids, or what is nearest for rows outside; -1 for a set of
        ellipsoids in which no training row lies.
    gauge : array of float
        How far out the row lies: in the ellipsoid it lies deepest in, below 1; outside, in the nearest one, above 1.
    place : array of int
        For rows outside, the nearest ellipsoid, or the nearest isolated row numbered after the ellipsoids; else -1.
    counts : (n, C) array of int
        Training rows of each class where the row lies.
    counts_label : array
        The label that these counts alone give; where it is another than `label`, the case is worth a look.
    probabilities : (n, C) array of float
        Of each class.
    """

    model: SEPModel
    rows: FloatArray
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    rule: IntArray
    cause: IntArray
    region: IntArray
    gauge: FloatArray
    place: IntArray
    counts: IntArray
    counts_label: NDArray[Any]
    probabilities: FloatArray

    def alone(self) -> Decision:
        """The only decision, as single values."""
        return Decision(self)

    def terms(self) -> Terms:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        label = np.searchsorted(self.model.classes, self.label)
        return terms_of(self.model, self.rows, label, self.gauge)

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with names for rules and causes and a column of counts a class."""
        columns: dict[str, Any] = {"label": self.label, "trust": self.trust, "accepted": self.accepted}
        columns |= {"rule": column_of_names(Rule, self.rule), "cause": column_of_names(Cause, self.cause)}
        columns |= {"region": self.region, "gauge": self.gauge, "counts_label": self.counts_label}
        columns |= {f"n_{name}": self.counts[:, i] for i, name in enumerate(self.model.classes)}
        return frame_of(columns)


@dataclass(frozen=True, eq=False)
class Decision(OneRow):
    """The decision on one row; its attributes are those of `Decisions`, as single values."""

    kinds = {"rule": Rule, "cause": Cause}
    alone: Decisions

    def __repr__(self) -> str:
        return f"Decision({self.label!r}, trust={self.trust:.3f}, {self.rule.name}, {self.cause.name})"

    def terms(self) -> Term:
        """What each feature and each ellipsoid adds to the log-odds of the label against the runner-up."""
        return self.alone.terms()[0]

    def why(self) -> str:
        """The reasons in a few sentences: where the row lies, who else lies there, what keeps it from other labels."""
        return explain(self)
