"""A fitted forest: its members, how their votes become probabilities, and decisions with reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimator.fitting import Standardization
from sepc.regions.kinds import Cause
from sepc.regions.reasons import listed
from sepc.regions.rowwise import OneRow, RowWise
from sepc.selective._members import Member

# Averages are kept this far from 0 before logarithms are taken.
NEVER_CERTAIN = 1e-3

# The inverse penalty of the ellipsoids' weights. A few hundred ellipsoids share the answer, so each gets little.
INVERSE_PENALTY = 0.1

# Above so many numbers (240 MB) the ellipsoids get no weights.
HEAD_ENTRIES = 3 * 10**7

# A row is outside if more than this share of the members have it in no ellipsoid.
MOSTLY = 0.5

# Reasons look at this share of the members that agree, the surest ones, and name so many features.
SUREST_SHARE = 0.25
NAMED_MOST = 3


@dataclass(frozen=True, eq=False)
class Platt:
    """A multinomial logistic model of the label on log-probabilities; for two classes, Platt's on log-odds.

    Attributes
    ----------
    weights : (C, C) array
        Of the centred log-probabilities, a column a class.
    offsets : (C,) array
    """

    weights: FloatArray
    offsets: FloatArray

    @classmethod
    def learnt(cls, averages: FloatArray, which: IntArray) -> Platt:
        """Fit to averaged probabilities of unseen rows; with rows of too few classes, leave averages as they are."""
        n_classes = averages.shape[1]
        if n_classes == 1 or len(np.unique(which)) < n_classes:
            return cls(np.eye(n_classes), np.zeros(n_classes))
        fitted = LogisticRegression(max_iter=1000).fit(centred_logs(averages), which)
        return cls(*_of_every_class(fitted))

    def apply(self, averages: FloatArray) -> FloatArray:
        """Calibrated probabilities."""
        return np.asarray(softmax(centred_logs(averages) @ self.weights + self.offsets, axis=1))


@dataclass(frozen=True, eq=False)
class Head:
    """A multinomial logistic model of the label on the nearness to all ellipsoids of all members.

    Attributes
    ----------
    weights : tuple of (K, C) arrays
        Log-odds that each ellipsoid of each member brings to the classes.
    offsets : (C,) array
    """

    weights: tuple[FloatArray, ...]
    offsets: FloatArray

    @classmethod
    def learnt(cls, members: tuple[Member, ...], standardized: FloatArray, which: IntArray) -> Head | None:
        """Fit to all training rows; None for a single class, or if rows times ellipsoids are too many."""
        sizes = [member.model.n_ellipsoids for member in members]
        if len(members[0].model.classes) == 1 or not 0 < len(which) * sum(sizes) <= HEAD_ENTRIES:
            return None
        nearness = np.hstack([member.vote(standardized).nearness for member in members])
        fitted = LogisticRegression(C=INVERSE_PENALTY, max_iter=1000).fit(nearness, which)
        weights, offsets = _of_every_class(fitted)
        return cls(tuple(np.split(weights, np.cumsum(sizes)[:-1])), offsets)

    def blend(self, scores: FloatArray, calibrated: FloatArray) -> FloatArray:
        """Geometric mean of this model's probabilities, from sums of nearness times weights, and calibrated ones."""
        own = np.asarray(softmax(scores + self.offsets, axis=1))
        return np.asarray(softmax((centred_logs(own) + centred_logs(calibrated)) / 2.0, axis=1))


def _of_every_class(fitted: Any) -> tuple[FloatArray, FloatArray]:
    """Weights of shape (s, C) and offsets of a logistic regression; for two classes, those of the first are 0."""
    if len(fitted.classes_) > 2:
        return fitted.coef_.T, fitted.intercept_
    return np.vstack([0.0 * fitted.coef_, fitted.coef_]).T, np.append(0.0, fitted.intercept_)


