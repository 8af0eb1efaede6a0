"""How well trust ranks and predicts errors, on plain arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray


def aurc(correct: ArrayLike, trust: ArrayLike) -> float:
    """Area under the risk-coverage curve: the mean error rate among the rows accepted, over all coverages.

    Rows are accepted in the order of their trust. Rows of equal trust come in random order, and the mean over all
    such orders is exact: scores of regions are heavily tied, and any fixed order would flatter or punish at random.

    Parameters
    ----------
    correct : array of bool, shape (n,)
        Whether each label was right.
    trust : array of float, shape (n,)
        Any score that is larger for labels more likely to be right.

    Returns
    -------
    float
        0 is best.

    Examples
    --------
    Four labels, the least trusted of which is wrong: risks 0, 0, 0 and 1/4.

    >>> aurc([True, True, True, False], [0.9, 0.8, 0.7, 0.6])
    0.0625

    All trusted alike, the error may come at any place: risk 1/4 everywhere.

    >>> aurc([True, True, True, False], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    return float(np.mean(_expected_risks(correct, trust)))


def _expected_risks(correct: ArrayLike, trust: ArrayLike) -> FloatArray:
    """Expected error rate among the first 1, 2, ..., n rows by falling trust, ties in random order."""
    wrong, trust = ~np.asarray(correct, dtype=bool), np.asarray(trust, dtype=np.float64)
    if wrong.shape != trust.shape or wrong.ndim != 1 or wrong.size == 0:
        raise ValueError(
            f"correct and trust must be two lists of one length, not of shapes {wrong.shape}, {trust.shape}."
        )
    _, group, sizes = np.unique(-trust, return_inverse=True, return_counts=True)
    errors = np.bincount(group, weights=wrong)
    # Every row of a tie brings the same expected number of errors.
    return np.asarray(np.cumsum(np.repeat(errors / sizes, sizes)) / np.arange(1, len(wrong) + 1))
