"""Weights of classes: probabilities for rows among which classes have other shares than in training.

Counting the rows of a class more often would fit them more closely than their number allows. Instead, the fit is left
as it is, and its probabilities are those of Bayes' rule for the other shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.model.sep_model import SEPModel
from sepc.wording import MOST_NAMES, listed, shown

BALANCED = "balanced"


def check_class_weight(class_weight: Any) -> None:
    """Raise unless this is None, "balanced", or a mapping of labels to positive numbers."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight is {class_weight!r}; it must be 'balanced', a mapping or None.")
    for label, weight in class_weight.items():
        if not (isinstance(weight, Real) and 0.0 < float(weight) < np.inf):
            raise ValueError(f"class_weight of {shown(label)} is {weight!r}; it must be a number above zero.")


def with_class_weights(model: SEPModel, class_weight: Any) -> SEPModel:
    """The model for rows among which a class of weight 2 is twice as frequent, beside the others, as in training."""
    weights = weights_of_classes(class_weight, model.classes, model.class_counts)
    if model.weights is not None:
        logs = np.log(weights)
        offsets = model.weights.offsets + (logs - logs.mean())
        kinds = model.row_kinds
        if kinds is not None:
            kinds = replace(kinds, class_rows=kinds.class_rows * weights)
        return replace(model, weights=replace(model.weights, offsets=offsets), row_kinds=kinds)
    counts = model.table.counts
    weighted = np.maximum(np.round(counts * weights), counts > 0).astype(np.int64)
    return replace(model, class_counts=weighted.sum(axis=0), table=replace(model.table, counts=weighted))


def weights_of_classes(class_weight: Any, classes: NDArray[Any], counts: NDArray[Any]) -> FloatArray:
    """The weight of each class, given the number of its rows."""
    if isinstance(class_weight, str):
        return np.asarray(counts.sum() / (len(counts) * counts))
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        names = listed(map(shown, classes), MOST_NAMES)
        raise ValueError(f"class_weight names {listed(map(shown, unknown))}; the classes are {names}.")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
