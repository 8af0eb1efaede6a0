"""What pictures ask of estimators."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc.decisions.decisions import Decisions
from sepc.estimators.base import decide_with_trust
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.trusted.estimator import TrustedClassifier


def ask(estimator: Any, X: ArrayLike) -> Decisions:
    """What a model decides of rows; its trust can be drawn."""
    return decide_with_trust(estimator, X, "give its labels and trust to from_predictions")


def the_partition(estimator: Any, display: str) -> SEPClassifier:
    """The fitted SEPClassifier that `estimator` is, or that a frozen or selective one holds."""
    inner = estimator
    while isinstance(inner, FrozenEstimator | SelectiveClassifier):
        inner = inner.estimator if isinstance(inner, FrozenEstimator) else _fitted(inner).estimator_
    if not isinstance(inner, SEPClassifier):
        raise TypeError(f"{display} shows the one partition of an SEPClassifier. {_instead(inner)}")
    check_is_fitted(inner)
    return inner


def _fitted(estimator: Any) -> Any:
    check_is_fitted(estimator)
    return estimator


def _instead(estimator: Any) -> str:
    kind = type(estimator).__name__
    if isinstance(estimator, Pipeline):
        return "Of a pipeline, give the last step, pipeline[-1], and rows transformed by the steps before it."
    if isinstance(estimator, TrustedClassifier):
        return f"{kind} labels by another model; RiskCoverageDisplay and ReliabilityDisplay show what it decides."
    if hasattr(estimator, "repaired_"):
        return f"{kind} has one for each repaired region as well; give its estimator_, or one of repaired_."
    if hasattr(estimator, "estimators_"):
        return f"{kind} has several; give one of its estimators_."
    return f"{kind} has none."
