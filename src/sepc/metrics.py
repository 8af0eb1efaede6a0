"""How well trust ranks right labels above wrong ones, and how well it is calibrated; on plain arrays.

Every function takes `correct`, whether each label was right, and `trust`, a score that is larger for labels more likely
to be right; for `brier` and `ece` it is a probability. Trust often has many ties, and any fixed order of tied rows
would help or hurt at random, so rankings are averaged, exactly, over all orders of tied rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.estimators.base import decide_rows
from sepc.looking.suspects import suspects
from sepc.wording import check_number

__all__ = [
    "augrc",
    "aurc",
    "auroc",
    "brier",
    "coverage_at_risk",
    "ece",
    "excess_aurc",
    "neg_aurc_scorer",
    "risk_at_coverage",
    "risk_coverage_curve",
    "suspects",
]


def aurc(correct: ArrayLike, trust: ArrayLike) -> float:
    """Area under the risk-coverage curve: the mean error rate among the rows accepted, over all coverages.

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

    If all are trusted equally, the error may come anywhere: risk 1/4 everywhere.

    >>> aurc([True, True, True, False], [0.5, 0.5, 0.5, 0.5])
    0.25
    """
    return float(np.mean(risk_coverage_curve(correct, trust)[1]))


def risk_coverage_curve(correct: ArrayLike, trust: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The curve whose area is `aurc`: the error rate among the most trusted 1, 2, ..., n rows.

    Returns
    -------
    coverage, risk : arrays of shape (n,)
        Shares of the rows accepted, from 1/n to 1, and the error rates among them.

    Examples
    --------
    >>> coverage, risk = risk_coverage_curve([True, False, True, True], [0.9, 0.5, 0.5, 0.8])
    >>> coverage, risk
    (array([0.25, 0.5 , 0.75, 1.  ]), array([0.        , 0.        , 0.16666667, 0.25      ]))
    """
    errors = _expected_errors(*check_ranking(correct, trust))
    n_accepted = np.arange(1, len(errors) + 1)
    return n_accepted / len(errors), errors / n_accepted


def augrc(correct: ArrayLike, trust: ArrayLike) -> float:
    """Area under the generalised risk-coverage curve: the mean share of rows that are accepted *and* wrong.

    Unlike `aurc` it does not give the few most trusted rows the greatest weight (Traub et al., 2024).

    Examples
    --------
    >>> augrc([True, True, True, False], [0.9, 0.8, 0.7, 0.6])  # (0 + 0 + 0 + 1) / 4 rows / 4 coverages
    0.0625
    """
    errors = _expected_errors(*check_ranking(correct, trust))
    return float(np.mean(errors) / len(errors))


def excess_aurc(correct: ArrayLike, trust: ArrayLike) -> float:
    """`aurc` in excess of the optimal order, in which all errors come last (E-AURC; Geifman et al., 2019).

    Examples
    --------
    >>> excess_aurc([True, True, True, False], [0.9, 0.8, 0.7, 0.6])
    0.0
    """
    right, scores = check_ranking(correct, trust)
    return aurc(right, scores) - aurc(right, right)


def auroc(correct: ArrayLike, trust: ArrayLike) -> float:
    """Probability that a right label is trusted more than a wrong one, with ties counting half.

    NaN if all labels are right, or all are wrong.

    Examples
    --------
    >>> auroc([True, True, False, False], [0.9, 0.6, 0.6, 0.1])
    0.875
    """
    right, scores = check_ranking(correct, trust)
    n_right, n_wrong = int(right.sum()), int((~right).sum())
    if n_right == 0 or n_wrong == 0:
        return float("nan")
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(sizes) - (sizes - 1) / 2.0
    return float((middle_ranks[group][right].sum() - n_right * (n_right + 1) / 2.0) / (n_right * n_wrong))


def risk_at_coverage(correct: ArrayLike, trust: ArrayLike, coverage: float) -> float:
    """Selective risk: error rate among the most trusted share `coverage` of the rows, rounded up to whole rows.

    Examples
    --------
    >>> risk_at_coverage([True, True, False, False], [0.9, 0.8, 0.7, 0.6], 0.75)
    0.3333333333333333
    """
    check_number("coverage", coverage, above=0, most=1)
    errors = _expected_errors(*check_ranking(correct, trust))
    # A share such as 0.1 of 30 rows is 3 rows, whatever the rounding of 0.1.
    n_accepted = max(1, int(np.ceil(coverage * len(errors) - 1e-9)))
    return float(errors[n_accepted - 1] / n_accepted)


def coverage_at_risk(correct: ArrayLike, trust: ArrayLike, risk: float) -> float:
    """Largest coverage of a threshold on trust with a selective risk of at most `risk`; 0 if there is none.

    Examples
    --------
    >>> coverage_at_risk([True, True, False, True], [0.9, 0.8, 0.7, 0.7], 0.1)
    0.5
    """
    check_number("risk", risk, least=0, most=1)
    right, scores = check_ranking(correct, trust)
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    accepted = np.cumsum(sizes)
    errors = np.cumsum(np.bincount(group, weights=~right))
    return float(accepted[errors <= risk * accepted].max(initial=0) / len(right))


def brier(correct: ArrayLike, trust: ArrayLike) -> float:
    """Mean squared difference between trust and whether the label was right.

    Examples
    --------
    >>> brier([True, False], [0.9, 0.2])
    0.025
    """
    right, scores = check_ranking(correct, trust)
    return float(np.mean((scores - right) ** 2))


def ece(correct: ArrayLike, trust: ArrayLike, n_bins: int = 15) -> float:
    """Expected calibration error: mean absolute difference of trust and accuracy, in bins of equally many rows.

    Examples
    --------
    >>> ece([True, True, False, False], [0.75, 0.75, 0.25, 0.25], n_bins=2)
    0.25
    """
    right, scores = check_ranking(correct, trust)
    check_number("n_bins", n_bins, least=1, whole=True)
    values, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    accuracies = np.repeat(np.bincount(group, weights=right) / sizes, sizes)
    differences = accuracies - np.repeat(values, sizes)
    bins = [chunk for chunk in np.array_split(differences, n_bins) if len(chunk)]
    return float(sum(abs(chunk.sum()) for chunk in bins) / len(right))


def neg_aurc_scorer(estimator: Any, X: Any, y: ArrayLike) -> float:
    """Score an estimator by minus its `aurc`, for `scoring=` in scikit-learn's searches; larger is better.

    Labels and trust are those of `sepc.decide`.
    """
    decisions = decide_rows(estimator, X)
    return -aurc(decisions.label == np.asarray(y), decisions.trust)


def check_ranking(correct: ArrayLike, trust: ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Convert both to arrays; raises `ValueError` if their rows cannot be ranked."""
    given: NDArray[Any] = np.asarray(correct)
    right, scores = given.astype(bool), np.asarray(trust, dtype=np.float64)
    if right.shape != scores.shape or right.ndim != 1 or right.size == 0:
        raise ValueError(
            f"correct and trust must be 1-d, not empty and of equal length; their shapes are {right.shape} and "
            f"{scores.shape}."
        )
    if not np.isfinite(scores).all():
        raise ValueError("trust contains NaN or infinity; such rows cannot be ranked, so leave them out.")
    return right, scores


def _expected_errors(right: BoolArray, scores: FloatArray) -> FloatArray:
    """Expected number of errors among the first 1, 2, ..., n rows by decreasing trust."""
    _, group, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    # Each of a group of tied rows adds the same expected number of errors.
    rates = np.bincount(group, weights=~right) / sizes
    return np.asarray(np.cumsum(np.repeat(rates, sizes)))
