"""What the estimator inside a wrapper decides."""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline


def inner_decisions(estimator: Any, X: Any) -> Any:
    """What `decide` says, of the estimator itself or of the last step of a pipeline; None if there is no `decide`."""
    if isinstance(estimator, FrozenEstimator):
        return inner_decisions(estimator.estimator, X)
    if isinstance(estimator, Pipeline):
        last = estimator[-1]
        if not hasattr(last, "decide"):
            return None
        return last.decide(estimator[:-1].transform(X) if len(estimator) > 1 else X)
    return estimator.decide(X) if hasattr(estimator, "decide") else None
