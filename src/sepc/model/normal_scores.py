"""Normal scores: features transformed to be roughly normal, in which missing values are imputed.

A feature that is already roughly normal is only standardised, so that exact relations between features, such as a sum,
stay exact. Any other, such as one that is zero in most rows, is replaced by the normal quantile of its rank among the
training rows. The inverse gives values that occur in training: zeros stay zeros, and whole numbers stay whole.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from sepc._typing import BoolArray, FloatArray
from sepc.records import bools, floats, given, record

# Quantiles stored for each feature, including the smallest and the largest value.
N_QUANTILES = 100
# A feature counts as normal if its squared correlation with the normal quantiles of its ranks is this high, and this
# many stored quantiles are distinct. Chosen, with the constants of `estimators/sep/training_summaries.py`, on the
# first folds of the nine sets of docs/explanation/gaps.md.
LEAST_CORRELATION = 0.8
FEWEST_DISTINCT = 20


@record
class NormalScores:
    """Converts features to normal scores and back.

    Attributes
    ----------
    shift, scale : (d,) arrays
        A roughly normal feature is standardised as ``(x - shift) / scale``.
    is_normal : (d,) bool array
        Whether the score of a feature is the standardised feature.
    quantiles : (d, Q) array
        Quantiles of each feature in training, ascending.
    """

    shift: FloatArray = given()
    scale: FloatArray = given()
    is_normal: BoolArray = bools("d")
    quantiles: FloatArray = floats("d", "Q")

    def flaw(self) -> str | None:
        """What is wrong with the quantiles, if anything."""
        if self.quantiles.shape[1] == 0 or (np.diff(self.quantiles, axis=1) < 0.0).any():
            return "has quantiles that do not ascend, or none"
        return None

    @classmethod
    def standardized(cls, shift: FloatArray, scale: FloatArray) -> NormalScores:
        """Scores that are just standardised features, without limits."""
        ends = np.repeat([[-np.inf, np.inf]], len(shift), axis=0)
        return cls(shift, scale, np.ones(len(shift), dtype=bool), ends)

    @classmethod
    def fit(cls, rows: FloatArray, weights: FloatArray, shift: FloatArray, scale: FloatArray) -> NormalScores:
        """Fit to weighted rows; NaN is a missing value."""
        quantiles = np.array([quantiles_of(column, weights, N_QUANTILES) for column in rows.T])
        is_varied = (np.diff(quantiles, axis=1) > 0.0).sum(axis=1) >= FEWEST_DISTINCT - 1
        is_normal = [
            bool(varied) and _squared_correlation(column, _normal_quantiles(column, kept), weights) >= LEAST_CORRELATION
            for column, kept, varied in zip(rows.T, quantiles, is_varied, strict=True)
        ]
        return cls(shift, scale, np.array(is_normal), quantiles)

    def of(self, rows: FloatArray) -> FloatArray:
        """The scores of rows; NaN stays NaN."""
        d = len(self.quantiles)
        with np.errstate(over="ignore"):
            scores = np.asarray((rows[:, :d] - self.shift) / self.scale)
        for j in np.flatnonzero(~self.is_normal):
            scores[:, j] = _normal_quantiles(rows[:, j], self.quantiles[j])
        return scores

    def values(self, scores: FloatArray, j: int) -> FloatArray:
        """Values of feature `j` with these scores, within the range of training."""
        kept, n_kept = self.quantiles[j], self.quantiles.shape[1]
        if self.is_normal[j]:
            return np.asarray(np.clip(scores * self.scale[j] + self.shift[j], kept[0], kept[-1]))
        return np.asarray(kept[np.minimum((ndtr(scores) * n_kept).astype(np.int64), n_kept - 1)])


def quantiles_of(column: FloatArray, weights: FloatArray, n: int) -> FloatArray:
    """Known values of a column at `n` evenly spaced ranks, including the smallest and the largest."""
    known = np.flatnonzero(~np.isnan(column))
    order = known[np.argsort(column[known], kind="stable")]
    ranks = np.cumsum(weights[order])
    where = np.searchsorted(ranks, np.linspace(0.0, ranks[-1], n))
    return np.asarray(column[order][np.minimum(where, len(order) - 1)])


def _normal_quantiles(column: FloatArray, kept: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks of values among the stored quantiles; NaN stays NaN."""
    first, last = (np.searchsorted(kept, column, side=side) for side in ("left", "right"))
    ranks = np.clip(0.5 * (first + last), 0.5, len(kept) - 0.5)
    return np.where(np.isnan(column), np.nan, ndtri(ranks / len(kept)))


def _squared_correlation(column: FloatArray, scores: FloatArray, weights: FloatArray) -> float:
    """The squared correlation of the known values of a column with their scores."""
    known = ~np.isnan(column)
    # Squares of huge values would overflow.
    size = np.abs(column[known]).max()
    covariance = np.cov(column[known] / size, scores[known], aweights=weights[known])
    return float(covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1]))
