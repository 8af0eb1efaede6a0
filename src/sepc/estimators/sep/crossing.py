"""Cross-fitting: ellipsoids and probabilities evaluated on rows that they were not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import encodings_like, folds_of
from sepc.columns.table import column_names, is_table
from sepc.estimators.sep.multiclass import Pieces
from sepc.estimators.sep.training_set import TableRows
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.model.membership import squared_radii
from sepc.model.rules import probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.points.in_memory import ArrayPoints
from sepc.points.proportional_sample import ClassSample
from sepc.points.row_digest import row_hashes

# An ellipsoid is fitted to rows by their labels, so on these rows it looks purer than it is: in many dimensions any few
# rows can be enclosed. Weights fitted to these rows would be far too confident. So the penalties of the weights are
# learned from rows that a partition has not seen, and the weights from gauges as if each row had been left out.
#
# Category encodings come from labels too, so a model that must not use the labels of some rows needs encodings computed
# without them.


# If at least this share of the weighed rows were not partitioned, penalties are learned from these. Otherwise the rows
# are partitioned again in folds, and each fold is evaluated in the partition of the others.
ENOUGH_UNSEEN = 0.4
N_FOLDS = 2
NOT_USED = -1

# Rows whose standardised values agree to this many digits are in one fold.
FOLD_DIGITS = 3

# From fewer rows, penalties cannot be learned.
FEWEST_CROSSED = 20

# The largest squared gauge of a row that was left out. The estimate has no upper limit, and the rare huge values would
# set the scale of depth for all others. On nine small sets 2 was a little better than 3 or 4.
LARGEST_LEFT_OUT = 2.0


class Recoded(NamedTuple):
    """Rows with new category encodings and, for each categorical column, the encodings of its codes."""

    rows: FloatArray
    encodings: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Recoder:
    """Rows of features, followed by category codes, with their classes; each counts as `unit` rows."""

    rows: FloatArray
    which: IntArray
    category_columns: Sequence[CategoryColumn] = ()
    unit: float = 1.0

    def without(self, is_left_out: BoolArray) -> Recoded:
        """The rows, encoded without the labels of those left out, which are encoded like new rows."""
        rows, encodings = self.rows, []
        if self.category_columns:
            rows, is_known = rows.copy(), ~is_left_out
            classes = np.unique(self.which[is_known], return_inverse=True)[1]
            folds = folds_of(self.rows[is_known], classes, seed=0)
        for column, codes in zip(self.category_columns, self._codes, strict=True):
            features = slice(column.feature, column.feature + column.n_features)
            new, known = encodings_like(
                self.rows[is_known, features], codes[is_known], classes, column.n_categories, self.unit, folds
            )
            rows[is_known, features], rows[is_left_out, features] = known, new[codes[is_left_out]]
            encodings.append(new)
        return Recoded(rows, tuple(encodings))

    @property
    def _codes(self) -> IntArray:
        """The codes of each categorical column."""
        return self.rows[:, self.rows.shape[1] - len(self.category_columns) :].astype(np.int64).T


@dataclass(frozen=True, eq=False)
class Crossing:
    """Partitions, each with rows that it has not seen."""

    folds: IntArray
    pieces: tuple[Pieces, ...]
    seen_by: tuple[Recoded, ...]

    def with_two_folds(self, recoder: Recoder, standardize: Callable[[FloatArray], FloatArray]) -> Crossing:
        """The same with two folds, if there is a single partition."""
        if len(self.pieces) != 1:
            return self
        folds = np.where(self.folds == NOT_USED, NOT_USED, _folds(recoder, standardize))
        seen_by = tuple(recoder.without(folds == fold) for fold in range(N_FOLDS))
        return Crossing(folds, self.pieces * N_FOLDS, seen_by)


def folds_of_rows(recoder: Recoder, standardize: Callable[[FloatArray], FloatArray]) -> IntArray:
    """A fold for each row; `NOT_USED` if there are too few rows to leave some out."""
    n_rows = len(recoder.rows)
    folds = _folds(recoder, standardize) if n_rows >= FEWEST_CROSSED else np.zeros(n_rows, dtype=np.int64)
    return folds if folds.any() else np.full(n_rows, NOT_USED)


def classes_outside(recoder: Recoder, seen: Recoded, is_left_out: BoolArray) -> list[ArrayPoints]:
    """The rows of each class that are not left out; of the classes that have any."""
    each = (seen.rows[(recoder.which == k) & ~is_left_out] for k in range(recoder.which.max() + 1))
    return [ArrayPoints(rows) for rows in each if len(rows)]


def _folds(recoder: Recoder, standardize: Callable[[FloatArray], FloatArray]) -> IntArray:
    """A fold for each row."""
    values = standardize(recoder.rows)
    rounded = np.concatenate([values.round(FOLD_DIGITS), recoder.rows[:, values.shape[1] :]], axis=1)
    return folds_by_hash(rounded, recoder.which)


def folds_by_hash(rows: FloatArray, which: IntArray) -> IntArray:
    """A fold for each row: equal rows share a fold, and the distinct rows of each class are split evenly."""
    distinct, position = np.unique(row_hashes(rows, seed=0), return_inverse=True)
    owners = np.full(len(distinct), which.max(initial=0))
    np.minimum.at(owners, position, which)
    folds = np.empty(len(distinct), dtype=np.int64)
    folds[np.lexsort((distinct, owners))] = np.arange(len(distinct)) % N_FOLDS
    return folds[position]


def unseen_folds(recoder: Recoder, partitioned: Sequence[ClassSample]) -> IntArray:
    """One fold of the rows that are not among those partitioned; the others are not used."""
    hashes, seen = (
        row_hashes(rows, seed=0) for rows in (recoder.rows, np.concatenate([one.rows for one in partitioned]))
    )
    return np.where(np.isin(hashes, seen), NOT_USED, 0)


def left_out_radii(rows: FloatArray, pieces: Pieces) -> FloatArray:
    """Leave-one-out squared gauges, of shape (n, K): as if each row had been absent when the ellipsoids were fitted."""
    centers, roots = ellipsoid_arrays(pieces, rows.shape[1])
    squared = squared_radii(rows, centers, roots)
    hashes = row_hashes(rows, seed=0)
    order = np.argsort(hashes, kind="stable")
    for k, found in enumerate(pieces.ellipsoids):
        enclosure = found.enclosure
        support, position = np.unique(row_hashes(enclosure.support, seed=0), return_inverse=True)
        left = 1.0 - np.bincount(position, enclosure.weights) * (enclosure.rank + 1)
        gauges = 1.0 / np.maximum(left, 1.0 / LARGEST_LEFT_OUT)
        starts, stops = (np.searchsorted(hashes, support, side=side, sorter=order) for side in ("left", "right"))
        copies = stops - starts
        which = np.repeat(starts, copies) + np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        squared[order[which], k] = np.repeat(gauges, copies)
    return squared


def ellipsoid_arrays(pieces: Pieces, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Centers and roots of all ellipsoids."""
    ellipsoids = [found.ellipsoid for found in pieces.ellipsoids]
    centers = np.array([ellipsoid.center for ellipsoid in ellipsoids]).reshape(-1, n_features)
    return centers, np.array([ellipsoid.root for ellipsoid in ellipsoids]).reshape(-1, n_features, n_features)


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A model of a part of the training rows."""

    model: SEPModel
    classes: IntArray
    unseen: NDArray[np.uint64]
    encodings: tuple[FloatArray, ...]
    category_columns: Sequence[CategoryColumn]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Probabilities of the classes it knows, for rows as the full model takes them."""
        recoded = rows.copy()
        codes = rows[:, rows.shape[1] - len(self.category_columns) :].astype(np.int64).T
        for column, encoding, code in zip(self.category_columns, self.encodings, codes, strict=True):
            recoded[:, column.feature : column.feature + column.n_features] = encoding[code]
        return probabilities_of(self.model, recoded)