def centred_logs(probabilities: FloatArray) -> FloatArray:
    """Logarithms less their mean over the classes: for two classes, half the log-odds with both signs."""
    logs = np.log(np.maximum(probabilities, NEVER_CERTAIN))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class ForestModel:
    """Everything that a forest's decision needs.

    Attributes
    ----------
    classes : (C,) array
        The labels, sorted.
    feature_names : tuple of str
    standard : Standardization
        Applied before the members' projections.
    members : tuple of Member
    platt : Platt
        Calibrates the average of the members.
    head : Head or None
        Weights of the ellipsoids; None if there were too many.
    """

    classes: NDArray[Any]
    feature_names: tuple[str, ...]
    standard: Standardization
    members: tuple[Member, ...]
    platt: Platt
    head: Head | None

    def decide(self, rows: FloatArray, min_trust: float) -> ForestDecisions:
        """Decide on rows given in the user's own features."""
        standardized = self.standard.apply(rows)
        total, scores = np.zeros((2, len(rows), len(self.classes)))
        n_outside = np.zeros(len(rows))
        voted = np.empty((len(self.members), len(rows)), dtype=np.int32)
        for b, member in enumerate(self.members):
            votes = member.vote(standardized)
            total += votes.probabilities
            n_outside += votes.outside
            voted[b] = votes.probabilities.argmax(axis=1)
            if self.head is not None:
                scores += votes.nearness @ self.head.weights[b]
        probabilities = self.platt.apply(total / len(self.members))
        if self.head is not None:
            probabilities = self.head.blend(scores, probabilities)
        label = probabilities.argmax(axis=1)
        trust = probabilities.max(axis=1)
        accepted, agreement = trust >= min_trust, np.mean(voted == label, axis=0)
        outside = n_outside / len(self.members)
        return ForestDecisions(
            model=self,
            rows=rows,
            label=self.classes[label],
            trust=trust,
            accepted=accepted,
            cause=_causes(accepted, agreement, outside, min_trust),
            agreement=agreement,
            outside=outside,
            probabilities=probabilities,
        )


def _causes(accepted: BoolArray, agreement: FloatArray, outside: FloatArray, min_trust: float) -> IntArray:
    """Outside in most members; else thin if so many members agree that only rows are lacking; else overlap."""
    inside_cause = np.where(agreement >= min_trust, Cause.THIN, Cause.OVERLAP)
    cause = np.where(outside > MOSTLY, Cause.OUTSIDE, inside_cause)
    return np.where(accepted, Cause.ACCEPTED, cause)


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
        Why a row was not accepted: OUTSIDE if it lies in no ellipsoid of more than half of the members; else THIN if a
        share of at least `min_trust` of the members give its label, each too unsure; else OVERLAP.
    agreement : array of float
        Share of the members that give the label.
    outside : array of float
        Share of the members in which the row lies in no ellipsoid.
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


@dataclass(frozen=True, eq=False)
class ForestDecision(OneRow):
    """The decision of a forest on one row; its attributes are those of `ForestDecisions`, as single values."""

    kinds = {"cause": Cause}
    alone: ForestDecisions

    def __repr__(self) -> str:
        return f"ForestDecision({self.label!r}, trust={self.trust:.3f}, {self.cause.name})"

    def why(self) -> str:
        """The reasons in a sentence: who agrees, where the row lies, and the features of the surest members."""
        n = len(self.model.members)
        n_agree, n_outside = round(self.agreement * n), round(self.outside * n)
        told = (
            f"{self.label} with trust {self.trust:.3f}: {n_agree} of {n} members agree, "
            f"and in {n_outside} of {n} the row lies in no ellipsoid"
        )
        names = self._features_of_the_surest()
        return (
            f"{told}; the surest that agree use {listed([repr(name) for name in names])} most." if names else f"{told}."
        )

    def _features_of_the_surest(self) -> list[str]:
        model: ForestModel = self.model
        standardized = model.standard.apply(self.alone.rows)
        votes = [member.vote(standardized).probabilities[0] for member in model.members]
        label = int(np.flatnonzero(model.classes == self.label)[0])
        agree = [b for b, vote in enumerate(votes) if vote.argmax() == label]
        surest = sorted(agree, key=lambda b: -votes[b][label])[: max(1, round(SUREST_SHARE * len(agree)))]
        loads = sum((model.members[b].loads for b in surest), np.zeros(len(model.feature_names)))
        named = np.argsort(-loads, kind="stable")[:NAMED_MOST]
        return [model.feature_names[j] for j in named if loads[j] > 0.0]
