"""ColumnRows: rows in the user's own columns, with a summary of training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import category
from sepc.columns.table import column_names, exact_column_of, is_table
from sepc.decisions.decisions import Decisions, positions_of
from sepc.estimators.partition_behind import partition_behind
from sepc.estimators.sep.decisions import SEPDecisions
from sepc.model.training_summary import TrainingSummary
from sepc.wording import name_of


@dataclass(frozen=True, eq=False)
class ColumnRows:
    """Rows to compare with training.

    Attributes
    ----------
    usual : TrainingSummary
        The summary of the training rows.
    class_counts : (C,) array of int
        Training rows of each class.
    names : tuple of str
        The features; those that encode categories have the name of their column.
    features : (n, d) array
        In the user's units, with missing values imputed.
    missing : (n, d) bool array
        Which of them were missing.
    codes : (n, Q) array of int
        The categories; one past the last for unseen categories, and -1 for a missing value.
    unseen : (n, Q) array of str
        The names of unseen categories, as far as they are known; else empty.
    gap_codes : (Q,) array of int
        The category of missing values in training; one past the last if training had none.
    owner : (n,) array of int
        The class of each row, as a position in the classes of the model: the true label if known, else the decision;
        -1 for a label that the model does not know.
    """

    usual: TrainingSummary
    class_counts: IntArray
    names: tuple[str, ...]
    features: FloatArray
    missing: BoolArray
    codes: IntArray
    unseen: NDArray[Any]
    gap_codes: IntArray
    owner: IntArray

    def __len__(self) -> int:
        return len(self.owner)

    def last(self, n: int) -> ColumnRows:
        """The last n rows."""
        latest = slice(max(len(self) - n, 0), None)
        # Copies, so that the other rows need not be kept.
        return self._with({name: getattr(self, name)[latest].copy() for name in ROW_WISE})

    def followed_by(self, others: ColumnRows) -> ColumnRows:
        """These rows, followed by others."""
        return self._with({name: np.concatenate([getattr(rows, name) for rows in (self, others)]) for name in ROW_WISE})

    def _with(self, parts: dict[str, Any]) -> ColumnRows:
        return replace(self, **parts)


ROW_WISE = ("features", "missing", "codes", "unseen", "owner")


def column_rows(decisions: Decisions, X: Any, labels: NDArray[Any] | None = None) -> ColumnRows | None:
    """The rows behind decisions in the user's own columns; None if the model has no training summary.

    Parameters
    ----------
    decisions : Decisions
    X : array or DataFrame
        The rows that were decided on; a table also gives the names of unseen categories.
    labels : array, optional
        The true labels.
    """
    partition = partition_behind(decisions)
    if partition is None or partition.model.usual is None:
        return None
    usual, d = partition.model.usual, len(partition.model.shift)
    rows = partition.watched_rows
    features = usual.in_own_units(rows[:, :d])
    codes = rows[:, d:].astype(np.int64)
    empty = partition.empty if partition.empty.shape == codes.shape else np.zeros(codes.shape, dtype=bool)
    return ColumnRows(
        usual=usual,
        class_counts=partition.model.class_counts,
        names=partition.model.feature_names,
        features=rows[:, :d] if features is None else features,
        missing=partition.missing,
        codes=np.where(empty, -1, codes),
        unseen=_unseen_names(partition, X, np.where(empty, -1, codes)),
        gap_codes=_gap_codes(partition, usual),
        owner=_owners(partition.model.classes, partition.label if labels is None else labels),
    )


def _owners(classes: NDArray[Any], labels: NDArray[Any]) -> IntArray:
    known = np.isin(labels, classes)
    owner = np.full(len(labels), -1, dtype=np.int64)
    if known.any():
        owner[known] = positions_of(labels[known], classes)
    return owner


def _gap_codes(partition: SEPDecisions, usual: TrainingSummary) -> IntArray:
    """The codes of missing values, found by value: a category may have the same name as missing values."""
    if partition.preparation is None:
        return np.array([len(display.categories) for display in usual.displays if display.categories], dtype=np.int64)
    known = [categories.values for categories in partition.preparation.all_categories]
    return np.array([values.index(None) if None in values else len(values) for values in known], dtype=np.int64)


def _unseen_names(partition: SEPDecisions, X: Any, codes: IntArray) -> NDArray[Any]:
    """The names of unseen categories, where the table gives them."""
    found = np.full(codes.shape, "", dtype=object)
    if partition.preparation is None or not is_table(X):
        return found
    by_name = {str(name): name for name in column_names(X)}
    for q, known in enumerate(partition.preparation.all_categories):
        which = np.flatnonzero(codes[:, q] == len(known.values))
        if len(which) and known.name in by_name:
            given = exact_column_of(X, by_name[known.name])
            if len(given) == len(codes):
                found[which, q] = [name_of(category(given[i])) for i in which]
    return found
