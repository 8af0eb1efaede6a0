"""What every estimator has: parameters, and the number and names of its features."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from sepc.io.reader import Reader
from sepc.io.values import parameters_from, parameters_to_node
from sepc.io.writer import Node

Estimator = TypeVar("Estimator")


def shell_to_node(estimator: Any, *, but: tuple[str, ...] = ()) -> Node:
    """Parameters, and the names of the features if `fit` was given any."""
    parameters = {name: value for name, value in estimator.get_params(deep=False).items() if name not in but}
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "parameters": parameters_to_node(parameters),
        "feature_names_in": None if names is None else [str(name) for name in names],
        "n_features_in": int(estimator.n_features_in_),
    }


def fill_shell(fresh: Estimator, reader: Reader) -> Estimator:
    """Set parameters and the names of features on a new estimator."""
    estimator: Any = fresh
    estimator.set_params(**parameters_from(reader.part("parameters"), set(estimator.get_params(deep=False))))
    try:
        estimator.check_parameters()
    except (TypeError, ValueError) as error:
        raise reader.wrong("has a parameter that no estimator has") from error
    estimator.n_features_in_ = reader.integer("n_features_in", low=1)
    if reader.has("feature_names_in"):
        names = reader.texts("feature_names_in")
        if len(names) != estimator.n_features_in_:
            raise reader.wrong("names another number of features than it has")
        estimator.feature_names_in_ = np.array(names, dtype=object)
    return fresh
