"""Decisions on rows that took no part in fitting, and the calibration learnt from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.regions.calibration import Calibration, signals
from sepc.regions.model import SEPModel
from sepc.regions.rules import decide

FitFold = Callable[[FloatArray, NDArray[Any]], SEPModel]


def splits_of(cv: Any, labels: NDArray[Any], groups: Any, who: str) -> list[tuple[IntArray, IntArray]]:
    """The folds that `cv` makes of the rows: a number, a splitter of scikit-learn's, or splits of the user's own."""
    if isinstance(cv, int):
        fewest = int(np.unique(labels, return_counts=True)[1].min())
        if fewest < 2:
            raise ValueError(
                f"{who} compares decisions with labels on rows left out, so it needs at least 2 rows of every class; "
                "one class has a single row. Leave that class out, or use trust='evidence'."
            )
        cv = min(cv, fewest)
    return list(check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels, groups))


def calibrate(
    fit_fold: FitFold,
    rows: FloatArray,
    labels: NDArray[Any],
    splits: Iterable[tuple[IntArray, IntArray]],
    n_jobs: int | None,
) -> Calibration:
    """Learn from decisions on the rows that each fold leaves out."""
    jobs = (delayed(_left_out)(fit_fold, rows, labels, train, test) for train, test in splits)
    parts = Parallel(n_jobs=n_jobs)(jobs)
    return Calibration.learnt(np.concatenate([one[0] for one in parts]), np.concatenate([one[1] for one in parts]))


def _left_out(
    fit_fold: FitFold, rows: FloatArray, labels: NDArray[Any], train: IntArray, test: IntArray
) -> tuple[FloatArray, BoolArray]:
    decisions = decide(fit_fold(rows[train], labels[train]), rows[test], min_trust=0.0)
    given = signals(decisions.trust, decisions.counts, decisions.gauge, decisions.rule)
    return given, np.asarray(decisions.label == labels[test])
