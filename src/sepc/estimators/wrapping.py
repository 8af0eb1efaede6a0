"""Base classes of estimators around another classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from sepc._typing import FloatArray
from sepc.estimators.base import D, DecidingClassifier


class Wrapper(MetaEstimatorMixin, DecidingClassifier[D]):
    """A wrapper around `estimator`; it accepts missing values if `estimator` does."""

    estimator: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


class LabelPreservingWrapper(Wrapper[D]):
    """A wrapper whose labels and probabilities are those of `estimator_`, the fitted classifier inside."""

    estimator_: Any

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """The classifier's probabilities, of shape (n, C); for a Dask collection, as a Dask array."""
        return super().predict_proba(X)

    def _labels(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(X))

    def _probabilities(self, X: Any) -> FloatArray:
        return np.asarray(self.estimator_.predict_proba(X))


def take_features(wrapper: Any, fitted: Any) -> None:
    """Copy the number and the names of features from a fitted classifier."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(fitted, name):
            setattr(wrapper, name, getattr(fitted, name))
