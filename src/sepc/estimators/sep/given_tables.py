"""What an `SEPClassifier` is given: tables, gaps and weights, as rows of numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from sepc._typing import FloatArray, IntArray
from sepc.columns.kinds import Kind, kinds_of
from sepc.columns.number_columns import refuse_text
from sepc.columns.plain_rows import plain_rows
from sepc.columns.preparation import Preparation
from sepc.columns.table import is_table
from sepc.columns.training_rows import TrainingRows
from sepc.estimators.checks import checked_labels
from sepc.estimators.dask_scoring import is_lazy
from sepc.estimators.sep.training_gaps import filled
from sepc.model.sep_model import SEPModel

# The most rows to learn from what columns are, and how to encode categories: as many as weights are fitted to.
DRAWN_ROWS = 40_000

# Weights that are no whole numbers become copies by rounding: at most twice as many as there are rows, or so many.
MOST_COPIES = 40_000


class Prepared(NamedTuple):
    """Training rows as numbers, each as often as it counts.

    `given` has NaN for gaps, `rows` has them filled in. Each row counts as `unit` rows. `positions` says where each row
    stands in the table, which has `n_table` rows.
    """

    given: FloatArray
    rows: FloatArray
    labels: NDArray[Any]
    unit: float
    positions: IntArray
    n_table: int

    @property
    def has_gaps(self) -> bool:
        """Whether gaps were filled in."""
        return self.rows is not self.given

    def of_table(self, found: FloatArray) -> FloatArray:
        """What was found for these rows, for the rows of the table; NaN for those that do not count."""
        of_table = np.full((self.n_table, *found.shape[1:]), np.nan)
        of_table[self.positions] = found
        return of_table


class TakesTables(BaseEstimator):
    """Reads tables and arrays, and learns in training what the columns of a table are."""

    categorical_features: Any
    keep: Collection[Any] | None
    random_state: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    preparation_: Preparation | None

    def _prepare(self, X: Any, y: Any, sample_weight: Any = None) -> Prepared:
        """Rows of numbers to fit to; learns what the columns of a table are."""
        self.preparation_ = None
        n_table = _num_samples(X)
        positions, weights = np.arange(n_table), None
        if sample_weight is not None:
            X, y = indexable(X, checked_labels(y, type(self).__name__))
            weights = _checked_weights(sample_weight, len(y))
            positions = np.flatnonzero(weights > 0.0)
            if len(positions) < n_table:
                X, y, weights = _safe_indexing(X, positions), y[positions], weights[positions]
        copies = None if weights is None else Copies.of(weights)
        unit = 1.0 if copies is None else copies.unit
        given, labels = self._numbers(X, y, copies, unit)
        if self.preparation_ is not None:
            self.preparation_.warn_of_left_out()
        rows = self._filled(given, np.unique(labels, return_inverse=True)[1])
        return Prepared(
            given, rows, labels, unit, positions if copies is None else positions[copies.positions], n_table
        )

    def _numbers(self, X: Any, y: Any, copies: Copies | None, unit: float) -> tuple[FloatArray, NDArray[Any]]:
        """Rows of numbers with NaN for gaps, and labels, as often as they count."""
        if is_table(X):
            validate_data(self, X, skip_check_array=True)
            labels = checked_labels(y, type(self).__name__)
            check_consistent_length(X, labels)
            columns = kinds_of(X, self._categorical(), self.keep or ())
            if any(column.kind is not Kind.NUMBER for column in columns):
                X, labels = _repeated(X, labels, copies)
                classes = np.unique(labels, return_inverse=True)[1]
                self.preparation_, rows = Preparation.fitted(X, columns, classes, unit, self._seed())
                return self.preparation_.check_finite(rows), labels
        elif self._categorical() or self.keep:
            raise TypeError("categorical_features and keep name columns of a table, and X is none.")
        rows, labels = self._validated(X, y, ensure_min_samples=2, ensure_all_finite="allow-nan")
        check_classification_targets(labels)
        return _repeated(rows, labels, copies)

    def _encoder(self, X: Any, y: Any) -> TrainingRows | None:
        """Encodes the columns of a collection as a sample tells; None if all are numbers and used as they are."""
        if not is_lazy_table(X) and (self._categorical() or self.keep):
            raise TypeError("categorical_features and keep name columns of a table, and X is none.")
        if not self._categorical() and not has_other_columns(X, y):
            return None
        table, labels = _drawn_table(X, y, self._seed())
        columns = kinds_of(table, self._categorical(), self.keep or ())
        if all(column.kind is Kind.NUMBER for column in columns):
            return None
        check_classification_targets(labels)
        classes = np.unique(labels, return_inverse=True)[1]
        preparation, rows = Preparation.fitted(table, columns, classes, 1.0, self._seed())
        preparation.warn_of_left_out()
        return TrainingRows.of(preparation, table, rows)

    def _filled(self, rows: FloatArray, classes: IntArray) -> FloatArray:
        """Training rows with their gaps filled in."""
        empty = np.isnan(rows).all(axis=0)
        if empty.any():
            raise ValueError(f"Feature {self._names()[int(empty.argmax())]!r} has no values at all; leave it out.")
        if not np.isnan(rows).any():
            return rows
        return filled(rows, classes, self._n_features, self._first_model)

    @abstractmethod
    def _first_model(self, rows: FloatArray, classes: IntArray) -> SEPModel:
        """A model of complete rows, by which the gaps of the others are filled in."""

    def _categorical(self) -> Collection[Any]:
        chosen = self.categorical_features
        return () if chosen is None or isinstance(chosen, str) else chosen

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def _n_features(self) -> int:
        """Number of features of the model, which may be more or fewer than there are columns."""
        return self.n_features_in_ if self.preparation_ is None else len(self.preparation_.feature_names)

    def _names(self) -> tuple[str, ...]:
        if self.preparation_ is not None:
            return self.preparation_.feature_names
        names = getattr(self, "feature_names_in_", None)
        return tuple(f"x{j}" for j in range(self.n_features_in_)) if names is None else tuple(map(str, names))

    def _rows(self, X: Any) -> FloatArray:
        """Rows of numbers, as the model takes them; they may share their memory with `X`."""
        if self.preparation_ is None:
            rows = plain_rows(X, self.n_features_in_, getattr(self, "feature_names_in_", None))
            return self._checked_rows(X) if rows is None else rows
        self.check_columns(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self.preparation_.check_finite(self.preparation_.rows_of(X))

    def _checked_rows(self, X: Any) -> FloatArray:
        self.check_columns(X)
        rows: FloatArray = self._validated(X, reset=False, ensure_all_finite="allow-nan")
        return rows

    def _validated(self, *tables: Any, **checks: Any) -> Any:
        # To look for NaN, scikit-learn adds up all cells; of huge ones the sum may overflow.
        with np.errstate(invalid="ignore"):
            return validate_data(self, *tables, dtype=np.float64, **checks)

    def check_columns(self, X: Any) -> None:
        """Raise if a column does not hold numbers or, for a model of a table, if this is none."""
        kind = type(self).__name__
        if self.preparation_ is None:
            refuse_text(X, kind)
        elif not is_table(X):
            raise TypeError(f"{kind} was fitted to a table with named columns; give it a DataFrame with the same.")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _repeated(X: Any, labels: NDArray[Any], copies: Copies | None) -> tuple[Any, NDArray[Any]]:
    """Rows and labels as often as they count."""
    return (X, labels) if copies is None else (_safe_indexing(X, copies.positions), labels[copies.positions])


def is_lazy_table(X: Any) -> bool:
    """Whether a collection has named columns: a Dask DataFrame, or Parquet files."""
    return isinstance(X, str | PathLike) or hasattr(X, "columns")


def has_other_columns(X: Any, y: Any) -> bool:
    """Whether a collection has columns whose type is not one of numbers; no row is read."""
    if is_lazy(X):
        from sepc.points.dask.drawn_table import has_other_columns as on_dask

        return on_dask(X, y)
    from sepc.points.on_parquet import has_other_columns as on_parquet

    return on_parquet(X, y)


def _drawn_table(X: Any, y: Any, seed: int) -> tuple[Any, NDArray[Any]]:
    """A sample of the rows of a collection in memory, and their labels; the same whenever it is drawn."""
    if is_lazy(X):
        from sepc.points.dask.drawn_table import drawn_table as on_dask

        return on_dask(X, y, DRAWN_ROWS, seed)
    from sepc.points.on_parquet import drawn_table as on_parquet

    return on_parquet(X, y, DRAWN_ROWS, seed)


@dataclass(frozen=True, eq=False)
class Copies:
    """How often each training row counts.

    Attributes
    ----------
    counts : (n,) array of int
        Copies of each row.
    unit : float
        How many rows a copy stands for.
    """

    counts: IntArray
    unit: float = 1.0

    @classmethod
    def of(cls, weights: FloatArray) -> Copies:
        """Copies in proportion to the weights; as many as these say if all are whole and they are not too many.

        Others are rounded up or down such that the copies of any run of rows add up to their share to within one.

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
        """Every copy's row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def _checked_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights of rows as an array; raises unless they are numbers, not negative, and not all zero."""
    weights = np.asarray(sample_weight, dtype=np.float64)
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
