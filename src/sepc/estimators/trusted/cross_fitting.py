"""Cross-fitting: fit a classifier and a partition on the same rows, and compare them on rows neither has seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.errors import FlatSetWarning, LeftOutWarning
from sepc.estimators.base import decide_rows
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted.trust_model import signals
from sepc.statistics.splits import stratified_folds


@dataclass(frozen=True, eq=False)
class TransformedPartition:
    """A partition, and the transformer that computes its features from `X`; None to use the columns as they are."""

    partition: SEPClassifier
    transformer: Any = None

    def fitted(self, X: Any, labels: NDArray[Any]) -> TransformedPartition:
        """Fit clones of both, with `fit_transform`, since a transformer that uses labels may cross-fit its own rows."""
        transformer = None if self.transformer is None else clone(self.transformer)
        rows = X if transformer is None else transformer.fit_transform(X, labels)
        return replace(self, partition=clone(self.partition).fit(rows, labels), transformer=transformer)

    def decide(self, X: Any) -> SEPDecisions:
        """The partition's decisions on rows of `X`."""
        decisions: SEPDecisions = self.partition.decide(
            X if self.transformer is None else self.transformer.transform(X)
        )
        return decisions


def splits_of(cv: Any, labels: NDArray[Any], groups: Any, random_state: Any) -> list[tuple[IntArray, IntArray]]:
    """The folds of `cv`: a number of folds, a scikit-learn splitter, or an iterable of splits.

    A number means folds of rows drawn at random. Neighbouring rows of a table are often alike, so folds of neighbours
    would make a model look worse than it is.
    """
    if isinstance(cv, Integral):
        fewest = int(np.unique(labels, return_counts=True)[1].min())
        if fewest > 1:
            cv = StratifiedKFold(min(cv, fewest), shuffle=True, random_state=random_state)
        else:
            cv = _keeping_single_rows(int(cv), labels, random_state)
    return list(check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels, groups))


def _keeping_single_rows(n_folds: int, labels: NDArray[Any], random_state: Any) -> PredefinedSplit:
    """Folds that never leave out the only row of a class."""
    folds = stratified_folds(labels, n_folds, check_random_state(random_state))
    if (folds < 0).all():
        raise ValueError(
            "TrustedClassifier compares labels on rows left out, and every class has a single row; give it at least 2 "
            "rows of some class."
        )
    return PredefinedSplit(folds)


def signals_on_left_out(
    estimator: Any, partition: TransformedPartition, X: Any, labels: NDArray[Any], train: IntArray, test: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Signals of the labels of left-out rows, and whether the labels are right; a frozen model is not refitted."""
    seen, left_out = _safe_indexing(X, train), _safe_indexing(X, test)
    with warnings.catch_warnings():
        # The fit on all rows has warned already.
        for category in (FlatSetWarning, LeftOutWarning):
            warnings.simplefilter("ignore", category)
        base = decide_rows(clone(estimator).fit(seen, labels[train]), left_out)
        decided = partition.fitted(seen, labels[train]).decide(left_out)
    return signals(base, decided), np.asarray(base.label == labels[test])
