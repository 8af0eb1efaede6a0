"""What is exported: the estimator that decides, from which trust its labels are accepted, and the facts of both."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray
from sepc.decisions.kinds import Cause
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.trusted.estimator import TrustedClassifier


@dataclass(frozen=True, eq=False)
class Exported:
    """A fitted model as far as the graph needs it.

    Attributes
    ----------
    name : str
        Of the model's class.
    decider : SEPClassifier
        The model itself, or the estimator of a promise.
    thresholds : (C,) array
        From which trust each label is accepted; infinite if never.
    is_promised : bool
        Whether the thresholds are those of a promise, and not the decider's own.
    """

    name: str
    decider: SEPClassifier
    thresholds: FloatArray
    is_promised: bool

    @classmethod
    def of(cls, model: Any) -> Exported:
        """Look into a model; an error if it is not fitted, or not ours."""
        is_promised = isinstance(model, SelectiveClassifier)
        inner = model
        if is_promised:
            check_is_fitted(model)
            inner = model.estimator_
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        if not isinstance(inner, SEPClassifier):
            raise TypeError(_refusal(model, inner))
        check_is_fitted(inner)
        own = np.full(len(inner.classes_), float(inner.min_trust))
        return cls(type(model).__name__, inner, _promised(model) if is_promised else own, is_promised)

    def facts(self) -> dict[str, str]:
        """What the file says of itself: the version of sepc, and the rest as JSON."""
        facts = {
            "estimator": self.name,
            "decider": type(self.decider).__name__,
            "classes": self.decider.classes_.tolist(),
            "feature_names": list(self.decider.model_.feature_names),
            "accepted_from_trust": [float(one) if np.isfinite(one) else None for one in self.thresholds],
            "causes": {str(int(cause)): cause.name for cause in Cause if cause is not Cause.DRIFTED},
        }
        return {"sepc_version": version("sepc")} | {name: json.dumps(fact) for name, fact in facts.items()}


def _promised(model: SelectiveClassifier) -> FloatArray:
    thresholds = np.full(len(model.classes_), np.inf)
    for label, control in model.controls_.items():
        about = np.ones(len(thresholds), dtype=bool) if label is None else np.asarray(model.classes_ == label)
        thresholds[about] = np.minimum(thresholds[about], control.threshold)
    return thresholds


def _refusal(model: Any, inner: Any) -> str:
    about = "" if model is inner else f"{type(model).__name__} around "
    if isinstance(inner, Pipeline):
        steps = "its first steps are not sepc's: export its last step, and hand that rows as the others make them"
        return f"{about}Pipeline cannot be exported to ONNX, since {steps}."
    if isinstance(inner, StratifiedClassifier):
        strata = "its strata are made of categories, not of numbers: export the models in estimators_ one by one"
        return f"{about}StratifiedClassifier cannot be exported to ONNX, since {strata}."
    if model is inner and not isinstance(inner, TrustedClassifier):
        known = "SEPClassifier or SelectiveClassifier"
        return f"{type(inner).__name__} cannot be exported to ONNX; give a fitted {known}."
    return f"{about}{type(inner).__name__} cannot be exported to ONNX: the model that gives the labels is not sepc's."
