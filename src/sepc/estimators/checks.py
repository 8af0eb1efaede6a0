"""Checks of parameters and labels that all estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d

from sepc.columns.table import column_names, is_table, refuse_repeated
from sepc.points.missing_labels import refuse_missing_labels


def check_table(X: Any) -> None:
    """Raise if `X` is a table with two columns of the same name, before scikit-learn does so in its own terms."""
    if is_table(X):
        refuse_repeated(column_names(X))


def check_labels(y: ArrayLike, who: str) -> NDArray[Any]:
    """Check `y` and return it as a 1-d array of labels of any type."""
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    refuse_missing_labels(labels)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)
