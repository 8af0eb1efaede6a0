"""Missing values of training rows: drawn from a normal distribution of each class, given what is known of the row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.imputation import NormalScores

# Rounds of EM to estimate a distribution, and the share of each variance that is added to it.
N_ROUNDS = 8
RIDGE = 1e-3
# Correlations are shrunk as by this many rows, and the covariances of classes towards their mean as by this many rows
# per feature.
PAIR_ROWS, SHRINKAGE = 10.0, 10.0
# EM takes at most this many rows of a class, and only if the matrices to invert in a round have at most this many
# entries times rows; else the distribution is that of all pairs of values.
MOST_ROWS, MOST_WORK = 2_000, 2e9
# Numbers in memory at a time: 32 MB.
BLOCK_ENTRIES = 2**22


def fill_gaps(rows: FloatArray, classes: IntArray, names: tuple[str, ...]) -> FloatArray:
    """Fill in missing values of training rows; rows without any are returned as they are."""
    is_empty, d = np.isnan(rows).all(axis=0), len(names)
    if is_empty.any():
        raise ValueError(f"Feature {names[int(is_empty.argmax())]!r} has no values at all; leave it out.")
    gaps = np.isnan(rows[:, :d])
    if not gaps.any():
        return rows
    # In units of the largest value, so that no square overflows.
    unit = np.nanmax(np.abs(rows[:, :d]), axis=0)
    unit[unit == 0.0] = 1.0
    shift, scale = unit * np.nanmean(rows[:, :d] / unit, axis=0), unit * np.nanstd(rows[:, :d] / unit, axis=0)
    scores = NormalScores.fit(rows[:, :d], np.ones(len(rows)), shift, np.where(scale > 0.0, scale, 1.0))
    values, filled = scores.of(rows), rows.copy()
    of_class = [np.flatnonzero(classes == c) for c in range(int(classes.max()) + 1)]
    normals = [_Normal.of(values[members]) for members in of_class]
    sizes = np.array([len(members) for members in of_class])
    pooled = np.average([normal.covariance for normal in normals], axis=0, weights=sizes)
    random = np.random.default_rng(0)
    for members, normal in zip(of_class, normals, strict=True):
        share = len(members) / (len(members) + SHRINKAGE * d)
        shrunk = _Normal(normal.mean, share * normal.covariance + (1.0 - share) * pooled)
        members = members[gaps[members].any(axis=1)]
        drawn = shrunk.draws(values[members], random)
        for j in np.flatnonzero(gaps[members].any(axis=0)):
            lacks = gaps[members, j]
            filled[members[lacks], j] = scores.values(drawn[lacks, j], int(j))
    return filled


class _Conditioned(NamedTuple):
    """What is known of rows, in units of its precision, and the sum of the precisions of all rows."""

    pulls: FloatArray
    precision: FloatArray


class _Normal(NamedTuple):
    """A normal distribution."""

    mean: FloatArray
    covariance: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> _Normal:
        """Of rows with missing values, by expectation maximisation (EM) if that is affordable."""
        rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.int64)]
        gaps, normal = np.isnan(rows), cls.of_pairs(rows)
        n_patterns = len(np.unique(gaps, axis=0))
        if not gaps.any() or n_patterns * float(rows.shape[1]) ** 3 > MOST_WORK:
            return normal
        for _ in range(N_ROUNDS):
            apart, covariance = np.where(gaps, 0.0, rows - normal.mean), normal.covariance
            pulls, precision = normal.conditioned(apart, ~gaps)
            guess = normal.mean + np.where(gaps, pulls @ covariance, apart)
            mean = guess.mean(axis=0)
            beyond = covariance - covariance @ precision @ covariance / len(rows)
            normal = cls(mean, _ridged((guess - mean).T @ (guess - mean) / len(rows) + beyond))
        return normal

    @classmethod
    def of_pairs(cls, rows: FloatArray) -> _Normal:
        """Means of the known values, and covariances of all pairs of known values, the nearest that are possible."""
        known = ~np.isnan(rows)
        mean = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        apart, counts = np.where(known, rows - mean, 0.0), known.T.astype(np.float64) @ known
        covariance = apart.T @ apart / np.maximum(counts, 1.0)
        variances = np.where(np.diagonal(counts) > 1, np.diagonal(covariance), 1.0)
        covariance *= counts / (counts + PAIR_ROWS)
        np.fill_diagonal(covariance, variances)
        lengths, directions = np.linalg.eigh(covariance)
        return cls(mean, _ridged((directions * np.maximum(lengths, 0.0)) @ directions.T))

    def conditioned(self, apart: FloatArray, known: BoolArray) -> _Conditioned:
        """The inverse of the covariance of what is known of each row, times how far that lies from the mean."""
        n, d = apart.shape
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        order, pulls, precision = np.argsort(which.ravel(), kind="stable"), np.zeros((n, d)), np.zeros((d, d))
        ends = np.searchsorted(which.ravel()[order], np.arange(len(patterns) + 1))
        step = max(1, BLOCK_ENTRIES // d**2)
        for start in range(0, len(patterns), step):
            some = patterns[start : start + step]
            both = some[:, :, None] & some[:, None, :]
            matrices = np.where(both, self.covariance, 0.0)
            matrices[:, np.arange(d), np.arange(d)] += ~some
            inverses = np.where(both, np.linalg.inv(matrices), 0.0)
            counts = np.diff(ends[start : start + len(some) + 1])
            precision += np.tensordot(counts.astype(np.float64), inverses, axes=1)
            first = ends[start]
            for begin in range(first, ends[start + len(some)], step):
                rows = order[begin : min(begin + step, ends[start + len(some)])]
                of_rows = inverses[which.ravel()[rows] - start]
                pulls[rows] = np.matmul(of_rows, apart[rows][:, :, None])[:, :, 0]
        return _Conditioned(pulls, precision)

    def draws(self, rows: FloatArray, random: np.random.Generator) -> FloatArray:
        """The rows with missing values drawn, given the known ones: a free draw, moved by what is known (Matheron)."""
        known = ~np.isnan(rows)
        free = self.mean + random.standard_normal(rows.shape) @ np.linalg.cholesky(self.covariance).T
        pulls, _ = self.conditioned(np.where(known, rows - free, 0.0), known)
        return np.where(known, rows, free + pulls @ self.covariance)


def _ridged(covariance: FloatArray) -> FloatArray:
    return np.asarray(covariance + RIDGE * np.diag(np.diagonal(covariance)) + RIDGE * np.eye(len(covariance)))
