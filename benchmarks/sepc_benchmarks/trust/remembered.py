"""Base models, fitted once: what they say of rows is kept in the cache for all who cross-fit them alike."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted only if the folder does not hold what it says of the rows asked about."""

    def __init__(self, estimator: Any, folder: Path) -> None:
        self.estimator = estimator
        self.folder = folder

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        """Note the rows."""
        self.rows_, self.labels_ = X, y
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Labels."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes."""
        path = self.folder / f"{self._key(X)}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, self._fitted().predict_proba(X))
        return np.load(path)

    def _key(self, X: NDArray[np.float64]) -> str:
        text = repr(self.estimator).encode()
        arrays = (np.asarray(one).tobytes() for one in (self.rows_, self.labels_, X))
        return hashlib.sha256(text + b"".join(arrays)).hexdigest()

    def _fitted(self) -> Any:
        if not hasattr(self, "fitted_"):
            self.fitted_ = clone(self.estimator).fit(self.rows_, self.labels_)
        return self.fitted_
