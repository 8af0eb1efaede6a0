"""The Gaussian mixture of normal scores that missing values are imputed from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from sepc._typing import BoolArray, FloatArray
from sepc.records import MOST, bools, floats, given, part, record

# With precision matrix P, split into known and missing features, the missing ones have precision P_mm and mean c_m -
# P_mm^-1 P_mk (x_k - c_k), and the known ones have precision P_kk - P_km P_mm^-1 P_mk.


# Completions of each row.
N_DRAWS = 20

# Columns of the Halton sequence to draw completions from; the base of the eighth is 19.
HALTON_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal distributions."""

    centers: FloatArray
    precisions: FloatArray
    log_weights: FloatArray


@dataclass(frozen=True, eq=False)
class Pattern:
    """A mixture conditioned on rows in which the same features are missing."""

    missing: BoolArray
    log_shares: FloatArray
    means: FloatArray
    roots: FloatArray

    @classmethod
    def of(cls, mixture: Mixture, rows: FloatArray, missing: BoolArray) -> Pattern:
        """Condition the mixture on the known features of rows."""
        P, known = mixture.precisions, ~missing
        across = P[:, missing][:, :, known]
        covariances = np.linalg.inv(P[:, missing][:, :, missing])
        pull = covariances @ across
        marginal = P[:, known][:, :, known] - across.transpose(0, 2, 1) @ pull
        apart = rows[:, None, known] - mixture.centers[None, :, known]
        with np.errstate(over="ignore", invalid="ignore"):
            squared = np.einsum("nki,kij,nkj->nk", apart, marginal, apart)
        half_logdet = 0.5 * np.linalg.slogdet(marginal).logabsdet if known.any() else np.zeros(len(P))
        logs = mixture.log_weights + half_logdet - 0.5 * squared
        logs = np.where(np.isfinite(logs), logs, -np.inf)
        # Infinitely far from everything, distributions are as likely as their weights say.
        logs = np.where(np.isfinite(logs).any(axis=1, keepdims=True), logs, mixture.log_weights)
        means = mixture.centers[None, :, missing] - np.einsum("kmi,nki->nkm", pull, apart)
        symmetric = 0.5 * (covariances + covariances.transpose(0, 2, 1))
        values, vectors = np.linalg.eigh(symmetric)
        roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
        return cls(missing, _normalize(logs), means, roots)

    def draws(self, n_draws: int = N_DRAWS) -> FloatArray:
        """Values of the missing features, of shape (n, n_draws, m); always the same, from fixed points."""
        points = _points(n_draws, int(self.missing.sum()) + 1)
        upto = np.cumsum(np.exp(self.log_shares), axis=1)
        which = np.minimum((upto[:, None, :] < points[None, :, :1]).sum(axis=2), upto.shape[1] - 1)
        normal = ndtri(points[:, 1:])
        apart = np.einsum("nsij,sj->nsi", self.roots[which], normal)
        return np.asarray(np.take_along_axis(self.means, which[:, :, None], axis=1) + apart)


def _normalize(logs: FloatArray) -> FloatArray:
    """Shift logarithms so that the probabilities add up to 1."""
    above = logs - logs.max(axis=1, keepdims=True)
    return np.asarray(above - np.log(np.exp(above).sum(axis=1, keepdims=True)))


@lru_cache
def _points(n: int, d: int) -> FloatArray:
    """Points spread evenly over the unit cube, strictly inside it."""
    from scipy.stats import qmc  # imported late: it takes half as long as the rest, and `sepc look` has no use for it

    n_halton = min(d, HALTON_COLUMNS)
    points = np.empty((n, d))
    # The first point of the sequence is the origin.
    points[:, :n_halton] = qmc.Halton(n_halton, scramble=False).random(n + 1)[1:]
    even = (np.arange(n) + 0.5) / n
    for j in range(n_halton, d):
        points[:, j] = np.random.default_rng(j).permutation(even)
    points.flags.writeable = False
    return points


# A feature that is already roughly normal is only standardised, so that exact relations between features, such as a
# sum, stay exact. Any other, such as one that is zero in most rows, is replaced by the normal quantile of its rank
# among the training rows. The inverse gives values that occur in training: zeros stay zeros, and whole numbers stay
# whole.


# Quantiles stored for each feature, including the smallest and the largest value.
N_QUANTILES = 100
# A feature counts as normal if its squared correlation with the normal quantiles of its ranks is this high, and this
# many stored quantiles are distinct. Chosen, with the constants of `estimators/sep/fitting.py`, on the
# first folds of the nine sets of docs/explanation/tables.md.
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


# Scores are roughly normal, and a ridge is added to variances; so means, covariances and their inverses never exceed
# these.
MOST_SCORE = 1e9
MOST_PRECISION = 1e12


@record
class ImputationMixture:
    """Normal distributions of scores: of the owner's rows in each ellipsoid, and of each class's remaining rows.

    Attributes
    ----------
    scores : NormalScores
    centers, covariances : (G, d) and (G, d, d) arrays
        Means and covariances of the scores.
    class_rows : (G, C) array
        Training rows of each class that each distribution was fitted to.
    """

    scores: NormalScores = part(NormalScores, is_inline=True)
    centers: FloatArray = floats("G", "d", low=-MOST_SCORE, high=MOST_SCORE)
    covariances: FloatArray = floats("G", "d", "d", low=-MOST_SCORE, high=MOST_SCORE)
    class_rows: FloatArray = floats("G", "C", low=0.0, high=MOST)

    def flaw(self) -> str | None:
        """What is wrong with the distributions, if anything."""
        rows, covariances = self.class_rows, self.covariances
        if len(rows) == 0 or not 0.0 < rows.sum(axis=1).min() <= rows.sum() < MOST:
            return "has mixture components without rows, or no components"
        is_symmetric = np.array_equal(covariances, covariances.transpose(0, 2, 1))
        if not is_symmetric or np.linalg.eigvalsh(covariances).min(initial=np.inf) < 1.0 / MOST_PRECISION:
            return "has impossible means or covariances"
        return None

    @cached_property
    def mixture(self) -> Mixture:
        """The distributions, weighted by their rows."""
        return self._weighted(self.class_rows.sum(axis=1))

    def of_class(self, c: int) -> Mixture:
        """The distributions, weighted by their rows of one class."""
        return self._weighted(self.class_rows[:, c])

    @cached_property
    def _unweighted(self) -> Mixture:
        return Mixture(
            self.centers, np.asarray(np.linalg.inv(self.covariances), dtype=np.float64), np.zeros(len(self.centers))
        )

    def _weighted(self, rows: FloatArray) -> Mixture:
        with np.errstate(divide="ignore"):
            return replace(self._unweighted, log_weights=np.log(rows / rows.sum()))
