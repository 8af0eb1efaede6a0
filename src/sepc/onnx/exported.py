"""What is exported: the classifier that decides, the thresholds of trust, and facts for the file's metadata."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray
from sepc.decisions.kinds import Cause
from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.stratified.estimator import StratifiedClassifier
from sepc.estimators.trusted.estimator import TrustedClassifier
from sepc.onnx.columns import ColumnInput, inputs_of

# The outputs after the label, in order, and their types.
KINDS = {"probabilities": "DOUBLE", "trust": "DOUBLE", "region": "INT64", "cause": "INT64", "accepted": "BOOL"}


@dataclass(frozen=True, eq=False)
class Exported:
    """The parts of a fitted model that the graph needs.

    Attributes
    ----------
    name : str
        Name of the model's class.
    decider : SEPClassifier
        The model itself, or the classifier inside a `SelectiveClassifier`.
    thresholds : (C,) array
        The least trust at which each label is accepted; infinite if it never is.
    is_promised : bool
        Whether the thresholds come from a `SelectiveClassifier`, not from `min_trust`.
    classes : array
        The labels that have a probability; a `SelectiveClassifier` may have more of them than the classifier inside.
    """

    name: str
    decider: SEPClassifier
    thresholds: FloatArray
    is_promised: bool
    classes: NDArray[Any]

    @classmethod
    def of(cls, model: Any) -> Exported:
        """Take a model apart; raises if it is not fitted, or cannot be exported."""
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
        thresholds = _promised(model, inner.classes_) if is_promised else own
        return cls(type(model).__name__, inner, thresholds, is_promised, model.classes_)

    @cached_property
    def inputs(self) -> tuple[ColumnInput, ...]:
        """One input for each column of a table with categories or dates; empty if all rows come as one matrix."""
        preparation = self.decider.preparation_
        return () if preparation is None else inputs_of(preparation, ("label", *KINDS))

    def facts(self) -> dict[str, str]:
        """The metadata of the file: the version of sepc, and everything else as JSON."""
        least = dict(zip(self.decider.classes_.tolist(), self.thresholds.tolist(), strict=True))
        accepted_from = [least.get(label, math.inf) for label in self.classes.tolist()]
        facts = {
            "estimator": self.name,
            "decider": type(self.decider).__name__,
            "classes": self.classes.tolist(),
            "feature_names": list(self.decider.model_.feature_names),
            "accepted_from_trust": [trust if math.isfinite(trust) else None for trust in accepted_from],
            **({"inputs": [own.facts() for own in self.inputs]} if self.inputs else {}),
            "causes": {str(int(cause)): cause.name for cause in Cause if cause is not Cause.DRIFTED},
        }
        return {"sepc_version": version("sepc")} | {name: json.dumps(fact) for name, fact in facts.items()}


def _promised(model: SelectiveClassifier, classes: NDArray[Any]) -> FloatArray:
    thresholds = np.full(len(classes), np.inf)
    for label, control in model.controls_.items():
        about = np.ones(len(thresholds), dtype=bool) if label is None else np.asarray(classes == label)
        thresholds[about] = np.minimum(thresholds[about], control.threshold)
    return thresholds


def _refusal(model: Any, inner: Any) -> str:
    about = "" if model is inner else f"{type(model).__name__} around "
    if isinstance(inner, Pipeline):
        steps = "its first steps are not sepc's: export the last step, and give it rows transformed by the others"
        return f"{about}Pipeline cannot be exported to ONNX, since {steps}."
    if isinstance(inner, StratifiedClassifier):
        strata = "its strata are categories, not numbers: export the models in estimators_ one by one"
        return f"{about}StratifiedClassifier cannot be exported to ONNX, since {strata}."
    if isinstance(inner, RepairedClassifier):
        several = "its repaired regions have models of their own: export estimator_ and those in repaired_ one by one"
        return f"{about}RepairedClassifier cannot be exported to ONNX, since {several}."
    if model is inner and not isinstance(inner, TrustedClassifier):
        known = "SEPClassifier or SelectiveClassifier"
        return f"{type(inner).__name__} cannot be exported to ONNX; give a fitted {known}."
    return f"{about}{type(inner).__name__} cannot be exported to ONNX: the model that gives the labels is not sepc's."


def label_constant(classes: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The labels as an ONNX constant, and its type; raises TypeError if ONNX has no type for them.

    Examples
    --------
    >>> label_constant(np.array([3, 7], dtype=np.int8))
    (array([3, 7]), 'INT64')
    >>> label_constant(np.array(["no", "yes"]))[1]
    'STRING'
    """
    kinds = {type(label) for label in classes.tolist()}
    if kinds == {str}:
        return classes.astype(object), "STRING"
    if kinds == {bool}:
        return classes.astype(np.bool_), "BOOL"
    if kinds == {int} and max(classes.tolist()) < 2**63:
        return classes.astype(np.int64), "INT64"
    if kinds == {float}:
        return classes.astype(np.float64), "DOUBLE"
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(
        f"The labels are of type {names}; ONNX holds whole numbers below 2**63, floats, booleans or text, of one type "
        "for all classes. Fit with such labels."
    )
