"""Impute missing values of training rows, by one draw each, from other rows of the class."""

from __future__ import annotations

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.estimators.sep.fitting import FitSettings, fit_model
from sepc.estimators.sep.training_set import GivenColumns, TrainingSet
from sepc.model.completion import imputation_mixture
from sepc.model.imputation_mixture import ImputationMixture
from sepc.model.mixture import N_DRAWS, Pattern
from sepc.model.normal_scores import NormalScores

# A class is described by the ellipsoids of its complete rows if there are this many per feature, else by one normal
# distribution.
ROWS_A_FEATURE = 5
# Rounds of EM to estimate that distribution, and the share of each variance that is added to it.
N_ROUNDS = 20
RIDGE = 1e-3
# The covariances of classes are shrunk towards their mean as by this many rows per feature.
SHRINKAGE = 10.0


def fill_gaps(rows: FloatArray, classes: IntArray, columns: GivenColumns, settings: FitSettings) -> FloatArray:
    """Fill in missing values of training rows; rows without any are returned as they are.

    Parameters
    ----------
    rows : (n, d + q) array
        Features with NaN for missing values; category codes may follow.
    classes : (n,) array
        Classes, numbered from 0.
    columns : GivenColumns
    settings : FitSettings
        For a first model of the complete rows.
    """
    names, is_empty = columns.feature_names, np.isnan(rows).all(axis=0)
    if is_empty.any():
        raise ValueError(f"Feature {names[int(is_empty.argmax())]!r} has no values at all; leave it out.")
    gaps = np.isnan(rows[:, : len(names)])
    if not gaps.any():
        return rows
    complete, result = ~gaps.any(axis=1), rows.copy()
    counts = np.bincount(classes[complete], minlength=int(classes.max()) + 1)
    if counts.min() >= ROWS_A_FEATURE * len(names):
        first = TrainingSet.of_arrays(rows[complete], classes[complete], columns)
        kinds = imputation_mixture(fit_model(first, settings).model)
    else:
        kinds = _one_a_class(rows[:, : len(names)], classes)
    for c in range(len(counts)):
        mixture = kinds.of_class(c)
        for where, missing in _patterns(gaps, np.flatnonzero((classes == c) & ~complete)):
            drawn = Pattern.of(mixture, kinds.scores.of(rows[where]), missing).draws()
            chosen = drawn[np.arange(len(where)), where % N_DRAWS]
            for j, scores in zip(np.flatnonzero(missing), chosen.T, strict=True):
                result[where, j] = kinds.scores.values(scores, int(j))
    return result


def _patterns(gaps: BoolArray, rows: IntArray) -> list[tuple[IntArray, BoolArray]]:
    """Groups of rows with the same missing features, and these features."""
    patterns, which = np.unique(gaps[rows], axis=0, return_inverse=True)
    return [(rows[which.ravel() == i], missing) for i, missing in enumerate(patterns)]


def _one_a_class(rows: FloatArray, classes: IntArray) -> ImputationMixture:
    """A normal distribution for each class, estimated from rows with missing values."""
    shift, scale = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    scores = NormalScores.fit(rows, np.ones(len(rows)), shift, np.where(scale > 0.0, scale, 1.0))
    n_classes, d = int(classes.max()) + 1, rows.shape[1]
    n_rows, values = np.bincount(classes, minlength=n_classes), scores.of(rows)
    centers, covariances = map(np.array, zip(*(_normal(values[classes == c]) for c in range(n_classes)), strict=True))
    pooled = np.average(covariances, axis=0, weights=n_rows)
    share = (n_rows / (n_rows + SHRINKAGE * d))[:, None, None]
    return ImputationMixture(
        scores, centers, share * covariances + (1.0 - share) * pooled, np.diag(n_rows.astype(np.float64))
    )


def _normal(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of rows with missing values, by expectation maximisation (EM)."""
    d, gaps = rows.shape[1], np.isnan(rows)
    mean, covariance = np.zeros(d), np.eye(d)
    for _ in range(N_ROUNDS):
        guess, spread = np.where(gaps, mean, rows), np.zeros((d, d))
        precision = np.linalg.inv(covariance)
        for where, missing in _patterns(gaps, np.flatnonzero(gaps.any(axis=1))):
            inverse = np.linalg.inv(precision[np.ix_(missing, missing)])
            apart = rows[np.ix_(where, np.flatnonzero(~missing))] - mean[~missing]
            guess[np.ix_(where, np.flatnonzero(missing))] = (
                mean[missing] - apart @ (inverse @ precision[np.ix_(missing, ~missing)]).T
            )
            spread[np.ix_(missing, missing)] += len(where) * inverse
        mean = guess.mean(axis=0)
        covariance = ((guess - mean).T @ (guess - mean) + spread) / len(rows)
        covariance += RIDGE * np.diag(np.diagonal(covariance)) + RIDGE * np.eye(d)
    return mean, covariance
