"""Choose the trust threshold that controls the selective risk: exact binomial tests in a fixed sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

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
    """What keeps the promise for some rows: their threshold, and what calibration saw of them.

    Attributes
    ----------
    threshold : float
        Rows with at least this trust are accepted; infinite if no threshold keeps the promise.
    limit : float
        The largest share of errors that is promised; with costs, the cost of a review.
    n_rows, n_accepted : int
        Calibration rows, and those that the threshold accepts.
    loss : float
        The number of errors among the accepted rows; with costs, the sum of what they cost.
    n_needed : int
        The fewest accepted rows, all without loss, that allow the promise.
    n_tried, tried_loss : int and float
        The same at the first threshold tested; at the last one if none accepts enough rows.
    """

    threshold: float = number(0.0, or_infinite=True)
    limit: float = number(0.0)
    n_rows: int = whole(below=2**63)
    n_accepted: int = whole(below=2**63)
    loss: float = number(0.0)
    n_needed: int = whole(below=2**63)
    n_tried: int = whole(below=2**63)
    tried_loss: float = number(0.0)

    @classmethod
    def at(
        cls,
        chosen: int | None,
        tried: int,
        thresholds: FloatArray,
        counts: tuple[IntArray, IntArray | FloatArray],
        n_rows: int,
        limit: float,
        n_needed: int,
    ) -> Self:
        """From accepted rows and their loss at each threshold; None is chosen if none keeps the promise."""
        accepted, loss = counts
        return cls(
            threshold=math.inf if chosen is None else float(thresholds[chosen]),
            limit=limit,
            n_rows=n_rows,
            n_accepted=0 if chosen is None else int(accepted[chosen]),
            loss=0.0 if chosen is None else float(loss[chosen]),
            n_needed=n_needed,
            n_tried=int(accepted[tried]),
            tried_loss=float(loss[tried]),
        )

    @property
    def mean_cost(self) -> float:
        """With costs, what errors and reviews cost per row."""
        return (self.loss + self.limit * (self.n_rows - self.n_accepted)) / self.n_rows if self.n_rows else self.limit

    def risk_bound(self, confidence: float) -> float:
        """An upper bound on the error rate among accepted rows."""
        return float(upper_bound(int(self.loss), self.n_accepted, confidence))

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        if max(self.n_accepted, self.n_tried) > self.n_rows:
            return "counts more accepted rows than rows"
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
    chosen = start + n_passed - 1 if n_passed else None
    tried, n_needed = min(start, len(thresholds) - 1), rows_needed(max_risk, confidence)
    return [
        Control.at(chosen, tried, thresholds, own, n, max_risk, n_needed) for n, own in zip(n_rows, counts, strict=True)
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
