"""What a model file stores for every estimator: parameters, number and names of features, and how it was made."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sepc.io.reader import Reader
from sepc.io.records import record_from, record_to_node
from sepc.io.values import are_among, parameters_from, parameters_to_node
from sepc.io.writer import Node, Writer
from sepc.model.provenance import Provenance

Estimator = TypeVar("Estimator")


def fields_to_node(estimator: Any, *, without: tuple[str, ...] = ()) -> Node:
    """Write the parameters, except those in `without`, the number and names of the features, and how it was made."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in without}
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "parameters": parameters_to_node(parameters),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "n_features_in": int(estimator.n_features_in_),
        **_provenance_to_node(getattr(estimator, "provenance_", None)),
    }


def _provenance_to_node(provenance: Provenance | None) -> Node:
    """Nothing without provenance, so that files of 0.1.0 stay the same when they are saved again."""
    return {} if provenance is None else {"provenance": record_to_node(provenance, Writer())}


def check_inner(inner: Any, reader: Reader, n_features: int, classes: NDArray[Any], *, all_classes: bool) -> None:
    """Raise if an inner estimator has different features or labels, as far as it reports them."""
    labels = np.asarray(getattr(inner, "classes_", classes))
    if getattr(inner, "n_features_in_", n_features) != n_features:
        raise reader.wrong("has a different number of features from the estimator inside")
    if labels.ndim != 1 or not are_among(labels, classes) or (all_classes and len(labels) != len(classes)):
        raise reader.wrong("has different labels from the estimator inside")


def restore_fields(fresh: Estimator, reader: Reader) -> Estimator:
    """Set the parameters, the features and the provenance that were read on a new estimator."""
    estimator: Any = fresh
    estimator.set_params(**parameters_from(reader.part("parameters"), set(estimator.get_params(deep=False))))
    try:
        estimator.check_parameters()
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.wrong("has an invalid parameter") from error
    estimator.n_features_in_ = reader.integer("n_features_in", low=1)
    if reader.has("feature_names_in"):
        names = reader.texts("feature_names_in")
        if len(names) != estimator.n_features_in_:
            raise reader.wrong("has a number of feature names that does not match its features")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    has_one = reader.has("provenance")
    estimator.provenance_ = record_from(Provenance, reader.part("provenance")) if has_one else None
    return fresh