def out_of_fold(models: Sequence[FoldModel], rows: FloatArray, n_classes: int) -> FloatArray:
    """Probabilities of training rows, each from a model that has not seen it; NaN for rows without one."""
    hashes = row_hashes(rows, seed=0)
    found = np.full((len(rows), n_classes), np.nan)
    for fold in models:
        where = np.flatnonzero(np.isin(hashes, fold.unseen))
        if len(where):
            found[where] = 0.0
            found[np.ix_(where, fold.classes)] = fold.probabilities(rows[where])
    return found


def refit_out_of_fold(classifier: Any, X: Any, y: Any, sample_weight: Any, table: TableRows) -> FloatArray:
    """`out_of_fold` with missing values: refits the classifier to each half, since imputation uses all labels."""
    labels, positions, classes = np.asarray(y), table.positions, classifier.classes_
    folds = folds_by_hash(table.rows, np.searchsorted(classes, table.labels))
    found = np.zeros((len(folds), len(classes)))
    # In half of the rows, a column may look like a constant or an id.
    known = classifier.preparation_.used_columns if is_table(X) else ()
    used = [name for name in column_names(X) if str(name) in known] if known else []
    for fold in range(N_FOLDS):
        others, left_out = np.unique(positions[folds != fold]), positions[folds == fold]
        weights = None if sample_weight is None else np.asarray(sample_weight)[others]
        model = clone(classifier).set_params(out_of_fold=False, force_features=used)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit on all rows has warned already
            model.fit(_safe_indexing(X, others), labels[others], weights)
        known = np.searchsorted(classes, model.classes_)
        found[np.ix_(folds == fold, known)] = model.predict_proba(_safe_indexing(X, left_out))
    return found
