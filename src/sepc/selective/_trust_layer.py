"""How far to trust labels that another model gave: its own confidence, weighed with what a forest says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.calibration import Calibration
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause
from sepc.regions.reasons import shown, verdict
from sepc.regions.rowwise import OneRow, RowWise
from sepc.selective._forest_model import ForestModel, causes
from sepc.selective._forest_reasons import explain_forest

if TYPE_CHECKING:
    import pandas as pd

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-3

# Before rows have said otherwise, the base model and the forest have an equal say: the mean of their log-odds. This
# many rows' worth of penalty holds them there; with less, small sets lose, and with more, large ones gain nothing.
EQUAL_SAY = 0.5
PENALTY = 30.0


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels of rows by the base model, and its own confidence in each; NaN if it has none."""

    label: NDArray[Any]
    confidence: FloatArray

    @classmethod
    def by(cls, estimator: Any, X: Any) -> Labelled:
        """Ask a fitted classifier; its confidence is the probability it gives to its own label."""
        label = np.asarray(estimator.predict(X))
        if not hasattr(estimator, "predict_proba"):
            return cls(label, np.full(len(label), np.nan))
        probabilities, given = np.asarray(estimator.predict_proba(X)), positions(estimator.classes_, label)
        return cls(label, np.where(given >= 0, probabilities[np.arange(len(label)), given], 0.0))


@dataclass(frozen=True, eq=False)
class TrustModel:
    """Everything that trust in another model's labels needs, but that model.

    Attributes
    ----------
    forest : ForestModel
    calibration : Calibration
        From the log-odds of the label, by the base model and by the forest, to the probability that it is right.
    base : str
        What the other model is called.
    """

    forest: ForestModel
    calibration: Calibration
    base: str

    def decide(self, rows: FloatArray, labelled: Labelled, min_trust: float) -> TrustedDecisions:
        """How far to trust the labels of `rows`, given in the features of the forest."""
        poll = self.forest.poll(rows)
        given = positions(self.forest.classes, labelled.label)
        support = supports(self.forest.platt.apply(poll.average), given)
        trust = self.calibration.apply(signals(labelled.confidence, support))
        accepted, agreement = trust >= min_trust, poll.agreement(given)
        return TrustedDecisions(
            model=self,
            rows=rows,
            label=labelled.label,
            trust=trust,
            accepted=accepted,
            cause=causes(accepted, agreement, poll.outside, min_trust),
            confidence=labelled.confidence,
            support=support,
            agreement=agreement,
            outside=poll.outside,
        )


def learn(confidence: FloatArray, support: FloatArray, correct: BoolArray) -> Calibration:
    """How confidence and support of labels on unseen rows go with their being right."""
    return Calibration.learnt(signals(confidence, support), correct, towards=EQUAL_SAY, penalty=PENALTY)


def signals(confidence: FloatArray, support: FloatArray) -> FloatArray:
    """Log-odds of the labels, of shape (n, 2): by the base model (0 where it does not say), and by the forest."""
    odds = [logit(np.clip(values, NEVER_CERTAIN, 1.0 - NEVER_CERTAIN)) for values in (confidence, support)]
    return np.nan_to_num(np.column_stack(odds))


def supports(probabilities: FloatArray, given: IntArray) -> FloatArray:
    """The forest's probability of each given class; none for a class it does not know (-1)."""
    return np.where(given >= 0, probabilities[np.arange(len(given)), given], 0.0)


def positions(classes: NDArray[Any], labels: NDArray[Any]) -> IntArray:
    """Where each label stands in the sorted `classes`; -1 if it does not."""
    found = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[found] == labels, found, -1)


@dataclass(frozen=True, eq=False)
class TrustedDecisions(RowWise["TrustedDecision"]):
    """How far to trust another model's labels, as arrays of one entry a row.

    A whole number gives one `TrustedDecision`; a slice, a mask or an array of positions gives fewer.

    Attributes
    ----------
    label : array
        The other model's labels.
    trust : array of float
        The probability that the label is right.
    accepted : array of bool
        Whether the trust reaches `min_trust`; the rest should go to a person.
    cause : array of `Cause`
        Why a row was not accepted: OUTSIDE if it is far from all that more than half of the members have seen; else
        THIN if a share of at least `min_trust` of the members give its label; else OVERLAP.
    confidence : array of float
        The other model's own probability of its label; NaN if it gives none.
    support : array of float
        The forest's probability of that label.
    agreement : array of float
        Share of the forest's members that give that label.
    outside : array of float
        Share of the members that have seen nothing near the row.
    """

    model: TrustModel
    rows: FloatArray
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    cause: IntArray
    confidence: FloatArray
    support: FloatArray
    agreement: FloatArray
    outside: FloatArray

    def alone(self) -> TrustedDecision:
        """The only decision, as single values."""
        return TrustedDecision(self)

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with names for causes."""
        columns = {name: getattr(self, name) for name in ("label", "trust", "accepted")}
        columns["cause"] = column_of_names(Cause, self.cause)
        columns |= {name: getattr(self, name) for name in ("confidence", "support", "agreement", "outside")}
        return frame_of(columns)


@dataclass(frozen=True, eq=False)
class TrustedDecision(OneRow):
    """Trust in one label; its attributes are those of `TrustedDecisions`, as single values."""

    kinds = {"cause": Cause}
    alone: TrustedDecisions

    def __repr__(self) -> str:
        return f"TrustedDecision({self.label!r}, trust={self.trust:.3f}, {self.cause.name})"

    def why(self) -> str:
        """The reasons in words: how sure the other model is, and what the forest has to say of its label."""
        sure = "" if np.isnan(self.confidence) else f", itself {self.confidence:.3f} sure"
        told = (
            f"{shown(self.label)} by {self.model.base}{sure}, with trust {self.trust:.3f}. Of the forest's partitions, "
            f"{explain_forest(self.model.forest, self.rows, self.label, self.agreement, self.outside)}"
        )
        return " ".join(part for part in (told, verdict(self.cause)) if part)
