"""Models of parts of the training rows, for out-of-fold probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from sepc._typing import FloatArray, IntArray
from sepc.columns.table import column_names, is_table
from sepc.estimators.sep.crossing import N_FOLDS, folds_by_hash, recode
from sepc.estimators.sep.training_set import TableRows
from sepc.estimators.sep.weighed_columns import CategoryColumn
from sepc.model.rules import probabilities_of
from sepc.model.sep_model import SEPModel
from sepc.points.row_hash import row_hashes


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A model of a part of the training rows.

    Attributes
    ----------
    model : SEPModel
    classes : (C,) array of int
        The position of each of its classes among all classes.
    unseen : array
        Hashes of rows that it has not seen.
    encodings : tuple of arrays
        Its encodings of the codes of each categorical column.
    category_columns : sequence of CategoryColumn
    """

    model: SEPModel
    classes: IntArray
    unseen: NDArray[np.uint64]
    encodings: tuple[FloatArray, ...]
    category_columns: Sequence[CategoryColumn]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Probabilities of the classes it knows, for rows as the full model takes them."""
        return probabilities_of(self.model, recode(rows, self.encodings, self.category_columns))


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
