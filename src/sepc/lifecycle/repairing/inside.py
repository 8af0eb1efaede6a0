"""Take a model apart into what is repaired and what stands around it, and put it together again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc.estimators.repaired.estimator import RepairedClassifier
from sepc.estimators.repaired.partition import HasRegions
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import unwrap


@dataclass(frozen=True, eq=False)
class Inside:
    """What a repair finds inside a model.

    Attributes
    ----------
    fitted : SEPClassifier or TrustedClassifier
        The classifier that has the regions.
    earlier : dict of int to SEPClassifier
        The models that earlier repairs gave its regions.
    lost_promise : bool
        Whether the model makes a promise, which will not hold for other labels.
    """

    fitted: HasRegions
    earlier: dict[int, SEPClassifier]
    lost_promise: bool


def inside_of(model: Any) -> Inside:
    """What is inside a fitted model; raises if it has no regions."""
    check_is_fitted(model)
    inner, lost_promise = unwrap(model).classifier, False
    while isinstance(inner, SelectiveClassifier):
        inner, lost_promise = unwrap(inner.estimator_).classifier, True
    if isinstance(inner, RepairedClassifier):
        return Inside(inner.estimator_, inner.repaired_, lost_promise or inner.lost_promise_)
    if not isinstance(inner, HasRegions):
        raise TypeError(
            "repair needs the regions of an SEPClassifier or of a TrustedClassifier, alone or inside a "
            f"SelectiveClassifier, a pipeline or a search; a {type(inner).__name__} has none. Wrap it in a "
            "TrustedClassifier, or fit it anew."
        )
    check_is_fitted(inner)
    return Inside(inner, {}, lost_promise)


def put_back(repaired: RepairedClassifier, model: Any) -> Any:
    """The repaired classifier behind the steps of the pipelines in `model`; promises and searches are left out."""
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        settings = model.get_params(deep=False)
        return type(model)(**settings | {"steps": [*model.steps[:-1], (name, put_back(repaired, last))]})
    for wrapper, inner in ((FrozenEstimator, "estimator"), (SelectiveClassifier, "estimator_")):
        if isinstance(model, wrapper):
            return put_back(repaired, getattr(model, inner))
    return put_back(repaired, model.best_estimator_) if hasattr(model, "best_estimator_") else repaired
