"""A fitted forest: its members, and how their votes become probabilities and decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimator.standard import Standardization
from sepc.regions.kinds import Cause
from sepc.selective._members import Member
from sepc.selective.forest_decisions import ForestDecisions

# Averages are kept this far from 0 before logarithms are taken.
NEVER_CERTAIN = 1e-3

# The inverse penalty of the ellipsoids' weights. A few hundred ellipsoids share the answer, so each gets little.
INVERSE_PENALTY = 0.1

# Above so many numbers (240 MB) the ellipsoids get no weights.
HEAD_ENTRIES = 3 * 10**7

# A row is outside if more than this share of the members have seen nothing near it.
MOSTLY = 0.5


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
class Poll:
    """What the members of a forest say of rows, taken together.

    Attributes
    ----------
    average : (n, C) array
        Mean probabilities of the classes.
    scores : (n, C) array
        Nearness to all ellipsoids times their weights, summed; zeros if the ellipsoids have no weights.
    outside : (n,) array
        Share of the members that have seen nothing near a row.
    voted : (B, n) array
        The class each member finds most likely.
    """

    average: FloatArray
    scores: FloatArray
    outside: FloatArray
    voted: IntArray

    def agreement(self, label: IntArray) -> FloatArray:
        """Share of the members that give a row this class."""
        return np.asarray(np.mean(self.voted == label, axis=0))


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

    def poll(self, rows: FloatArray) -> Poll:
        """Ask all members about rows given in the user's own features."""
        standardized = self.standard.apply(rows)
        total, scores = np.zeros((2, len(rows), len(self.classes)))
        n_outside = np.zeros(len(rows))
        voted = np.empty((len(self.members), len(rows)), dtype=np.int64)
        for b, member in enumerate(self.members):
            votes = member.vote(standardized)
            total += votes.probabilities
            n_outside += votes.outside
            voted[b] = votes.probabilities.argmax(axis=1)
            if self.head is not None:
                scores += votes.nearness @ self.head.weights[b]
        n = len(self.members)
        return Poll(total / n, scores, n_outside / n, voted)

    def decide(self, rows: FloatArray, min_trust: float) -> ForestDecisions:
        """Decide on rows given in the user's own features."""
        poll = self.poll(rows)
        probabilities = self.platt.apply(poll.average)
        if self.head is not None:
            probabilities = self.head.blend(poll.scores, probabilities)
        label = probabilities.argmax(axis=1)
        trust = probabilities.max(axis=1)
        accepted, agreement = trust >= min_trust, poll.agreement(label)
        return ForestDecisions(
            model=self,
            rows=rows,
            label=self.classes[label],
            trust=trust,
            accepted=accepted,
            cause=causes(accepted, agreement, poll.outside, min_trust),
            agreement=agreement,
            outside=poll.outside,
            probabilities=probabilities,
        )


def causes(accepted: BoolArray, agreement: FloatArray, outside: FloatArray, min_trust: float) -> IntArray:
    """Far from what most have seen; else thin if so many members agree that only rows are lacking; else overlap."""
    inside_cause = np.where(agreement >= min_trust, Cause.THIN, Cause.OVERLAP)
    cause = np.where(outside > MOSTLY, Cause.OUTSIDE, inside_cause)
    return np.where(accepted, Cause.ACCEPTED, cause)
