"""What pictures ask of estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc._typing import BoolArray, FloatArray
from sepc.estimator.classifier import SEPClassifier
from sepc.selective._inner import inner_decisions
from sepc.selective.selective import SelectiveClassifier
from sepc.selective.trusted import TrustedClassifier


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels and trust of rows, and which are accepted, if the estimator says so."""

    label: NDArray[Any]
    trust: FloatArray
    accepted: BoolArray | None = None


def ask(estimator: Any, X: ArrayLike) -> Answers:
    """What `decide` says, also at the end of a pipeline; or the largest probability, of estimators that have none."""
    decided = inner_decisions(estimator, X)
    if decided is not None:
        accepted = np.asarray(decided.accepted, dtype=bool)
        return Answers(np.asarray(decided.label), np.asarray(decided.trust, dtype=np.float64), accepted)
    if not hasattr(estimator, "predict_proba"):
        kind = type(estimator).__name__
        raise TypeError(f"{kind} has neither decide nor predict_proba; give its labels and trust to from_predictions.")
    probabilities = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    return Answers(np.asarray(estimator.classes_)[probabilities.argmax(axis=1)], probabilities.max(axis=1))


def name_of(estimator: Any) -> str:
    """What to call an estimator: a pipeline by its last step, a frozen one by what it holds."""
    if isinstance(estimator, FrozenEstimator):
        return name_of(estimator.estimator)
    return name_of(estimator[-1]) if isinstance(estimator, Pipeline) else type(estimator).__name__


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
