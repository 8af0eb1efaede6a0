"""A training set: its rows as point sets, all together and class by class, and how much each class counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray, IntArray
from sepc.columns.preparation import Preparation, feature_displays
from sepc.columns.training_rows import TrainingRows
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.sep.standardization import Extent
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.model.sep_model import SEPModel
from sepc.model.standalone import Standalone
from sepc.model.training_summary import FeatureDisplay
from sepc.points.chosen_columns import first_columns
from sepc.points.in_memory import ArrayPoints
from sepc.points.protocol import PointSet
from sepc.wording import MOST_NAMES, check_number, listed, shown

BALANCED = "balanced"


@dataclass(frozen=True, eq=False)
class GivenColumns:
    """The given columns: how many, their names if any, and how they become features.

    `preparation` is None if all of them are numbers and used unchanged.
    """

    n: int
    names: tuple[str, ...] | None = None
    preparation: Preparation | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, which may be more or fewer than the columns."""
        if self.preparation is not None:
            return self.preparation.feature_names
        return tuple(f"x{j}" for j in range(self.n)) if self.names is None else self.names

    @property
    def displays(self) -> tuple[FeatureDisplay, ...]:
        """How each feature is displayed."""
        return (FeatureDisplay(),) * self.n if self.preparation is None else feature_displays(self.preparation)

    @property
    def of_categories(self) -> tuple[CategoryColumn, ...]:
        """The categorical columns, whose codes follow the features."""
        if self.preparation is None:
            return ()
        each = zip(self.preparation.category_features.tolist(), self.preparation.categories.values(), strict=True)
        return tuple(
            CategoryColumn(first, categories.encodings.shape[1], len(categories.values)) for first, categories in each
        )


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a table in memory, repeated by weight, with NaN for missing values.

    `positions` holds the position of each row in the table, which has `n_table` rows.
    """

    rows: FloatArray
    labels: NDArray[Any]
    positions: IntArray
    n_table: int

    @cached_property
    def has_gaps(self) -> bool:
        """Whether numbers are missing."""
        return bool(np.isnan(self.rows).any())

    def of_table(self, found: FloatArray) -> FloatArray:
        """Map results for these rows back to the rows of the table; NaN for rows of weight zero."""
        of_table = np.full((self.n_table, *found.shape[1:]), np.nan)
        of_table[self.positions] = found
        return of_table


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Rows in the user's own units, without missing values, wherever they are stored.

    Attributes
    ----------
    rows : PointSet
        All rows.
    classes : tuple of PointSet
        The rows of each class; category codes may follow the features.
    labels : (C,) array
        The sorted labels.
    columns : GivenColumns
    weight_scale : float
        How many rows each row counts as.
    table : TableRows or None
        The rows before imputation, if they come from a table or an array in memory.
    digest : str
        Of the rows before imputation, if they are in memory; of others it takes a pass, and is empty.
    alone : Standalone or None
        The features that enter through their own curve alone, if any.
    """

    rows: PointSet
    classes: tuple[PointSet, ...]
    labels: NDArray[Any]
    columns: GivenColumns
    weight_scale: float = 1.0
    table: TableRows | None = None
    digest: str = ""
    alone: Standalone | None = None

    @property
    def placed(self) -> IntArray | None:
        """The features that ellipsoids are made of; None if all are."""
        every = np.arange(len(self.columns.feature_names))
        return None if self.alone is None else np.setdiff1d(every, self.alone.features)

    @cached_property
    def extent(self) -> Extent:
        """Range and moments of the rows, computed in one pass."""
        return Extent.of(self.rows)

    @classmethod
    def of_arrays(cls, rows: FloatArray, y: NDArray[Any], columns: GivenColumns) -> TrainingSet:
        """Rows in memory; category codes may follow the features."""
        labels, which = np.unique(y, return_inverse=True)
        classes = tuple(ArrayPoints(rows[which == k]) for k in range(len(labels)))
        return cls(ArrayPoints(rows[:, : len(columns.feature_names)]), classes, labels, columns)

    @classmethod
    def of_collection(cls, X: Any, y: Any, encoder: TrainingRows | None = None) -> TrainingSet:
        """Rows on a Dask cluster, or in Parquet files if `X` is a path; they stay where they are.

        A table with non-numeric columns needs an encoder.
        """
        rows: PointSet
        classes: tuple[PointSet, ...]
        if is_lazy(X):
            from sepc.points.dask.inputs import labelled_points

            (rows, classes, labels), names = labelled_points(X, y, encoder), _column_names(X, y)
        else:
            from sepc.points.on_parquet import labelled_points as read

            rows, classes, labels, names = read(X, y, encoder)
        if encoder is None:
            return cls(rows, classes, labels, GivenColumns(rows.n_features, names))
        columns = GivenColumns(len(encoder.preparation.columns), names, encoder.preparation)
        return cls(first_columns(rows, len(encoder.feature_names)), classes, labels, columns)


def is_collection(X: Any) -> bool:
    """Whether `X` is a Dask collection or a path to Parquet files, whose rows are not loaded into memory."""
    return is_lazy(X) or isinstance(X, str | PathLike)


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
        check_number(f"class_weight of {shown(label)}", weight, above=0)


def with_class_weights(model: SEPModel, class_weight: Any) -> SEPModel:
    """Adjust the class priors of a model: weight 2 makes a class twice as frequent, relative to the others."""
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
