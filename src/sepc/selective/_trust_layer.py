"""How far to trust labels that another model gave: its own confidence, weighed with what a partition says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.calibration import Calibration
from sepc.regions.causes import causes
from sepc.regions.decisions import Decision, Decisions
from sepc.regions.frames import column_of_names, frame_of
from sepc.regions.kinds import Cause, Rule
from sepc.regions.model import SEPModel
from sepc.regions.reasons import other_side, shown, verdict, where
from sepc.regions.rowwise import OneRow, RowWise

if TYPE_CHECKING:
    import pandas as pd

# Probabilities are kept this far from 0 and 1, where log-odds are infinite.
NEVER_CERTAIN = 1e-3

# Before rows have said otherwise, the base model and the partition have an equal say: the mean of their log-odds. This
# many rows' worth of penalty holds them there. Both were settled on the first drawing of the comparison, where 1 to 30
# differ little, and where the base model's margin and the partition's agreement added nothing.
N_SIGNALS = 2
EQUAL_SAY = 0.5
PENALTY = 20.0

# Trust fades from this many times the size of the nearest ellipsoid on, with this power of the gauge: later than the
# partition's own probabilities, which are faded already where they enter, and as late as far rows stay refused.
FADING_BEGINS = 2.5
FADING_POWER = 2


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
        given = positions(estimator.classes_, label)
        return cls(label, probability_of(np.asarray(estimator.predict_proba(X)), given))


def signals(labelled: Labelled, decided: Decisions) -> FloatArray:
    """Log-odds of the labels, of shape (n, 2): by the base model (0 where it does not say), and by the partition."""
    support = probability_of(decided.probabilities, positions(decided.model.classes, labelled.label))
    both = np.column_stack([labelled.confidence, support])
    return np.asarray(np.nan_to_num(logit(np.clip(both, NEVER_CERTAIN, 1.0 - NEVER_CERTAIN))))


def learn(given: FloatArray, correct: BoolArray) -> Calibration:
    """How signals on unseen rows go with labels' being right."""
    return Calibration.learnt(given, correct, towards=EQUAL_SAY, penalty=PENALTY)


def probability_of(probabilities: FloatArray, given: IntArray) -> FloatArray:
    """The probability of each given class; none for a class that is not known (-1)."""
    return np.where(given >= 0, probabilities[np.arange(len(given)), given], 0.0)


def positions(classes: NDArray[Any], labels: NDArray[Any]) -> IntArray:
    """Where each label stands in the sorted `classes`; -1 if it does not."""
    found = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[found] == labels, found, -1)


@dataclass(frozen=True, eq=False)
class TrustModel:
    """Everything that trust in another model's labels needs, but that model.

    Attributes
    ----------
    partition : SEPModel
    calibration : Calibration
        From the signals of a label to the probability that it is right.
    base : str
        What the other model is called.
    """

    partition: SEPModel
    calibration: Calibration
    base: str

    def judge(self, labelled: Labelled, decided: Decisions, min_trust: float) -> TrustedDecisions:
        """How far to trust the labels of rows that the partition has decided on."""
        trust = self._faded(self.calibration.apply(signals(labelled, decided)), decided.gauge)
        accepted = trust >= min_trust
        cause = np.full(len(trust), int(Cause.ACCEPTED))
        refused = np.flatnonzero(~accepted)
        standardized = self.partition.standardize(decided.rows[refused])
        cause[refused] = causes(self.partition, standardized, decided.rule[refused] != Rule.NEAREST, min_trust)
        return TrustedDecisions(
            model=self,
            label=labelled.label,
            trust=trust,
            accepted=accepted,
            cause=cause,
            confidence=labelled.confidence,
            partition=decided,
        )

    def _faded(self, trust: FloatArray, gauge: FloatArray) -> FloatArray:
        """Trust, drawn towards that of a guess where nothing was seen, however sure the base model is."""
        left = (FADING_BEGINS / np.maximum(gauge, FADING_BEGINS)) ** FADING_POWER
        guess = 1.0 / max(2, len(self.partition.classes))
        return np.asarray(left * trust + (1.0 - left) * guess)


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
        Why a row was not accepted, by the training rows around it.
    confidence : array of float
        The other model's own probability of its label; NaN if it gives none.
    support : array of float
        The partition's probability of that label.
    agreement : array of bool
        Whether the partition gives that label too.
    region : array of int
        Where the row lies: row of the partition's `regions_`.
    gauge : array of float
        How far out the row lies in the partition, as in `Decisions`.
    partition : Decisions
        What the partition alone decides.
    """

    model: TrustModel
    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray
    cause: IntArray
    confidence: FloatArray
    partition: Decisions

    @property
    def rows(self) -> FloatArray:
        """The rows in the features of the partition."""
        return self.partition.rows

    @property
    def support(self) -> FloatArray:
        """The partition's probability of the label."""
        given = positions(self.model.partition.classes, self.label)
        return probability_of(self.partition.probabilities, given)

    @property
    def agreement(self) -> BoolArray:
        """Whether the partition gives the label too."""
        return np.asarray(self.partition.label == self.label)

    @property
    def region(self) -> IntArray:
        """Where the row lies."""
        return self.partition.region

    @property
    def gauge(self) -> FloatArray:
        """How far out the row lies."""
        return self.partition.gauge

    def alone(self) -> TrustedDecision:
        """The only decision, as single values."""
        return TrustedDecision(self)

    def to_frame(self) -> pd.DataFrame:
        """The decisions as a pandas DataFrame, with names for causes."""
        columns = {name: getattr(self, name) for name in ("label", "trust", "accepted")}
        columns["cause"] = column_of_names(Cause, self.cause)
        names = ("confidence", "support", "agreement", "region", "gauge")
        return frame_of(columns | {name: getattr(self, name) for name in names})


@dataclass(frozen=True, eq=False)
class TrustedDecision(OneRow):
    """Trust in one label; its attributes are those of `TrustedDecisions`, as single values."""

    kinds = {"cause": Cause}
    alone: TrustedDecisions

    def __repr__(self) -> str:
        return f"TrustedDecision({self.label!r}, trust={self.trust:.3f}, {self.cause.name})"

    def why(self) -> str:
        """The reasons in words: how sure the other model is, where the row lies, and what the partition says of it."""
        decision: Decision = self.partition
        sure = "" if np.isnan(self.confidence) else f", itself {_percent(self.confidence)} sure"
        told = f"{shown(self.label)} by {self.model.base}{sure}, with trust {self.trust:.3f}: {where(decision)}."
        sentences = [told, self._agreeing(decision), other_side(decision), verdict(self.cause)]
        return " ".join(sentence for sentence in sentences if sentence)

    def _agreeing(self, decision: Decision) -> str:
        if self.agreement:
            return f"The partition agrees ({_percent(self.support)})."
        own = f"The partition says {shown(decision.label)} ({_percent(decision.trust)})"
        return f"{own} and gives {shown(self.label)} {_percent(self.support)}."


def _percent(share: float) -> str:
    """A probability as in "97.1 %"; only certainty is 100 %."""
    told = f"{100.0 * share:.1f} %"
    return "over 99.9 %" if share < 1.0 and told == "100.0 %" else told
