"""A Gaussian mixture, conditioned on some of the features of a row.

With precision matrix P, split into known and missing features, the missing ones have precision P_mm and mean
c_m - P_mm^-1 P_mk (x_k - c_k), and the known ones have precision P_kk - P_km P_mm^-1 P_mk.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from sepc._typing import BoolArray, FloatArray

# Completions of each row.
N_DRAWS = 20

# Columns of the Halton sequence to draw completions from; the base of the eighth is 19.
HALTON_COLUMNS = 8


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal distributions.

    Attributes
    ----------
    centers : (K, d) array
    precisions : (K, d, d) array
        Inverses of the covariances.
    log_weights : (K,) array
    """

    centers: FloatArray
    precisions: FloatArray
    log_weights: FloatArray


@dataclass(frozen=True, eq=False)
class Pattern:
    """A mixture conditioned on rows in which the same features are missing.

    Attributes
    ----------
    missing : (d,) bool array
    log_shares : (n, K) array
        Logarithm of the probability of each distribution, given the known features of each row.
    means : (n, K, m) array
        Means of the missing features.
    roots : (K, m, m) array
        Factors of their covariances.
    """

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
    """Points spread evenly over the unit cube, strictly inside it.

    The first columns are a Halton sequence. In later columns the sequence starts with small numbers only and would need
    more points to cover the interval, so each of those columns is a shuffle of evenly spaced numbers.
    """
    n_halton = min(d, HALTON_COLUMNS)
    points = np.empty((n, d))
    # The first point of the sequence is the origin.
    points[:, :n_halton] = qmc.Halton(n_halton, scramble=False).random(n + 1)[1:]
    even = (np.arange(n) + 0.5) / n
    for j in range(n_halton, d):
        points[:, j] = np.random.default_rng(j).permutation(even)
    points.flags.writeable = False
    return points
