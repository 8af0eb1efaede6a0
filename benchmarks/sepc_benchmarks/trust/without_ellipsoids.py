"""Our own model without its ellipsoids: the curves of the features alone, to see what ellipsoids add."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from sepc import SEPClassifier
from sepc.estimators.sep.crossing import Crossing
from sepc.estimators.sep.multiclass import Pieces
from sepc.estimators.sep.weighing import Weighing
from sepc.model.counts import SignatureTable
from sepc.points.proportional_sample import ClassSample


class CurvesAlone(ClassifierMixin, BaseEstimator):
    """The weights of `SEPClassifier` on features only; without ellipsoids nothing tells what is far, so none fades."""

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Fit the curves with the same knots; penalties are learned in the same way."""
        smallest = SEPClassifier(trust="counts", max_ellipsoids=1).fit(X, y).model_
        d = X.shape[1]
        none = {"centers": np.empty((0, d)), "roots": np.empty((0, d, d)), "isolated": np.empty((0, d))}
        table = SignatureTable(np.empty((1, 0), dtype=bool), smallest.class_counts[None, :])
        model = replace(smallest, **none, owners=np.empty(0, int), isolated_owners=np.empty(0, int), table=table)
        self.classes_ = model.classes
        no_pieces = Pieces((), (), model.owners, model.isolated, model.isolated_owners)
        samples = [ClassSample(X[y == label], 1.0) for label in model.classes]
        weighing = Weighing.of(model, samples)
        penalties = weighing.penalties(Crossing(np.zeros(len(X), dtype=int), (), ()))
        self.model_ = replace(
            model, weights=weighing.weights(no_pieces, penalties), is_terminal=np.empty(0, dtype=bool)
        )
        return self

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        columns = self.model_.standardize(X).T
        scores = self.model_.weights.scores(columns, np.empty((0, len(X))), self.model_.isolated)
        return np.asarray(softmax(scores.T, axis=1))

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """The most probable labels."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
