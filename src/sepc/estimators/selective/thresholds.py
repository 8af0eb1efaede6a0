"""Choose the trust threshold that controls the selective risk: exact binomial tests in a fixed sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_with_trust
from sepc.records import number, record, whole
from sepc.statistics.rates import (
    fixed_grid,
    n_before_failure,
    p_value,
    quantile_grid,
    rows_needed,
    rows_to_start,
    stratified_folds,
    sums_at,
    upper_bound,
)


@record
class Control:
    """A threshold, and the calibration rows that support it.

    Attributes
    ----------
    threshold : float
        Rows with at least this trust are accepted; infinite if no threshold passed.
    max_risk : float
        The promised error rate.
    n_rows, n_accepted, n_errors : int
        Calibration rows, those the threshold accepts, and the wrong ones among these.
    n_needed : int
        The fewest accepted rows, all of them right, that allow the promise.
    n_tried, n_tried_errors : int
        Rows accepted at the first threshold tested, and the wrong ones; at the last one if none accepts enough rows.
    """

    threshold: float = number(0.0, or_infinite=True)
    max_risk: float = number(0.0, 1.0)
    n_rows: int = whole(below=2**63)
    n_accepted: int = whole(below=2**63)
    n_errors: int = whole(below=2**63)
    n_needed: int = whole(below=2**63)
    n_tried: int = whole(below=2**63)
    n_tried_errors: int = whole(below=2**63)

    def risk_bound(self, confidence: float) -> float:
        """An upper bound on the error rate among accepted rows."""
        return float(upper_bound(self.n_errors, self.n_accepted, confidence))

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        if not self.n_errors <= self.n_accepted <= self.n_rows or self.n_tried > self.n_rows:
            return "counts more errors than accepted rows, or more accepted rows than rows"
        return "has a threshold that accepts nothing" if math.isfinite(self.threshold) and not self.n_accepted else None


def choose_threshold(
    trust: FloatArray, wrong: BoolArray, grid: FloatArray, max_risk: float, confidence: float, n_assumed: int = 0
) -> Control:
    """The most lenient threshold of `grid` that passes fixed-sequence testing."""
    return choose_together([(trust, wrong)], grid, max_risk, confidence, n_assumed)[0]


def choose_together(
    groups: Sequence[tuple[FloatArray, BoolArray]],
    grid: FloatArray,
    max_risk: float,
    confidence: float,
    n_assumed: int = 0,
) -> list[Control]:
    """The most lenient threshold that keeps the error rate in every group, as a `Control` for each group."""
    thresholds = np.unique(grid)[::-1]
    sums = [sums_at(thresholds, trust, wrong) for trust, wrong in groups]
    counts = [(accepted + n_assumed, errors + n_assumed) for accepted, errors in sums]
    n_rows = [len(trust) + n_assumed for trust, _ in groups]
    return choose_from_counts(thresholds, counts, n_rows, max_risk, confidence, n_assumed)


def choose_from_counts(
    thresholds: FloatArray,
    counts: Sequence[tuple[IntArray, IntArray]],
    n_rows: Sequence[int],
    max_risk: float,
    confidence: float,
    n_assumed: int = 0,
) -> list[Control]:
    """The same, from counts instead of rows."""
    needed = [rows_to_start(n, max_risk, confidence, n_assumed) for n in n_rows]
    start = max(int(np.searchsorted(accepted, n)) for (accepted, _), n in zip(counts, needed, strict=True))
    p_values = [p_value(errors[start:], accepted[start:], max_risk) for accepted, errors in counts]
    n_passed = n_before_failure(np.max(p_values, axis=0) <= 1.0 - confidence)
    tried, chosen, any_passed = min(start, len(thresholds) - 1), start + n_passed - 1, n_passed > 0
    return [
        Control(
            threshold=float(thresholds[chosen]) if any_passed else math.inf,
            max_risk=max_risk,
            n_rows=n,
            n_accepted=int(accepted[chosen]) if any_passed else 0,
            n_errors=int(errors[chosen]) if any_passed else 0,
            n_needed=rows_needed(max_risk, confidence),
            n_tried=int(accepted[tried]),
            n_tried_errors=int(errors[tried]),
        )
        for n, (accepted, errors) in zip(n_rows, counts, strict=True)
    ]


N_FOLDS = 3

# Predicted labels and trust of some rows.
Answers: TypeAlias = tuple[NDArray[Any], FloatArray]


def decide_inside(estimator: Any, X: Any) -> Decisions:
    """The decisions of the inner estimator."""
    return decide_with_trust(estimator, X, "wrap it in a CalibratedClassifierCV")


def decide_left_out(estimator: Any, X: Any, labels: NDArray[Any], random: np.random.RandomState) -> Answers | None:
    """Cross-fitted labels and trust of training rows; None if every class has a single row."""
    folds = stratified_folds(labels, N_FOLDS, random)
    parts = []
    for fold in np.unique(folds[folds >= 0]):
        left_in, left_out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = clone(estimator).fit(_safe_indexing(X, left_in), labels[left_in])
        parts.append(decide_inside(fitted, _safe_indexing(X, left_out)))
    if not parts:
        return None
    return np.concatenate([part.label for part in parts]), np.concatenate([part.trust for part in parts])


def grid_of(training: Answers | None, label: Any = None) -> FloatArray:
    """Thresholds to try: quantiles of the trust in training rows, of one label if given; fixed ones without rows."""
    if training is None:
        return fixed_grid()
    labels, trust = training
    of_label = trust if label is None else trust[np.asarray(labels == label)]
    return quantile_grid(of_label) if len(of_label) else fixed_grid()
