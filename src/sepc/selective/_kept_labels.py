"""What wrappers that keep a classifier's labels share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray


class KeptLabels:
    """Labels and probabilities are those of `estimator_`, the fitted classifier inside."""

    estimator: Any
    estimator_: Any

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The classifier's labels of all rows; `decide` says which of them to use."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The classifier's probabilities of the classes, of shape (n, C)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))
