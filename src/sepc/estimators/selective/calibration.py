"""The inputs for choosing thresholds: decisions of the inner estimator, and grids independent of calibration rows."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import FloatArray
from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_with_trust
from sepc.statistics.fixed_sequence import fixed_grid, quantile_grid
from sepc.statistics.splits import stratified_folds

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
