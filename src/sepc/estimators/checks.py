"""Checks of parameters and labels that all estimators share."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from sepc.columns.table import column_names, is_table, refuse_masked, refuse_repeated
from sepc.points.missing_labels import refuse_missing_labels
from sepc.wording import listed, shown


def check_given(X: Any, y: Any) -> None:
    """Raise for training rows and labels that scikit-learn would refuse in its own terms, or take for others."""
    for name, given, kinds in (("X", X, (Mapping, str, PathLike)), ("y", y, (Mapping,))):
        if isinstance(given, kinds) and not hasattr(given, "shape"):  # as a sparse array of keys has
            kind = "text" if isinstance(given, str) else f"a {type(given).__name__}"
            raise TypeError(f"{name} is {kind}; give a DataFrame or an array of rows as X, and their labels as y.")
    refuse_masked(X)
    if is_table(X):
        names = column_names(X)
        refuse_repeated(names)
        if not names:
            raise ValueError("X has no columns.")
        if isinstance(y, str):
            raise ValueError(f"y is the text {shown(y)}; with a table in memory, give the labels themselves.")
        if len(X) == 0:
            raise ValueError("X has no rows.")


def check_classes(labels: NDArray[Any]) -> None:
    """Raise unless labels can be classes; those of several types have no order."""
    of_type = {type(label): label for label in labels.tolist()}
    if len(of_type) > 1:
        first, second, *_ = of_type.values()
        raise ValueError(
            f"Labels must be of one type, but y holds {listed(kind.__name__ for kind in of_type)}, as in "
            f"{shown(first)} and {shown(second)}. Convert them, as with map(str, y)."
        )
    check_classification_targets(labels)


def check_labels(y: ArrayLike, who: str) -> NDArray[Any]:
    """Check `y` and return it as a 1-d array of labels of any type."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    refuse_missing_labels(labels)
    assert_all_finite(labels, input_name="y")
    check_classes(labels)
    return np.asarray(labels)
