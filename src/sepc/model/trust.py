"""Class probabilities, and so trust, from class counts."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.statistics.binomial import beta_interval

# The weight, in rows, of the wider neighbourhood against the rows exactly where the query lies. Chosen with
# sepc_benchmarks.constants: a larger weight gains little and would blur small regions.
PRIOR_ROWS = 30.0
# Probabilities that differ by less than this share of the largest differ by rounding only.
TIE = 1e-12


def smooth(exact: FloatArray, wider: FloatArray, shares: FloatArray) -> FloatArray:
    """Class probabilities from the rows exactly where a query lies, smoothed by a wider set where these are few.

    Parameters
    ----------
    exact : (S, C) array
        Rows of each class with exactly the query's set of ellipsoids.
    wider : (S, C) array
        Rows of each class in all of these ellipsoids or, where there are none, in any of them.
    shares : (C,) array
        The prior where no row is near: the class shares of the training set, or equal shares.

    Returns
    -------
    (S, C) array
        Rows sum to one.
    """
    around = (wider + shares) / (wider.sum(axis=1, keepdims=True) + 1.0)
    return np.asarray((exact + PRIOR_ROWS * around) / (exact.sum(axis=1, keepdims=True) + PRIOR_ROWS))


def published_probabilities(counts: FloatArray, label: IntArray, class_counts: IntArray) -> FloatArray:
    """Class probabilities of the paper, Eqs. 7 to 9, as its worked example computes them.

    One row is added to the predicted label in the region, and one to the largest class in the prior; so counts (1, 5)
    among 547 and 256 rows give the second label 0.737 (row 16 of docs/explanation/differences.md).

    Examples
    --------
    >>> published_probabilities(np.array([[1.0, 5.0]]), np.array([1]), np.array([547, 256])).round(3)
    array([[0.263, 0.737]])
    """
    here = counts + (np.arange(len(class_counts)) == label[:, None])
    everywhere = class_counts + (np.arange(len(class_counts)) == np.argmax(class_counts))
    weights = here * everywhere
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def credible_interval(probability: FloatArray, n_rows: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Credible interval for the probability that a label is right, given evidence from `n_rows` rows.

    The posterior is a beta distribution with mean `probability`, worth `n_rows` rows plus `PRIOR_ROWS`.
    """
    weight = n_rows + PRIOR_ROWS
    return beta_interval(probability * weight, (1.0 - probability) * weight, confidence)


def most_likely(probabilities: FloatArray, shares: FloatArray) -> IntArray:
    """The class with the largest probability; ties go to the larger class, then to the first."""
    tied = probabilities >= probabilities.max(axis=1, keepdims=True) * (1.0 - TIE)
    return np.asarray(np.argmax(np.where(tied, shares, -1.0), axis=1))
