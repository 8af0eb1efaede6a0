"""Rows whose trust has a few known levels, each wrong at a known rate, so that every true error rate is exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator

from sepc import Cause, Decisions

Array = NDArray[Any]

# The columns of a row.
LABEL, TRUST, REGION, GROUP = 0, 1, 2, 3
# What decisions of models without regions say.
NO_REGIONS = -2


class ReadsItsRows(ClassifierMixin, BaseEstimator):
    """A classifier whose rows hold the label it gives, the trust it claims and, if asked, the region they lie in."""

    def __init__(self, with_regions: bool = False) -> None:
        self.with_regions = with_regions

    def fit(self, X: Array, y: Array) -> Self:
        """Learn the labels, and nothing else."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Array) -> Array:
        """The labels in the rows."""
        return self.decide(X).label

    def decide(self, X: Array) -> Decisions:
        """What the rows say."""
        n = len(X)
        return Decisions(
            classes=self.classes_,
            label=X[:, LABEL].astype(np.int64),
            trust=X[:, TRUST],
            accepted=np.ones(n, dtype=bool),
            cause=np.full(n, int(Cause.ACCEPTED)),
            probabilities=np.full((n, len(self.classes_)), np.nan),
            region=X[:, REGION].astype(np.int64) if self.with_regions else np.full(n, NO_REGIONS),
        )


def frozen(*labels: int, with_regions: bool = False) -> FrozenEstimator:
    """The classifier above, fitted to know these labels."""
    return FrozenEstimator(ReadsItsRows(with_regions).fit(np.empty((0, 3)), np.array(labels)))


@dataclass(frozen=True, eq=False)
class Levels:
    """A source of rows: each has one of several levels, with a label, a trust, and a chance to be wrong.

    Attributes
    ----------
    rows : (m, d) array
        The row of every level.
    share : (m,) array
        How often each level comes.
    error : (m,) array
        How often the label of each level is wrong; the true label is then `other`.
    other : int
    """

    rows: Array
    share: Array
    error: Array
    other: int = 9

    @classmethod
    def of(cls, trust: Any, error: Any, share: Any = None, label: Any = 0, group: Any = 0) -> Levels:
        """Levels of this trust, this error rate and this share, in this group; all alike if a number is given."""
        given = (np.atleast_1d(np.asarray(one)) for one in (trust, error, label, group))
        trust, error, label, group = np.broadcast_arrays(*given)
        share = np.full(len(trust), 1.0 / len(trust)) if share is None else np.asarray(share, dtype=float)
        return cls(np.column_stack([label, trust, np.arange(len(trust)), group]).astype(float), share, error)

    def draw(self, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
        """Independent rows with their true labels."""
        level = rng.choice(len(self.rows), size=n, p=self.share)
        wrong = rng.random(n) < self.error[level]
        return self.rows[level], np.where(wrong, self.other, self.rows[level, LABEL]).astype(np.int64)

    def risk(self, accepted: Array) -> float:
        """The true error rate of the accepted levels; 0 if there are none."""
        weight = self.share[accepted]
        return float(weight @ self.error[accepted] / weight.sum()) if len(weight) else 0.0
