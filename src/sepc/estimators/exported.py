"""What an export needs of a model: the classifier that decides, and the trust thresholds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sepc._typing import FloatArray
from sepc.columns.categories import Categories
from sepc.columns.table import LARGEST_EXACT
from sepc.estimators.base import DecidingClassifier
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.sep.estimator import SEPClassifier
from sepc.estimators.unwrapping import edits_in, is_partition
from sepc.model.proofs import proofs_of
from sepc.model.sep_model import SEPModel
from sepc.model.weights import Weights
from sepc.wording import MOST_NAMES, listed, shown

# The last digits of a sine differ between platforms, and curves step at values of training rows. So in an exported
# model, curves of the time of year step earlier by this much, in standard deviations.
EARLIER = 1e-12


@dataclass(frozen=True, eq=False)
class Exported:
    """The parts of a fitted model that another program needs."""

    name: str
    decider: SEPClassifier
    thresholds: FloatArray
    is_promised: bool
    classes: NDArray[Any]

    @classmethod
    def of(cls, model: Any, target: str) -> Exported:
        """The parts of a model; raises if it is not fitted, or cannot be exported to a target such as "ONNX"."""
        is_promised = isinstance(model, SelectiveClassifier)
        inner = model
        if is_promised:
            check_is_fitted(model)
            model.made_for_.check()
            _check_promise(model, target)
            inner = model.estimator_
        while isinstance(inner, FrozenEstimator):
            inner = inner.estimator
        if not is_partition(inner):
            raise TypeError(_refusal(model, inner, target))
        check_is_fitted(inner)
        if inner.model_.weights is None:
            raise TypeError(
                f"{type(model).__name__} with trust={inner.model_.trust!r} cannot be exported to {target}; "
                "fit with trust='weights'."
            )
        by_min_trust = np.full(len(inner.classes_), float(inner.min_trust))
        thresholds = _promised_thresholds(model, inner.classes_) if is_promised else by_min_trust
        return cls(type(model).__name__, inner, thresholds, is_promised, model.classes_)

    @cached_property
    def model(self) -> SEPModel:
        """The arrays that decide; their time-of-year curves do not depend on how a platform rounds."""
        return replace(self.decider.model_, weights=self.weights)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of the exported model must know: its edits, and its proofs."""
        edits = tuple(f"Edited: {edit}." for edit in edits_in(self.decider))
        return (*edits, *map(str, proofs_of(self.decider.model_)))

    @cached_property
    def weights(self) -> Weights:
        """Its weights; models without weights are not exported."""
        weights, preparation = self.decider.model_.weights, self.decider.encoding_
        assert weights is not None
        if preparation is None:
            return weights
        is_wave = np.array([name != column and column in preparation.seasons for column, name in preparation.features])
        return replace(weights, knots=weights.knots - EARLIER * np.repeat(is_wave, weights.n_knots))


def _promised_thresholds(model: SelectiveClassifier, classes: NDArray[Any]) -> FloatArray:
    thresholds = np.full(len(classes), np.inf)
    for key, control in model.promise_.controls.items():
        is_for_all = key is None or model.promise_.groups is not None
        about = np.ones(len(thresholds), dtype=bool) if is_for_all else np.asarray(classes == key)
        thresholds[about] = np.minimum(thresholds[about], control.threshold)
    return thresholds


def _check_promise(model: SelectiveClassifier, target: str) -> None:
    """Raise if the promise needs more than a trust threshold."""
    if model.promise_.shift is not None:
        raise TypeError(
            f"A promise for another mix of regions cannot be exported to {target}: it depends on the region of a row. "
            "Export estimator_, or a SelectiveClassifier fitted without X_target."
        )
    if model.promise_.groups is not None and model.promise_.groups.affect_acceptance:
        raise TypeError(
            f"Promises for groups cannot be exported to {target}, unless all groups have one and share a threshold: "
            "fit with one_threshold=True, and merge small groups into others with parents."
        )


def _refusal(model: Any, inner: Any, target: str) -> str:
    about = "" if model is inner else f"{type(model).__name__} around "
    refused = f"{about}{type(inner).__name__} cannot be exported to {target}"
    if isinstance(inner, Pipeline):
        steps = "its first steps are not sepc's: export the last step, and give it rows transformed by the others"
        return f"{refused}, since {steps}."
    if getattr(inner, "is_routed", False):
        return f"{refused}, since it has several models: export default_ and those in routes_ one by one."
    if model is inner and not isinstance(inner, DecidingClassifier):
        return f"{refused}; give a fitted SEPClassifier or SelectiveClassifier."
    return f"{refused}: the model that gives the labels is not sepc's."


def check_encodable(text: str, target: str) -> str:
    """Return the text, or raise ValueError if it has half of a surrogate pair, which no encoding of Unicode has."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{shown(text)} is not valid Unicode, which {target} cannot hold; rename it.") from error
    return text


def type_of_labels(classes: NDArray[Any], target: str) -> type:
    """The common type of all labels: str, bool, int or float; raises TypeError if there is none.

    Examples
    --------
    >>> type_of_labels(np.array([3, 7], dtype=np.int8), "ONNX")
    <class 'int'>
    """
    kinds = {type(label) for label in classes.tolist()}
    if len(kinds) == 1 and kinds <= {str, bool, int, float} and not (kinds == {int} and max(classes.tolist()) >= 2**63):
        for label in classes.tolist():
            check_encodable(str(label), target)
        return kinds.pop()
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise TypeError(
        f"The labels are of type {names}; {target} holds whole numbers below 2**63, floats, booleans or text, of one "
        "type for all classes. Fit with such labels."
    )


def are_texts(name: str, categories: Categories, target: str) -> bool:
    """Whether the categories of a column are text, not numbers; raises TypeError if one is ambiguous or too large."""
    known = [value for value in categories.values if value is not None]
    if not any(isinstance(value, str) for value in known):
        large = [value for value in known if isinstance(value, int) and abs(value) >= LARGEST_EXACT]
        if large:
            raise TypeError(
                f"Column {shown(name)} has the category {shown(large[0])}; in {target}, numbers are doubles, which "
                "skip whole numbers from 2**53 on, so two categories could become one. Convert the column to text "
                "before fitting."
            )
        return False
    texts = [check_encodable(str(value), target) for value in known]
    same = sorted({text for text in texts if texts.count(text) > 1})
    if same:
        named = listed(map(shown, same), MOST_NAMES)
        raise TypeError(
            f"Column {shown(name)} has {named} both as text and as a number; in {target}, categories are one or the "
            "other. Convert the column before fit."
        )
    return True
