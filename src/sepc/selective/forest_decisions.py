"""What a forest decides about rows: labels, trust, and reasons that survive the ensemble."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause
from sepc.regions.reasons import shown, verdict
from sepc.regions.rowwise import OneRow, RowWise
from sepc.selective._forest_reasons import explain_forest

if TYPE_CHECKING:
    import pandas as pd

    from sepc.selective._forest_model import ForestModel


@dataclass(frozen=True, eq=False)
class ForestDecisions(RowWise["ForestDecision"]):
    """Decisions of a forest on rows, as arrays of one entry a row.

    A whole number gives one `ForestDecision`; a slice, a mask or an array of positions gives fewer `ForestDecisions`.

    Attributes
    ----------
    label : array
        The predicted labels.
    trust : array of float
        The probability that the label is right.
    accepted : array of bool
        Whether the trust reaches `min_trust`; the rest should go to a person.
    cause : array of `Cause`
        Why a row was not accepted: OUTSIDE if it is far from all that more than half of the members have seen; else
        THIN if a share of at least `min_trust` of the members give its label, each too unsure; else OVERLAP.
    agreement : array of float
        Share of the members that give the label.
    outside : array of float
        Share of the members that have seen nothing near the row.
    probabilities : (n, C) array of float
        Of each class.
    """

    model: ForestModel
    rows: FloatArray
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    cause: IntArray
    agreement: FloatArray
    outside: FloatArray
    probabilities: FloatArray

    def alone(self) -> ForestDecision:
        """The only decision, as single values."""
        return ForestDecision(self)

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with names for causes and a column of probabilities a class."""
        columns = {name: getattr(self, name) for name in ("label", "trust", "accepted")}
        columns |= {"cause": column_of_names(Cause, self.cause)}
        columns |= {"agreement": self.agreement, "outside": self.outside}
        columns |= {f"p_{name}": self.probabilities[:, i] for i, name in enumerate(self.model.classes)}
        return frame_of(columns)


@dataclass(frozen=True, eq=False)
class ForestDecision(OneRow):
    """The decision of a forest on one row; its attributes are those of `ForestDecisions`, as single values."""

    kinds = {"cause": Cause}
    alone: ForestDecisions

    def __repr__(self) -> str:
        return f"ForestDecision({self.label!r}, trust={self.trust:.3f}, {self.cause.name})"

    def why(self) -> str:
        """The reasons in words: who agrees, by which features, and the regions that spoke for it and against it."""
        reasons = explain_forest(self.model, self.rows, self.label, self.agreement, self.outside)
        told = f"{shown(self.label)} with trust {self.trust:.3f}: {reasons}"
        return " ".join(part for part in (told, verdict(self.cause)) if part)
