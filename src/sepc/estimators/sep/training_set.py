"""A training set: its rows as point sets, all together and class by class, and how much each class counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.sep.standardization import Extent
from sepc.model.sep_model import SEPModel
from sepc.points.first_columns import first_columns
from sepc.points.in_memory import ArrayPoints
from sepc.points.protocol import PointSet
from sepc.points.table_encoder import TableEncoder
from sepc.wording import MOST_NAMES, listed, shown

BALANCED = "balanced"


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows in the user's own units, wherever they are kept.

    Attributes
    ----------
    rows : PointSet
        All rows.
    classes : tuple of PointSet
        The rows of each class; codes of categories may follow the features.
    labels : (C,) array
        The sorted labels.
    names : tuple of str, or None
        Names of the columns, if they have any.
    """

    rows: PointSet
    classes: tuple[PointSet, ...]
    labels: NDArray[Any]
    names: tuple[str, ...] | None = None

    @cached_property
    def extent(self) -> Extent:
        """Range and moments of the rows, computed in one pass."""
        return Extent.of(self.rows)

    @classmethod
    def of_arrays(cls, rows: FloatArray, y: NDArray[Any], n_features: int) -> TrainingSet:
        """Rows in memory; codes of categories may follow the features."""
        labels, which = np.unique(y, return_inverse=True)
        classes = tuple(ArrayPoints(rows[which == k]) for k in range(len(labels)))
        return cls(ArrayPoints(rows[:, :n_features]), classes, labels)

    @classmethod
    def of_collection(cls, X: Any, y: Any, encoder: TableEncoder | None = None) -> TrainingSet:
        """Rows on a Dask cluster, or in Parquet files if `X` is a path; they stay where they are.

        A table that has not only numbers needs an encoder of its columns.
        """
        if is_lazy(X):
            from sepc.points.dask.inputs import labelled_points

            rows, classes, labels = labelled_points(X, y, encoder)
            return cls(_features(rows, encoder), classes, labels, _column_names(X, y))
        from sepc.points.on_parquet import labelled_points as read

        whole, parts, labels, names = read(X, y, encoder)
        return cls(_features(whole, encoder), parts, labels, names)


def is_collection(X: Any) -> bool:
    """Whether `X` is a Dask collection or a path to Parquet files, whose rows are not loaded into memory."""
    return is_lazy(X) or isinstance(X, str | PathLike)


def _features(rows: PointSet, encoder: TableEncoder | None) -> PointSet:
    """The rows without codes of categories."""
    return rows if encoder is None else first_columns(rows, len(encoder.feature_names))


def _column_names(X: Any, y: Any) -> tuple[str, ...] | None:
    """Column names of a DataFrame if all of them are strings, as in scikit-learn."""
    names = [name for name in getattr(X, "columns", ()) if not (isinstance(y, str) and name == y)]
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


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
