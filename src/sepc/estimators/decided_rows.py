"""The digest of rows as a fitted model sees them, to compare with those it was made from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc.columns.preparation import feature_displays
from sepc.decisions.decisions import Decisions, partition_behind
from sepc.estimators.base import check_labels, decide
from sepc.model.provenance import Provenance
from sepc.model.sep_model import keeps_hashes
from sepc.model.training_summary import FeatureDisplay, given_columns
from sepc.points.row_digest import digest_of_rows


def rows_digest(model: Any, X: Any, y: ArrayLike) -> str:
    """A digest of labelled rows as a model sees them; the order of the rows does not matter.

    If it equals the `provenance_.rows` of the model, these are the rows that the model was fitted to, calibrated on or
    repaired with. It says nothing about columns that the model does not use. Rows that differ by accident give another
    digest, but it is not a cryptographic hash: someone who may choose the rows can make others with the same digest.

    Parameters
    ----------
    model : fitted classifier
    X : array or DataFrame of n rows
    y : array of shape (n,)

    Returns
    -------
    str
        32 hexadecimal digits; empty for a model without a partition if `X` is not a table of numbers.

    Examples
    --------
    >>> import sepc
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = sepc.SEPClassifier().fit(X, y)
    >>> sepc.lifecycle.rows_digest(classifier, X[::-1], y[::-1]) == classifier.provenance_.rows
    True
    """
    return digest_of_decided(decide(model, X), X, check_labels(y, "rows_digest"))


def provenance_of_decided(decisions: Decisions, X: Any, labels: NDArray[Any], parent: str = "") -> Provenance:
    """How something was made from rows that a model has decided on; without a digest if the model keeps none."""
    partition = partition_behind(decisions)
    is_kept = partition is None or keeps_hashes(partition.model)
    return Provenance.now(digest_of_decided(decisions, X, labels) if is_kept else "", len(labels), parent)


def digest_of_decided(decisions: Decisions, X: Any, labels: NDArray[Any]) -> str:
    """The digest of rows that a model has decided on."""
    partition = partition_behind(decisions)
    if partition is None:
        return digest_of_numbers(X, labels)
    rows, preparation, n_features = partition.given_rows, partition.preparation, len(partition.model.feature_names)
    displays = (FeatureDisplay(),) * n_features if preparation is None else feature_displays(preparation)
    return digest_of_rows(rows, *np.unique(labels, return_inverse=True), given_columns(displays, rows.shape[1]))


def digest_of_numbers(X: Any, labels: NDArray[Any]) -> str:
    """The digest of rows of numbers; empty if they are anything else."""
    try:
        rows = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return ""
    return digest_of_rows(rows, *np.unique(labels, return_inverse=True)) if rows.ndim == 2 else ""
