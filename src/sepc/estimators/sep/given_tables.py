"""Turn the input of an `SEPClassifier` (tables, missing values, weights) into a training set of numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_consistent_length, indexable
from sklearn.utils.validation import _get_feature_names, _num_samples, check_X_y

from sepc._typing import FloatArray, IntArray
from sepc.columns.kinds import Column, Kind, read_columns
from sepc.columns.preparation import Preparation, numbers_of_table
from sepc.columns.table import is_table, last_cells
from sepc.columns.training_rows import TrainingRows
from sepc.estimators.base import check_classes, check_given, check_labels
from sepc.estimators.sep._constraints import standalone_of
from sepc.estimators.sep.filling import fill_gaps
from sepc.estimators.sep.fitting import FitSettings
from sepc.estimators.sep.placing import standalone_of_many
from sepc.estimators.sep.training_set import GivenColumns, TableRows, TrainingSet, engine_of, is_collection
from sepc.looking.columns import warn_of_columns
from sepc.looking.labels import counted_labels, refuse_numbers, warn_of_labels
from sepc.looking.look import warn_at_fit
from sepc.model.standalone import Standalone
from sepc.model.training_summary import given_columns
from sepc.points.inputs import refuse_missing_labels
from sepc.points.row_digest import digest_of_rows

# The most rows to learn column types and category encodings from: as many as weights are fitted to.
DRAWN_ROWS = 40_000

# Fractional weights are rounded to copies, at most the larger of this and twice the number of rows.
MOST_COPIES = 40_000


def prepare(X: Any, y: Any, settings: FitSettings, sample_weight: Any = None) -> TrainingSet:
    """Turn input into complete rows of numbers, by class; learns the column types of a table."""
    if is_collection(X):
        if sample_weight is not None:
            raise TypeError("sample_weight is for rows in memory; for files and Dask collections it must be None.")
        if settings.out_of_fold:
            raise TypeError("out_of_fold is for rows in memory; for files and Dask collections it must be False.")
        if settings.fit_rows is None:
            raise ValueError(
                "fit_rows=None partitions all rows, which must be in memory. For files and Dask collections set it to "
                "'auto' or to a number of rows, or load the table and fit to that."
            )
        training = TrainingSet.of_collection(X, y, _encoder(X, y, settings))
        labels, counts = training.labels.tolist(), training.classes.sizes
        refuse_numbers(labels, counts)
        check_classes(training.labels)
        warn_of_labels(labels, counts)
        return _place(replace(training, alone=_standalone(training.columns, training.labels, settings)), settings)
    check_given(X, y)
    refuse_numbers(*counted_labels(y))
    n_table, copies = _num_samples(X), None
    positions = np.arange(n_table)
    if sample_weight is not None:
        X, y = indexable(X, check_labels(y, settings.who))
        weights = _check_weights(sample_weight, len(y))
        positions = np.flatnonzero(weights > 0.0)
        if len(positions) < n_table:
            X, y, weights = _safe_indexing(X, positions), y[positions], weights[positions]
        copies = Copies.of(weights)
        positions = positions[copies.positions]
    rows, labels, columns = _numbers(X, y, copies, settings)
    warn_of_labels(*counted_labels(labels))
    alone = _standalone(columns, np.unique(labels), settings)
    training = _place(complete(rows, labels, columns, alone), settings)
    unit = 1.0 if copies is None else copies.unit
    return replace(training, weight_scale=unit, table=TableRows(rows, labels, positions, n_table))


def complete(rows: FloatArray, labels: NDArray[Any], columns: GivenColumns, alone: Standalone | None) -> TrainingSet:
    """The training set of rows in memory, with missing values imputed."""
    classes, which = np.unique(labels, return_inverse=True)
    digest = digest_of_rows(rows, classes, which, given_columns(columns.displays, rows.shape[1]))
    training = TrainingSet.of_arrays(fill_gaps(rows, which, columns.feature_names), labels, columns)
    return replace(training, digest=digest, alone=alone)


def _place(training: TrainingSet, settings: FitSettings) -> TrainingSet:
    """The training set with the features, of many, that ellipsoids do without."""
    if settings.trust != "weights":
        return training
    if settings.learned is not None and settings.learned.is_for(training.columns):
        alone = settings.learned.alone
        return replace(training, alone=None if alone is None else alone.among(settings.learned.labels, training.labels))
    return replace(training, alone=standalone_of_many(training, settings.seed()))


def _standalone(columns: GivenColumns, labels: NDArray[Any], settings: FitSettings) -> Standalone | None:
    return standalone_of(columns, labels, settings.monotone, settings.monotone_for, settings.features_alone)


def _numbers(
    X: Any, y: Any, copies: Copies | None, settings: FitSettings
) -> tuple[FloatArray, NDArray[Any], GivenColumns]:
    """Rows of numbers, NaN where missing, and labels, repeated by weight; and the column types."""
    found = _get_feature_names(X)
    names = None if found is None else tuple(found)
    if is_table(X):
        labels = check_labels(y, settings.who)
        check_consistent_length(X, labels)
        kinds, values = read_columns(X, settings.categories, settings.force_features or ())
        warn_at_fit(last_cells(X), values, labels, {*settings.categories, *(settings.force_features or ())})
        given, kinds = kinds, _keep(kinds, settings.kept)
        if not all(column.is_plain for column in kinds):
            if copies is not None:
                values, labels = (
                    {name: cells[copies.positions] for name, cells in values.items()},
                    labels[copies.positions],
                )
            classes, unit = np.unique(labels, return_inverse=True)[1], 1.0 if copies is None else copies.unit
            preparation, rows = Preparation.fit(kinds, values, classes, unit, settings.seed())
            preparation.check_finite(rows)
            warn_of_columns(given, stacklevel=6)
            return rows, labels, GivenColumns(len(kinds), names, preparation)
        warn_of_columns(kinds, stacklevel=6)
    elif settings.categories or settings.force_features:
        raise TypeError("categorical_features and force_features name columns of a table, but X is not a table.")
    if y is None:
        raise ValueError(f"This {settings.who} estimator requires y to be passed, but the target y is None.")
    refuse_missing_labels(y)
    try:
        # To look for NaN, scikit-learn adds up all cells; the sum of huge ones may overflow.
        with np.errstate(invalid="ignore"):
            rows, labels = check_X_y(
                numbers_of_table(X),
                y,
                dtype=np.float64,
                ensure_all_finite="allow-nan",
                ensure_min_samples=2,
                estimator=settings.who,
            )
    except ValueError as error:
        if not str(error).startswith("could not convert string"):
            raise
        advice = "give a DataFrame, whose columns may hold categories, or texts that are dates or numbers."
        raise ValueError(f"X is an array with text in it ({error}); {advice}") from error
    check_classes(labels)
    if not is_table(X):
        warn_at_fit({}, {f"x{j}": column for j, column in enumerate(rows.T)}, labels)
    if copies is not None:
        rows, labels = rows[copies.positions], labels[copies.positions]
    return rows, labels, GivenColumns(rows.shape[1], names)


def _keep(columns: tuple[Column, ...], kept: Collection[str] | None) -> tuple[Column, ...]:
    """The columns, with those that are not kept left out."""
    if kept is None:
        return columns
    why = f"not among the {len(kept)} that matter most"
    return tuple(
        column
        if column.name in kept or column.kind is Kind.LEFT_OUT
        else replace(column, kind=Kind.LEFT_OUT, why=why, written=None)
        for column in columns
    )


def _encoder(X: Any, y: Any, settings: FitSettings) -> TrainingRows | None:
    """The encoder of a collection, learned from a sample; None if all columns are numbers and used unchanged."""
    if not _is_lazy_table(X) and (settings.categories or settings.force_features):
        raise TypeError("categorical_features and force_features name columns of a table, but X is not a table.")
    if not settings.categories and not engine_of(X).has_other_columns(X, y):
        return None
    table, labels = engine_of(X).draw_table(X, y, DRAWN_ROWS, settings.seed())
    columns, values = read_columns(table, settings.categories, settings.force_features or ())
    if all(column.is_plain for column in columns):
        warn_of_columns(columns, stacklevel=6)
        return None
    refuse_numbers(*counted_labels(labels))
    check_classes(labels)
    classes = np.unique(labels, return_inverse=True)[1]
    preparation, rows = Preparation.fit(columns, values, classes, 1.0, settings.seed())
    warn_of_columns(columns, stacklevel=6)
    return TrainingRows.of(preparation, table, rows)


def _is_lazy_table(X: Any) -> bool:
    """Whether a collection has named columns: a Dask DataFrame, or Parquet files."""
    return isinstance(X, str | PathLike) or hasattr(X, "columns")


@dataclass(frozen=True, eq=False)
class Copies:
    """How often each training row counts."""

    counts: IntArray
    unit: float = 1.0

    @classmethod
    def of(cls, weights: FloatArray) -> Copies:
        """Copies in proportion to the weights; exactly the weights if all are whole and not too large.

        Examples
        --------
        >>> Copies.of(np.array([2.0, 0.0, 1.0])).positions
        array([0, 0, 2])
        >>> copies = Copies.of(np.array([0.5, 0.75, 0.75, 2.0]))
        >>> copies.positions, copies.unit
        (array([0, 1, 1, 2, 3, 3, 3, 3]), 0.5)
        """
        total, n_most = float(weights.sum()), max(2 * len(weights), MOST_COPIES)
        if total <= n_most and (weights == np.round(weights)).all():
            return cls(weights.astype(np.int64))
        factor = min(1.0 / weights[weights > 0.0].min(), n_most / total)
        counts = np.diff(np.floor(np.cumsum(weights) * factor + 0.5), prepend=0.0).astype(np.int64)
        return cls(counts, total / max(1, int(counts.sum())))

    @cached_property
    def positions(self) -> IntArray:
        """The row of each copy."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def _check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights of rows as an array; raises unless they are numbers, not negative, and not all zero."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold a number for each row: {error}.") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight for each row.")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight has weights that are negative, NaN or infinite.")
    if not weights.any():
        raise ValueError("All weights in sample_weight are zero.")
    if weights.sum() < 1.0:
        raise ValueError(
            f"The weights add up to {weights.sum():.3g}, less than one row. A row of weight 2 counts as two rows; "
            "multiply the weights so that they add up to the number of rows."
        )
    return weights
