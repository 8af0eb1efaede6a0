"""Base class of wrappers that keep the labels of another classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from sepc._typing import FloatArray
from sepc.estimators.base import D, DecidingClassifier


class KeptLabels(DecidingClassifier[D]):
    """A wrapper whose labels and probabilities are those of `estimator_`, the fitted classifier inside."""

    estimator: Any
    estimator_: Any

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The classifier's probabilities, of shape (n, C); for a Dask collection, as a Dask array."""
        return super().predict_proba(X)

    def _labels(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(X))

    def _probabilities(self, X: Any) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(X))
